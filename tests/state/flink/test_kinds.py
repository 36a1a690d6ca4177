"""State of every kind and type is read as a job in Java had put it there; see ``tests/golden/flink_kinds``."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.streamgraph.hashing import uid_hash
from compat.state.flink import (
    SavepointError,
    StateEntry,
    Undecoded,
    UnreadableValue,
    entries,
    read_metadata,
    stored_states,
)
from compat.state.flink.savepoint import Savepoint
from compat.state.rows import Row
from compat.state.time import Instant
from compat.tables import read_table
from compat.tables.flink import UnreadableState

GOLDEN = Path(__file__).parents[2] / "golden" / "flink_kinds"
NAMES = sorted(file.stem for file in GOLDEN.glob("*.zip"))
PLAIN = [name for name in NAMES if name.endswith("-plain")]
OF_KRYO = ["rocksdb-native-1.20-plain"]
"""Flink 1.20 gives lists in POJOs to Kryo."""
KRYO = "values of org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializer"
BY_NAME = "an object of the class KeepKinds$Student, which no serializer is recorded for"


def unpacked(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        archive.extractall(folder)
    return next(folder.rglob("_metadata")).parent


def savepoint(name: str, folder: Path) -> Savepoint:
    return read_metadata(unpacked(name, folder))


def values_of(n: int) -> dict[str, Any]:
    """What the key ``k{n}`` has, by the name of the state."""
    return {
        "long": n * 1000 - 3,
        "string": f"s{n}é",
        "boolean": n % 2 == 0,
        "double": n / 4,
        "dec": Decimal("1.50") * (n + 1),
        "big_int": -(10**20) + n,
        "date": date(2024, 1, 1 + n),
        "time": time(n, 1, 2, 3),
        "date_time": datetime(2024, 2, 29, 1, 2, n, 4),
        "instant": Instant(1_700_000_000 + n, 5),
        "timestamp": datetime(1970, 1, 1) + timedelta(milliseconds=1_700_000_000_000 + n),
        "tuple": (n, f"t{n}", n / 2),
        "row": {"f0": None if n % 2 == 0 else f"r{n}", "f1": n},
        "colour": ["RED", "GREEN", "BLUE"][n % 3],
        "longs": [n, -n],
        "strings": [f"a{n}", None],
        "tuples": [(n, "x"), (-n, "y")],
        "list_of": [f"l{n}", ""],
        "map_of": {"a": n, "b": None},
        "either": {"left": n, "right": None} if n % 2 == 0 else {"left": None, "right": f"right{n}"},
        "avro": {"id": n, "note": None if n % 2 == 0 else f"note{n}", "tags": ["x", f"y{n}"]},
        "avro_reflect": {"name": f"q{n}", "age": n},
        "pojo": person_of(n),
        "sum": n + n + 6,
        "mean": (n + n + 6, 2),
        "list": [n, n + 6],
        "ttl_value": n,
        "ttl_list": [f"t{n}", f"t{n + 6}"],
        "map": {f"m{n}": (n, f"v{n}"), f"m{n + 6}": (n, f"v{n + 6}")},
        "ttl_map": {n: n, n + 6: n},
    }


def person_of(n: int) -> dict[str, Any]:
    return {
        "age": None if n % 3 == 0 else n,
        "colour": "BLUE",
        "marks": None if n == 0 else [n, n + 1],
        "name": f"p{n}" if n % 2 == 0 else None,
    }


def student(n: int) -> dict[str, Any]:
    return {**person_of(n), "number": 77}


def plain(value: Any) -> Any:
    """Rows with names as dicts, others as tuples."""
    if isinstance(value, Row):
        return {name: plain(each) for name, each in value.as_dict().items()} if value._fields else tuple(value)
    return value


def kept(found: Savepoint, uid: str) -> dict[str, dict[Any, Any]]:
    """By state and key: the value, or the map."""
    states: defaultdict[str, dict[Any, Any]] = defaultdict(dict)
    for entry in entries(
        found, lambda state: state.operator_id == uid_hash(uid) and state.kind.keyed and not state.kind.timers
    ):
        assert bool(entry.last_used) == entry.state.ttl
        assert all(1_700_000_000_000 < used < 4_000_000_000_000 for used in entry.last_used)
        if entry.state.map_key_type is not None:
            states[entry.state.name].setdefault(entry.key, {})[entry.map_key] = plain(entry.value)
        else:
            states[entry.state.name][entry.key] = (
                entry.value if isinstance(entry.value, Undecoded) else plain(entry.value)
            )
    return dict(states)


def timers(found: Savepoint, uid: str) -> list[tuple[str, Any, Any, int]]:
    chosen = entries(found, lambda state: state.operator_id == uid_hash(uid) and state.kind.timers)
    return sorted((one.state.kind.value, one.key, tuple(one.namespace or ()), one.value) for one in chosen)


IN_HEAP = ["hashmap-checkpoint"]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in IN_HEAP])
def test_every_value_is_read_as_it_was_put_there(name: str, tmp_path: Path) -> None:
    found = savepoint(name, tmp_path)
    problems = {state.name: state.problem for state in stored_states(found) if state.problem}
    assert problems == ({"people": f"{KRYO} cannot be read here"} if name in OF_KRYO else {})
    states = kept(found, "keeps")
    assert states.keys() == values_of(0).keys()
    for state, by_key in states.items():
        assert by_key.keys() == {f"k{n}" for n in range(6)}
        for n in range(6):
            value = by_key[f"k{n}"]
            if state == "pojo" and name in OF_KRYO:
                assert value.serializer == KRYO
            elif state == "pojo" and n == 4 and isinstance(value, Undecoded):
                assert (value.serializer, name in PLAIN) == (BY_NAME, False)
            elif state == "pojo" and n == 4 and name not in PLAIN:
                assert value == student(4)
            else:
                assert value == values_of(n)[state], (state, n)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in IN_HEAP])
def test_every_timer_is_read_wherever_it_is_kept(name: str, tmp_path: Path) -> None:
    """As a state of its own, in the heap's layout, and in raw keyed state, where checkpoints of RocksDB have the heap's.

    On the heap they stand behind a value that cannot be read.
    """
    found = savepoint(name, tmp_path)
    expected = []
    for n in range(6):
        expected.append(("event-timer", f"k{n}", (), 4_000_000_000_000 + n))
        expected += [("event-timer", f"k{n}", (), 5_000_000_000_000 + number) for number in (n, n + 6)]
        expected.append(("processing-timer", f"k{n}", (), 6_000_000_000_000 + n))
    assert timers(found, "keeps") == sorted(expected)
    tumbling = {
        ("event-timer", (f"k{n % 3}", n % 2), (n // 5 * 5000, n // 5 * 5000 + 5000), n // 5 * 5000 + 4999)
        for n in range(12)
    }
    assert timers(found, "tumbling") == sorted(tumbling)


@pytest.mark.parametrize("name", NAMES)
def test_windows_and_broadcast_state(name: str, tmp_path: Path) -> None:
    found = savepoint(name, tmp_path)
    sums: defaultdict[tuple[Any, int], int] = defaultdict(int)
    for n in range(12):
        sums[(f"k{n % 3}", n % 2), n // 5 * 5000] += n
    chosen = list(entries(found, lambda state: state.operator_id == uid_hash("tumbling") and not state.kind.timers))
    assert {(one.key, one.namespace[0]): one.value for one in chosen} == sums
    counted = entries(found, lambda state: state.operator_id == uid_hash("counted") and state.name == "window-contents")
    assert sorted(value for one in counted for value in one.value) == list(range(12))
    rules = {one.map_key: one.value for one in entries(found, lambda state: state.name == "rules")}
    assert rules == {f"rule{n}": (n, "r") for n in range(4)}
    union = [one.value for one in entries(found, lambda state: state.name == "union")]
    assert union == list(range(6))


def test_an_object_whose_class_is_not_recorded_is_refused_by_name(tmp_path: Path) -> None:
    """Bytes where values have lengths; else the reading ends there. In a table with a type it is refused."""

    def read(name: str, wanted: str) -> list[StateEntry]:
        return list(entries(savepoint(name, tmp_path / name), lambda state: state.name == wanted))

    (bob,) = (entry.value for entry in read("hashmap-canonical", "pojo") if entry.key == "k4")
    assert bob.serializer == BY_NAME
    for name, state in (("hashmap-checkpoint", "pojo"), ("hashmap-canonical", "people")):
        with pytest.raises(UnreadableValue, match=r"KeepKinds\$Student, which no serializer is recorded for"):
            read(name, state)
    with pytest.raises(
        UnreadableState, match=r"a value of the state 'pojo' of keeps cannot be read \(an object of the class"
    ):
        read_table(str(unpacked("hashmap-canonical", tmp_path)), operator="keeps", state="pojo")


def test_tables_of_every_type(tmp_path: Path) -> None:
    folder = str(unpacked(PLAIN[0], tmp_path))
    for state in values_of(0).keys() - {"map", "ttl_map"}:
        assert read_table(folder, operator="keeps", state=state).num_rows == 6
    assert read_table(folder).num_rows > 200


def test_raw_state_that_is_no_timers_is_refused_by_name(tmp_path: Path) -> None:
    name = "rocksdb-checkpoint-heap-timers"
    folder = unpacked(name, tmp_path)
    for file in folder.iterdir():
        if file.name != "_metadata":
            file.write_bytes(file.read_bytes().replace(bytes.fromhex("f1cd859f"), b"MINE"))
    raw = [state for state in stored_states(read_metadata(folder)) if state.name == "raw keyed state"]
    assert raw
    assert {state.problem for state in raw} == {"raw state, which only its operator can read"}


def test_raw_timers_that_are_damaged_never_leave_as_another_error(tmp_path: Path) -> None:
    folder = unpacked("rocksdb-checkpoint-heap-timers", tmp_path)
    found = read_metadata(folder)
    handle = next(s.raw_keyed for o in found.operators if o.uid == "keeps" for s in o.subtasks)
    file = folder / handle.stream.relative_path  # type: ignore[union-attr]
    whole = file.read_bytes()
    for place in range(0, 250, 7):
        file.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        with suppress(SavepointError):
            timers(found, "keeps")
    file.write_bytes(whole[:4000])
    with pytest.raises(SavepointError):
        timers(found, "keeps")
