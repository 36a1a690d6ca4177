"""Entries of states of process mode, taken apart and put together: as lists and as maps, with times of last use and without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink.composite_keys import KeyLayout, key_layout
from compat.state.flink.contents import Entry
from compat.state.flink.errors import SavepointError
from compat.state.flink.forms import Unconvertible
from compat.state.flink.headers import StateMeta, read_keyed_header, read_operator_header
from compat.state.flink.python_states import Array, Item, PythonConversion
from compat.state.flink.transcoding import Held
from tests.state.flink import writer as w

BYTES = w.snapshot(
    f"{w.BASE}array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot",
)
TIMED = w.composite(
    "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot", w.simple("Long"), BYTES, outer_version=2
)
LIST = w.BASE + "ListSerializerSnapshot"
MAP = w.BASE + "MapSerializerSnapshot"
SPACE = w.snapshot("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot")
KEY, A, B = b"\5" + w.long(7) + b"\0", w.sized(b"aa"), w.sized(b"b")
T1, T2, NOW = w.long(1), w.long(2), w.long(9)


def metas(kind: str, *within: bytes) -> tuple[StateMeta, KeyLayout]:
    serializer = w.composite(MAP if kind == "MAP" else LIST, *within)
    meta = w.state_meta("s", 0, {"KEYED_STATE_TYPE": kind}, VALUE_SERIALIZER=serializer, NAMESPACE_SERIALIZER=SPACE)
    header = read_keyed_header(w.keyed_header(meta), "")
    (found,) = header.states
    return found, key_layout(header, found, 128)


def anew(kind: str, within: Sequence[bytes], conversion: PythonConversion, *entries: Entry) -> list[Entry]:
    meta, layout = metas(kind, *within)
    return conversion.rewriter(meta, b"", lambda: layout).anew(list(entries))


def each(change: Callable[[Item], list[Item]]) -> PythonConversion:
    return PythonConversion(lambda items: list(map(change, items)))


def upper(item: Item) -> list[Item]:
    key = None if item.map_key is None else item.map_key + b"!"
    return [Item(key, tuple(Array(array.data.upper(), array.time) for array in item.arrays))]


def test_lists_keep_their_arrays() -> None:
    (found,) = anew("LIST", [BYTES], each(upper), Entry(3, KEY, A + b"," + B))
    assert found == Entry(3, KEY, w.sized(b"AA") + b"," + w.sized(b"B"))


def test_arrays_keep_the_times_of_their_last_use() -> None:
    (found,) = anew("LIST", [TIMED], each(upper), Entry(3, KEY, T1 + A + b"," + T2 + B))
    assert found.value == T1 + w.sized(b"AA") + b"," + T2 + w.sized(b"B")


def test_keys_of_maps_become_others() -> None:
    entry = Entry(0, KEY + w.sized(b"k"), b"\0" + A)
    assert anew("MAP", [BYTES, BYTES], each(upper), entry) == [Entry(0, KEY + w.sized(b"k!"), b"\0" + w.sized(b"AA"))]
    timed = Entry(0, KEY + w.sized(b"k"), b"\0" + T1 + A)
    assert anew("MAP", [BYTES, TIMED], each(upper), timed)[0].value == b"\0" + T1 + w.sized(b"AA")


def test_there_may_be_more_entries_or_fewer() -> None:
    both = each(lambda item: [Item(b"x", item.arrays[:1]), Item(b"y", item.arrays[1:])])
    conversion = PythonConversion(both.apply, Held("MAP"))
    assert anew("LIST", [BYTES], conversion, Entry(0, KEY, A + b"," + B)) == [
        Entry(0, KEY + w.sized(b"x"), b"\0" + A),
        Entry(0, KEY + w.sized(b"y"), b"\0" + B),
    ]
    assert anew("LIST", [BYTES], each(lambda _: []), Entry(0, KEY, A)) == []


def test_all_entries_of_a_map_become_one_value() -> None:
    other = b"\5" + w.long(8) + b"\0"
    entries = [Entry(0, key + w.sized(name), b"\0" + T1 + A) for key in (KEY, other) for name in (b"k", b"l")]
    conversion = PythonConversion(lambda items: [[item] for item in items], Held("LIST"))
    value = b",".join((w.sized(b"k"), A, w.sized(b"l"), A))
    assert anew("MAP", [BYTES, TIMED], conversion, *entries) == [Entry(0, KEY, value), Entry(0, other, value)]
    meta, layout = metas("MAP", BYTES, BYTES)
    together = conversion.rewriter(meta, b"", lambda: layout).together
    assert together is not None
    assert [together(entry) == together(entries[0]) for entry in entries] == [True, True, False, False]


def test_times_come_and_go() -> None:
    comes = PythonConversion(each(upper).apply, Held("LIST", timed=True), now=9)
    assert anew("LIST", [BYTES], comes, Entry(0, KEY, A))[0].value == NOW + w.sized(b"AA")
    goes = PythonConversion(each(upper).apply, Held("LIST"))
    assert anew("LIST", [TIMED], goes, Entry(0, KEY, T1 + A))[0].value == w.sized(b"AA")


def test_all_entries_are_given_at_once() -> None:
    asked: list[int] = []

    def apply(items: Sequence[Item]) -> list[list[Item]]:
        asked.append(len(items))
        return [[item] for item in items]

    entries = [Entry(0, KEY, A)] * 3
    assert anew("LIST", [BYTES], PythonConversion(apply), *entries) == entries
    assert asked == [3]


def test_whether_keys_may_become_others_is_told() -> None:
    meta, layout = metas("LIST", BYTES)
    assert not each(upper).rewriter(meta, b"", lambda: layout).of_keys
    assert PythonConversion(each(upper).apply, Held("MAP")).rewriter(meta, b"", lambda: layout).of_keys


def test_what_is_no_state_of_process_mode_is_refused() -> None:
    meta, layout = metas("VALUE", BYTES)
    with pytest.raises(Unconvertible, match="no state of PyFlink's process mode"):
        each(upper).rewriter(meta, b"", lambda: layout)
    with pytest.raises(Unconvertible, match="no state of PyFlink's process mode"):
        each(upper).converter(meta, b"")


@pytest.mark.parametrize(
    ("kind", "within", "entry", "told"),
    [
        ("LIST", [BYTES], Entry(0, KEY, A + b";" + B), "bytes left over"),
        ("MAP", [BYTES, BYTES], Entry(0, KEY + w.sized(b"k"), b"\0" + A + b"," + A), "bytes left over"),
        ("MAP", [BYTES, BYTES], Entry(0, KEY + w.sized(b"k") + b"x", b"\0" + A), "bytes left over"),
        ("LIST", [BYTES], Entry(0, KEY, A[:-1]), "the bytes end in the middle"),
    ],
)
def test_damaged_bytes_are_told(kind: str, within: list[bytes], entry: Entry, told: str) -> None:
    with pytest.raises(SavepointError, match=told):
        anew(kind, within, each(upper), entry)


def test_a_key_in_a_map_without_a_value_is_refused() -> None:
    with pytest.raises(Unconvertible, match="a key in a map has no value"):
        anew("MAP", [BYTES, BYTES], each(upper), Entry(0, KEY + w.sized(b"k"), b"\1"))


@given(
    st.sampled_from(["LIST", "MAP"]),
    st.booleans(),
    st.sampled_from([None, "LIST", "MAP"]),
    st.binary(max_size=40),
    st.binary(),
)
def test_no_bytes_raise_anything_else(kind: str, timed: bool, becomes: str | None, key: bytes, value: bytes) -> None:
    """A savepoint is of anybody's making."""
    within = [BYTES] * (kind == "MAP") + [TIMED if timed else BYTES]
    conversion = PythonConversion(each(upper).apply, None if becomes is None else Held(becomes))
    with suppress(SavepointError, Unconvertible):
        anew(kind, within, conversion, Entry(0, KEY + key, value))
    with suppress(SavepointError, Unconvertible):
        broadcast(conversion, value)


def broadcast(conversion: PythonConversion, data: bytes) -> bytes:
    options = {"OPERATOR_STATE_DISTRIBUTION_MODE": "BROADCAST"}
    state = w.state_meta("s", 2, options, KEY_SERIALIZER=BYTES, VALUE_SERIALIZER=BYTES)
    (meta,) = read_operator_header(w.operator_header(broadcast=[state]), "").broadcast_states
    return conversion.converter(meta, b"")([data])[0]


def test_broadcast_state_is_a_map() -> None:
    data = w.integer(2) + w.sized(b"k") + A + w.sized(b"l") + B
    assert broadcast(each(upper), data) == w.integer(2) + w.sized(b"k!") + w.sized(b"AA") + w.sized(b"l!") + w.sized(
        b"B"
    )
    assert (
        broadcast(each(lambda item: [item] if item.map_key == b"l" else []), data) == w.integer(1) + w.sized(b"l") + B
    )
    with pytest.raises(Unconvertible, match="two keys in the map become one"):
        broadcast(each(lambda item: [item._replace(map_key=b"k")]), data)
