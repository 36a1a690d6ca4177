"""Keys in another form: every entry is found again under its new key, in the key group of the new hash code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from compat.state.flink import NotWritten, Savepoint, entries, read_draft, read_metadata, stored_states, with_references
from compat.state.flink.contents import Entry
from compat.state.flink.header_parts import StateKey, TypeNames, keyed_parts
from compat.state.flink.headers import KIND
from compat.state.flink.key_choosing import KeysChosen, KeysEqual
from compat.state.flink.keyed_transfer import KeyedSource
from compat.state.flink.merging import MergeByRule, Rule
from compat.state.flink.rekeying import KeyChange, KeyConversion, regrouped, spill
from compat.state.flink.tally import Tally
from compat.state.flink.transcoding import Fields, SerializerConversion
from compat.state.flink.transfer import Transfer
from compat.state.flink.transferring import write_states
from compat.state.flink.writing import write_text
from compat.state.key_groups import murmur_hash
from tests.state.flink import writer as w
from tests.state.flink.test_java_hashes import signed

JAVA = Path(__file__).parents[2] / "golden" / "java" / "2.3.0"
TEXTS, LONGS = (KeyConversion(w.simple(name)) for name in ("String", "Long"))
TUPLE = KeyConversion(
    w.composite(
        w.RUNTIME + "TupleSerializerSnapshot", w.simple("Long"), outer=w.utf("org.apache.flink.api.java.tuple.Tuple1")
    ),
    Fields(single="f0"),
)


def rekeyed(savepoint: Savepoint, change: KeyConversion | KeyChange, folder: Path) -> Savepoint:
    """The savepoint with other keys of all its keyed operators."""
    change = change if isinstance(change, KeyChange) else KeyChange(change)
    folder.mkdir()
    keyed = {state.operator_id for state in stored_states(savepoint) if state.kind.keyed}
    written = write_states(savepoint, Transfer(keys=dict.fromkeys(keyed, change)), str(folder))
    made = with_references(read_draft(savepoint), written.changes)
    (folder / "_metadata").write_bytes(made.metadata)
    return read_metadata(folder)


def held(savepoint: Savepoint) -> Counter[tuple[str, str]]:
    return Counter(
        (one.state.name, repr((one.key, one.namespace, one.map_key, one.value, one.last_used)))
        for one in entries(savepoint)
        if one.state.kind.keyed
    )


@pytest.mark.parametrize("pair", ["state_renamed", "win_time_global", "win_evictor_added", "value_to_map"])
def test_numbers_become_texts_and_numbers_again(pair: str, tmp_path: Path) -> None:
    before = read_metadata(JAVA / pair / "savepoint")
    there = rekeyed(before, TEXTS, tmp_path / "there")
    found = [one for one in entries(there) if one.state.kind.keyed]
    most = {operator.id: operator.max_parallelism for operator in there.operators}
    assert {type(one.key) for one in found} == {str}
    for one in found:
        code = signed(sum(ord(letter) * 31**place for place, letter in enumerate(reversed(one.key))))
        assert one.key_group == murmur_hash(code) % most[one.state.operator_id]
    assert held(rekeyed(there, LONGS, tmp_path / "back")) == held(before)
    assert not [path for path in (tmp_path / "there").iterdir() if path.is_dir()]


def test_keys_and_what_stands_behind_them_become_others_at_once(tmp_path: Path) -> None:
    """A value becomes an entry of a map, whose key stands behind the new key."""
    before = read_metadata(JAVA / "value_to_map" / "savepoint")
    (state,) = [one for one in stored_states(before) if one.name == "st"]
    of_map = w.composite(w.BASE + "MapSerializerSnapshot", w.simple("String"), w.simple("Long"))
    transfer = Transfer(
        keys={state.operator_id: KeyChange(TEXTS)},
        converted={
            StateKey(state.operator_id, "st", keyed=True): SerializerConversion(
                of_map, options={KIND: "MAP"}, entry="n"
            )
        },
    )
    (tmp_path / "out").mkdir()
    written = write_states(before, transfer, str(tmp_path / "out"))
    made = with_references(read_draft(before), written.changes)
    (tmp_path / "out" / "_metadata").write_bytes(made.metadata)
    values = {str(one.key): one.value for one in entries(before) if one.state.name == "st"}
    found = [one for one in entries(read_metadata(tmp_path / "out")) if one.state.name == "st"]
    assert {one.key: one.value for one in found} == values
    assert {one.map_key for one in found} == {"n"}


def test_a_single_value_becomes_a_field_of_a_tuple_and_one_again(tmp_path: Path) -> None:
    before = read_metadata(JAVA / "state_renamed" / "savepoint")
    there = rekeyed(before, TUPLE, tmp_path / "there")
    assert {one.key for one in entries(there) if one.state.kind.keyed} == {(0,), (1,), (2,)}
    back = KeyConversion(w.simple("Long"), Fields(single="f0"))
    assert held(rekeyed(there, back, tmp_path / "back")) == held(before)


def test_two_keys_that_would_become_one_are_refused(tmp_path: Path) -> None:
    before = read_metadata(JAVA / "state_renamed" / "savepoint")
    same = KeyConversion(TUPLE.serializer, Fields(constants={"f0": 7}, dropped=frozenset({"key"}), single="key"))
    with pytest.raises(NotWritten) as caught:
        rekeyed(before, same, tmp_path / "there")
    assert "two keys become one, and both have a value of `st`" in str(caught.value)


def test_values_of_keys_that_become_one_are_merged_by_name(tmp_path: Path) -> None:
    before = read_metadata(JAVA / "state_renamed" / "savepoint")
    same = KeyConversion(TUPLE.serializer, Fields(constants={"f0": 7}, dropped=frozenset({"key"}), single="key"))
    there = rekeyed(before, KeyChange(same, merges={"st": MergeByRule(Rule.SUM)}), tmp_path / "there")
    (one,) = [one for one in entries(there) if one.state.name == "st"]
    assert (one.key, one.value) == ((7,), sum(one.value for one in entries(before) if one.state.name == "st"))
    with pytest.raises(NotWritten, match="the values of `st` do not merge: only the elements of lists"):
        rekeyed(before, KeyChange(same, merges={"st": MergeByRule(Rule.ALL)}), tmp_path / "again")


@pytest.mark.parametrize(
    ("conversion", "told"),
    [
        (KeyConversion(w.simple("Boolean")), "is not true or false"),
        (KeyConversion(TUPLE.serializer), "Long does not become Tuple"),
    ],
)
def test_keys_that_do_not_become_others_are_refused(conversion: KeyConversion, told: str, tmp_path: Path) -> None:
    before = read_metadata(JAVA / "state_renamed" / "savepoint")
    with pytest.raises(NotWritten) as caught:
        rekeyed(before, conversion, tmp_path / "there")
    assert "the keys or windows of operator" in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("pair", ["state_renamed", "win_time_global", "win_evictor_added", "value_to_map"])
def test_keys_go_with_all_their_state_and_timers(pair: str, tmp_path: Path) -> None:
    before = read_metadata(JAVA / pair / "savepoint")
    left = rekeyed(before, KeyChange(dropped=KeysEqual((0, 1))), tmp_path / "left")
    assert held(left) == Counter({key: n for key, n in held(before).items() if not key[1].startswith(("(0,", "(1,"))})
    assert {one.key for one in entries(left) if one.state.kind.keyed} == {2}
    groups = {(one.key, one.key_group) for one in entries(before) if one.key == 2}
    assert {(one.key, one.key_group) for one in entries(left) if one.state.kind.keyed} == groups


def test_keys_go_by_their_fields_and_what_is_left_gets_other_keys(tmp_path: Path) -> None:
    before = read_metadata(JAVA / "key_tuple_to_single" / "savepoint")
    dropped = KeysEqual(fields={"f0": 1})
    back = KeyConversion(w.simple("Long"), Fields(single="f0"))
    left = rekeyed(before, KeyChange(back, dropped), tmp_path / "left")
    assert {one.key for one in entries(before) if one.state.kind.keyed} == {(0,), (1,), (2,)}
    assert {one.key for one in entries(left) if one.state.kind.keyed} == {0, 2}


def test_entries_that_go_are_counted(tmp_path: Path) -> None:
    before = read_metadata(JAVA / "state_renamed" / "savepoint")
    (state,) = [one for one in stored_states(before) if one.name == "st"]
    choice = KeysChosen(lambda items: [[item] if item.arrays[0].data[-1] == 2 else [] for item in items])
    written = write_states(before, Transfer(keys={state.operator_id: KeyChange(dropped=choice)}), str(tmp_path))
    key = StateKey(state.operator_id, "st", keyed=True)
    assert (written.entries[key], written.tally.dropped[key]) == (2, 1)


def test_keys_of_raw_state_are_not_left_behind(tmp_path: Path) -> None:
    """Timers that a custom operator, or an old one, keeps as raw keyed state would have keys that nobody looks for."""
    before = read_metadata(JAVA / "state_renamed" / "savepoint")
    operators = tuple(
        replace(one, subtasks=tuple(replace(subtask, raw_keyed=subtask.managed_keyed) for subtask in one.subtasks))
        for one in before.operators
    )
    with pytest.raises(NotWritten, match="it has raw keyed state"):
        rekeyed(replace(before, operators=operators), KeyChange(dropped=KeysEqual((1,))), tmp_path / "there")


@pytest.mark.parametrize(
    ("pair", "dropped", "told"),
    [
        ("state_renamed", KeysEqual(("a",)), "'a' is not a whole number"),
        ("state_renamed", KeysEqual(fields={"f0": 1}), "Long has no field f0; it has none"),
        ("key_tuple_to_single", KeysEqual((1,)), "Tuple has no values that a recipe can name"),
        ("key_tuple_to_single", KeysEqual(fields={"f1": 1}), "Tuple has no field f1; it has f0"),
    ],
)
def test_keys_that_cannot_be_there_are_refused(pair: str, dropped: KeysEqual, told: str, tmp_path: Path) -> None:
    before = read_metadata(JAVA / pair / "savepoint")
    with pytest.raises(NotWritten) as caught:
        rekeyed(before, KeyChange(dropped=dropped), tmp_path / "there")
    assert told in str(caught.value)


class Held:
    """Key groups in memory."""

    def __init__(self, found: dict[int, list[Entry]]) -> None:
        self._found = found

    @property
    def numbers(self) -> Collection[int]:
        return self._found.keys()

    def entries(self, group: int) -> Iterator[Entry]:
        return iter(self._found.get(group, ()))


@given(st.text(alphabet="abé", max_size=300), st.integers(-(1 << 40), 1 << 40))
def test_lengths_stand_behind_key_and_namespace_where_both_have_none_of_their_own(namespace: str, key: int) -> None:
    """`CompositeKeySerializationUtils`: with a key of a fixed length there are none, with one of any length there are two."""
    meta = w.state_meta("s", VALUE_SERIALIZER=w.simple("Long"), NAMESPACE_SERIALIZER=w.simple("String"))
    header = keyed_parts(w.keyed_header(meta), "", TypeNames(), {})
    space = write_text(namespace)
    entry = Entry(0, b"\x05" + w.long(key) + space, w.long(1))
    source = KeyedSource(
        read_metadata(JAVA / "state_renamed" / "savepoint"), "op", 128, True, header, Held({5: [entry]}), {}
    )
    text = write_text(str(key))
    with TemporaryDirectory() as there, TemporaryDirectory() as back:
        spill(source, KeyChange(TEXTS), there, Tally())
        texts = regrouped([source], KeyChange(TEXTS), [there], Tally())
        (group,) = texts.groups.numbers
        (found,) = texts.groups.entries(group)
        assert found.key[1:] == text + bytes([len(text)]) + space + length(space)
        other = keyed_parts(w.keyed_header(meta, key=w.simple("String")), "", TypeNames(), {})
        spill(replace(texts, parts=other), KeyChange(LONGS), back, Tally())
        longs = regrouped([texts], KeyChange(LONGS), [back], Tally())
        (group,) = longs.groups.numbers
        assert [one.key[1:] for one in longs.groups.entries(group)] == [entry.key[1:]]


def length(part: bytes) -> bytes:
    return bytes([len(part)]) if len(part) < 256 else bytes([len(part) % 256, len(part) // 256])
