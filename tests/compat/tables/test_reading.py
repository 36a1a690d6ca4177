from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from compat.compiler.spark.driver.inspection import UnknownOperator
from compat.state.delta.errors import StoreError
from compat.tables import read, read_table
from compat.tables.flink import UnreadableState
from compat.tables.reading import UnknownState
from tests.compat.savepoint.golden import SAVEPOINTS

Savepoint = Callable[..., str]


def cells(table: pa.Table, *columns: str) -> list[tuple[object, ...]]:
    return sorted(zip(*(table[name].to_pylist() for name in columns), strict=True), key=repr)


@pytest.mark.parametrize(
    ("state", "types", "rows"),
    [
        ("sum", ("string", "int64"), [("k0", 3), ("k1", 5), ("k2", 7)]),
        (
            "person",
            ("string", "struct<name: string, seen: list<item: int64>>"),
            [(f"k{n}", {"name": f"k{n}", "seen": [n, n + 3]}) for n in range(3)],
        ),
        ("items", ("string", "list<item: double>"), [("k0", [0.0, 1.5]), ("k1", [0.5, 2.0]), ("k2", [1.0, 2.5])]),
        ("loose", ("string", "string"), [(f"k{n}", f'{{"last": {n + 3}}}') for n in range(3)]),
    ],
)
def test_values_have_the_declared_types(
    savepoint: Savepoint, state: str, types: tuple[str, str], rows: list[tuple[str, object]]
) -> None:
    table = read_table(savepoint(), operator="keeps", state=state)
    assert (str(table.schema.field("key").type), str(table.schema.field("value").type)) == types
    assert cells(table, "key", "value") == rows
    assert set(table["operator"].to_pylist()) == {"Keeps all"}
    assert set(table["uid"].to_pylist()) == {"keeps"}
    assert min(table["key_group"].to_pylist()) >= 0


def test_maps_have_a_row_for_each_entry(savepoint: Savepoint) -> None:
    table = read_table(savepoint(), operator="keeps", state="parity")
    assert table.schema.field("map_key").type == pa.bool_()
    expected = [(f"k{n % 3}", n % 2 == 0, str(n)) for n in range(6)]
    assert cells(table, "key", "map_key", "value") == sorted(expected, key=repr)


def test_states_of_different_types_are_texts_together(savepoint: Savepoint) -> None:
    table = read_table(savepoint(), operator="keeps")
    assert table.schema.field("value").type == pa.string()
    found = {(state, key): value for state, key, value in cells(table, "state", "key", "value") if state != "parity"}
    assert found["sum", "k0"] == "3"
    assert found["person", "k0"] == '{"name": "k0", "seen": [0, 3]}'
    assert found["items", "k0"] == "[0.0, 1.5]"


def test_timers_have_the_time_that_they_are_due(savepoint: Savepoint) -> None:
    table = read_table(savepoint(), operator="keeps")
    timers = table.filter(pa.compute.equal(table["kind"], "processing-timer"))
    assert sorted(timers["timestamp"].to_pylist()) == [9_000_000_000_000 + n for n in range(6)]


def test_a_savepoint_is_read_in_batches(savepoint: Savepoint) -> None:
    reader = read(savepoint(), operator="keeps", state="sum")
    assert sum(batch.num_rows for batch in reader) == 3


def test_what_is_not_there_is_told(savepoint: Savepoint) -> None:
    path = savepoint()
    with pytest.raises(UnknownOperator, match=r"no operator with state 'other'. It has: .*keeps"):
        read(path, operator="other")
    with pytest.raises(UnknownState, match=r"no state 'count'\. There are: _timers, items, loose, parity"):
        read(path, operator="keeps", state="count")
    with pytest.raises(StoreError, match="There is no such directory"):
        read(path + "-2")


def test_a_savepoint_of_flink() -> None:
    table = read_table(str(SAVEPOINTS / "small_uid_p2_canonical"), state="count")
    assert str(table.schema.field("key").type) == "struct<f0: int64>"
    assert table.num_rows == 4
    assert set(table["kind"].to_pylist()) == {"list"}


def test_windows_of_flink_are_namespaces() -> None:
    path = str(SAVEPOINTS / "windows_no_uid_p3_canonical")
    of_time = read_table(path, operator="TumblingEventTimeWindows", state="window-contents")["namespace"].to_pylist()
    hour = 3_600_000
    assert {(each["start"], each["end"]) for each in of_time} == {(0, hour), (hour, 2 * hour)}
    counted = read_table(path, operator="CountTumblingWindowAssigner", state="window-contents")["namespace"].to_pylist()
    assert {each["number"] for each in counted} == set(range(10))


def test_a_state_that_cannot_be_read_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from msgspec.structs import replace

    from compat.tables import flink

    known = flink.stored_states
    monkeypatch.setattr(
        flink, "stored_states", lambda found: [replace(each, problem="of a class") for each in known(found)]
    )
    with pytest.raises(UnreadableState, match=r"the state 'count' of .* cannot be read \(of a class\)"):
        read_table(str(SAVEPOINTS / "small_uid_p2_canonical"), state="count")
