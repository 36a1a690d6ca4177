"""Snapshots of serializers as they are written here: byte for byte as Flink wrote them into savepoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.state.flink import read_metadata
from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Unconvertible, form_of
from compat.state.flink.handles import KeyGroups
from compat.state.flink.header_parts import StateForm, TypeNames, keyed_parts
from compat.state.flink.keyed_transfer import key_serializer_of
from compat.state.flink.snapshot_writing import key_snapshot, snapshot_of, state_form
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.states import HeaderReader
from compat.state.types import TypeInformation, Types

GOLDEN = Path(__file__).parents[2] / "golden"
PAIRS = "migrations/pyflink"
TUPLE = Types.TUPLE([Types.STRING(), Types.INT()])


def keys_of(saved: str) -> set[bytes]:
    savepoint = read_metadata(GOLDEN / saved)
    return {found for operator in savepoint.operators if (found := key_serializer_of(savepoint, operator))}


@pytest.mark.parametrize(
    ("folder", "type"),
    [
        (f"{PAIRS}/key_to_text/savepoint", Types.LONG()),
        (f"{PAIRS}/key_pickled/savepoint", Types.PICKLED_BYTE_ARRAY()),
        (f"{PAIRS}/key_row_shrinks/savepoint", Types.ROW([Types.LONG(), Types.STRING()])),
        ("savepoints/all_states_hashmap_canonical", Types.STRING()),
        ("savepoints/flink_1_20_small_uid_canonical", Types.LONG()),
    ],
)
def test_keys_of_pyflink_are_rows_of_one_field(folder: str, type: TypeInformation) -> None:
    assert keys_of(folder) == {key_snapshot(type)}


def test_the_keys_in_rocksdbs_own_files_are_told_as_well() -> None:
    """Functions about keys are given them by this serializer."""
    assert keys_of("savepoints/all_states_rocksdb_native") == {key_snapshot(Types.STRING())}


def test_tuples_are_written_as_those_of_java() -> None:
    assert keys_of("java/2.3.0/key_tuple_to_single/savepoint") == {snapshot_of(Types.TUPLE([Types.LONG()]))}


@pytest.mark.parametrize(
    ("state", "kind", "timed"),
    [("items", "LIST", False), ("last-ttl", "LIST", True), ("plain", "MAP", False), ("seen", "MAP", True)],
)
def test_states_of_process_mode_are_lists_and_maps_of_byte_arrays(state: str, kind: str, timed: bool) -> None:
    """A header that is given the form is the one that Flink wrote for such a state, beginning with any other one."""
    savepoint = read_metadata(GOLDEN / "savepoints" / "all_states_hashmap_canonical")
    headers = HeaderReader(savepoint)
    (handle,) = (
        subtask.managed_keyed
        for operator in savepoint.operators
        for subtask in operator.subtasks
        if isinstance(subtask.managed_keyed, KeyGroups)
    )
    data = headers.written(handle)
    as_it_is = keyed_parts(data, "", TypeNames(), {}).states
    form: StateForm = state_form(kind, timed=timed)
    for other in ("items", "last-ttl", "plain", "seen"):
        made = keyed_parts(data, "", TypeNames(), {f"python-state-{other}": form}).states
        assert made[f"python-state-{other}"] == as_it_is[f"python-state-{state}"]


@pytest.mark.parametrize(
    "type",
    [
        *(getattr(Types, name)() for name in ("STRING", "BYTE", "BOOLEAN", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE")),
        *(getattr(Types, name)() for name in ("CHAR", "BIG_INT", "BIG_DEC", "INSTANT", "SQL_DATE", "SQL_TIMESTAMP")),
        TUPLE,
        Types.ROW([TUPLE, Types.PICKLED_BYTE_ARRAY()]),
        Types.LIST(Types.LONG()),
        Types.MAP(Types.STRING(), Types.LIST(Types.PRIMITIVE_ARRAY(Types.BYTE()))),
    ],
    ids=str,
)
def test_each_is_read_to_its_end(type: TypeInformation) -> None:
    reader = ByteReader(snapshot_of(type), "")
    found = read_versioned(reader, 0)
    assert (found.complete, reader.remaining) == (True, 0)
    form_of(found)


def test_a_type_whose_serializer_is_not_known_is_refused() -> None:
    with pytest.raises(Unconvertible, match=r"the serializer that Flink has for .* is not known here"):
        snapshot_of(Types.OBJECT_ARRAY(Types.LONG()))
