"""The heap's own form, read as what a canonical savepoint of the same state has; what Flink says is in ``golden/heap_form``."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from compat.state.flink import (
    NewId,
    SavepointError,
    UnreadableValue,
    entries,
    parse_metadata,
    read_metadata,
    stored_states,
)
from compat.state.flink.errors import DamagedSavepoint, SavepointTooLarge, TruncatedSavepoint
from compat.state.flink.handles import KeyGroups
from compat.state.flink.header_parts import StateKey
from compat.state.flink.heap_groups import HeapGroups
from compat.state.flink.keyed_entries import is_framed
from compat.state.flink.keyed_transfer import Groups, keyed_source
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.states import HeaderReader
from compat.state.flink.stream_readers import PIECE, StreamReader
from compat.state.flink.transfer import StateTarget, Transfer, TypeNames
from compat.state.flink.transferring import write_states
from tests.state.flink import writer as w

GOLDEN = Path(__file__).parents[2] / "golden"
TWINS = GOLDEN / "heap_form" / "twins.zip"
ID = "ab" * 16
OPAQUE = w.snapshot("org.apache.flink.table.runtime.typeutils.StringDataSerializer$StringDataSerializerSnapshot")
VOID = w.snapshot("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot")
Found = Counter[tuple[str, str, bytes, bytes]]


def twins() -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(TWINS) as archive:
        yield from ((name, name.partition("/")[2].rpartition("/")[0]) for name in archive.namelist())


def groups_of(savepoint: Savepoint) -> Iterator[tuple[str, tuple[str, ...], Groups]]:
    headers = HeaderReader(savepoint)
    for operator in savepoint.operators:
        for subtask in operator.subtasks:
            source = keyed_source(headers, operator, subtask, TypeNames(), {})
            if source is not None:
                yield operator.id, source.names, source.groups


def held(savepoint: Savepoint) -> Found:
    """All entries as bytes, by operator and state."""
    return Counter(
        (operator, names[entry.state], entry.key, entry.value)
        for operator, names, groups in groups_of(savepoint)
        for group in groups.numbers
        for entry in groups.entries(group)
    )


@pytest.mark.parametrize(("name", "canonical"), list(twins()))
def test_flinks_own_canonical_bytes_come_out(name: str, canonical: str) -> None:
    """A hashmap backend of Flink's restored the canonical savepoint, and wrote this."""
    with zipfile.ZipFile(TWINS) as archive:
        twin = parse_metadata(archive.read(name), name)
    handles = [one.managed_keyed for operator in twin.operators for one in operator.subtasks if one.managed_keyed]
    assert handles
    assert not any(isinstance(one, KeyGroups) and is_framed(twin, one) for one in handles)
    found = held(twin)
    assert found == held(read_metadata(GOLDEN / canonical))
    assert found


def saved(
    folder: Path, states: list[bytes], *groups: bytes, key: bytes | None = None, compressed: bool = False
) -> Savepoint:
    """A savepoint with one operator whose key groups from 3 on have these bytes behind their numbers."""
    data, offsets = w.keyed_header(*states, key=key, compressed=compressed), []
    for number, group in enumerate(groups, 3):
        offsets.append(len(data))
        data += w.integer(number) + group
    handle = w.full(w.inline(data), 3, offsets, tag=3)
    folder.mkdir(exist_ok=True)
    (folder / "_metadata").write_bytes(
        w.metadata(w.operator(w.subtask(managed_keyed=handle), identity=bytes.fromhex(ID)))
    )
    return read_metadata(folder)


def state(name: str, value: bytes, kind: str = "VALUE", namespace: bytes = VOID) -> bytes:
    return w.state_meta(name, 0, {"KEYED_STATE_TYPE": kind}, VALUE_SERIALIZER=value, NAMESPACE_SERIALIZER=namespace)


LONGS = state("longs", w.simple("Long"))
ONE = b"\0" + w.long(5) + w.long(7)
"""An entry: the void namespace, the key 5, the value 7."""


def test_states_stand_in_any_order_and_are_read_by_their_numbers(tmp_path: Path) -> None:
    lists = state("lists", w.composite(w.BASE + "ListSerializerSnapshot", w.simple("Long")), "LIST")
    group = (
        w.short(1) + w.integer(1) + b"\0" + w.long(5) + w.integer(2) + w.long(1, 2) + w.short(0) + w.integer(1) + ONE
    )
    before = saved(tmp_path, [LONGS, lists], group)
    assert held(before) == {
        (ID, "lists", b"\3" + w.long(5) + b"\0", w.long(1) + b"," + w.long(2)): 1,
        (ID, "longs", b"\3" + w.long(5) + b"\0", w.long(7)): 1,
    }
    assert [(one.state.name, one.value) for one in entries(before)] == [("lists", [1, 2]), ("longs", 7)]
    only = entries(before, lambda one: one.name == "longs")
    assert [(one.state.name, one.value) for one in only] == [("longs", 7)]


def test_keys_and_namespaces_without_a_fixed_length_get_their_lengths(tmp_path: Path) -> None:
    texts = state("texts", w.simple("Long"), namespace=w.simple("String"))
    entry = w.long_string("ns") + w.long_string("k") + w.long(7)
    before = saved(tmp_path, [texts], w.short(0) + w.integer(1) + entry, key=w.simple("String"))
    assert held(before) == {
        (ID, "texts", b"\3" + w.long_string("k") + b"\2" + w.long_string("ns") + b"\3", w.long(7)): 1
    }


def test_a_state_that_only_classes_read_stops_where_it_has_entries(tmp_path: Path) -> None:
    """It stands first here, although its number is the last: what is behind it cannot be found."""
    things = state("things", OPAQUE)
    longs = w.short(0) + w.integer(1) + ONE
    none, some = (w.short(1) + w.integer(0), w.short(1) + w.integer(1) + b"\0" + w.long(5) + b"???")
    assert held(saved(tmp_path, [LONGS, things], none + longs)) == {
        (ID, "longs", b"\3" + w.long(5) + b"\0", w.long(7)): 1
    }
    behind = saved(tmp_path, [LONGS, things], some + longs)
    with pytest.raises(
        UnreadableValue, match=r"the state `things` .*StringDataSerializer.*flink stop --type canonical"
    ):
        held(behind)
    assert {one.name for one in stored_states(behind) if one.problem} == {"longs", "things"}
    before = saved(tmp_path, [LONGS, things], longs + some)
    assert {one.name for one in stored_states(before) if one.problem} == {"things"}
    assert [one.value for one in entries(before)] == [7]
    with pytest.raises(UnreadableValue):
        write_states(before, Transfer(states={StateKey(ID, "longs", True): None}), str(tmp_path))


def test_ids_alone_change_whatever_the_states_are(tmp_path: Path) -> None:
    before = saved(tmp_path, [state("things", OPAQUE)], w.short(0) + w.integer(1) + b"???")
    assert write_states(before, Transfer(ids={ID: NewId("cd" * 16)}), str(tmp_path)).changes.handles == {}


@pytest.mark.parametrize(
    ("group", "error", "told"),
    [
        (w.short(0) + w.integer(2) + ONE, TruncatedSavepoint, "the bytes end in the middle"),
        (w.short(0) + w.integer(-1), DamagedSavepoint, "-1 entries"),
        (w.short(9) + w.integer(1) + ONE, DamagedSavepoint, "state 9 of 1"),
        (w.short(0) + w.integer(1) + ONE + b"?", DamagedSavepoint, "bytes left over in a key group"),
    ],
)
def test_damage_is_told(group: bytes, error: type[SavepointError], told: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=told):
        held(saved(tmp_path, [LONGS], group))


def test_a_count_that_lies_takes_no_memory(tmp_path: Path) -> None:
    lists = state("lists", w.composite(w.BASE + "ListSerializerSnapshot", w.simple("Long")), "LIST")
    most = w.integer((1 << 31) - 1)
    for group in (w.short(0) + most, w.short(0) + w.integer(1) + b"\0" + w.long(5) + most):
        with pytest.raises((TruncatedSavepoint, SavepointTooLarge)):
            held(saved(tmp_path, [lists], group))


def test_a_key_group_under_another_number_is_damage(tmp_path: Path) -> None:
    """Of one key group alone it would be a canonical one: what begins with its number is the heap's."""
    found = saved(tmp_path, [LONGS], w.short(0) + w.integer(1) + ONE, w.short(0) + w.integer(0))
    ((_, _, groups),) = groups_of(found)
    assert isinstance(groups, HeapGroups)
    other = replace(groups, places={2: groups.places[3]})
    assert list(groups.entries(3))
    with pytest.raises(DamagedSavepoint, match="does not begin with its number"):
        list(other.entries(2))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_bytes_are_told_in_our_own_words(data: st.DataObject) -> None:
    with zipfile.ZipFile(TWINS) as archive:
        name = data.draw(st.sampled_from(archive.namelist()))
        damaged = bytearray(archive.read(name))
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] = data.draw(st.integers(0, 255))
    with suppress(SavepointError):
        found = parse_metadata(bytes(damaged), name)
        list(entries(found))
        held(found)


def test_a_value_that_is_kept_may_be_longer_than_a_piece() -> None:
    """As it is read in many small steps, over the ends of pieces."""
    whole = bytes(range(256)) * 16

    def piecewise() -> Iterator[bytes]:
        reader = io.BytesIO(whole)
        while piece := reader.read(7):
            yield piece

    reader = StreamReader(piecewise(), "a file")
    assert reader.raw(10, "what is before") == whole[:10]
    assert reader.span(lambda one: [one.short() for _ in range(1000)]) == whole[10:2010]
    assert reader.offset == 2010
    assert reader.span(lambda one: None) == b""
    assert reader.raw(len(whole) - 2010, "the rest") == whole[2010:]
    assert PIECE > 7


def test_what_was_on_the_heap_is_canonical_and_the_rest_stays(tmp_path: Path) -> None:
    before = read_metadata(GOLDEN / "savepoints" / "all_states_retained_checkpoint")
    key = next(StateKey(one.operator_id, one.name, True) for one in stored_states(before) if one.kind.keyed)
    written = write_states(before, Transfer(states={key: StateTarget(key.operator, "anew")}), str(tmp_path))
    (handles,) = written.changes.handles.values()
    assert {one.canonical for one in handles.keyed.values() if one is not None} == {True}
