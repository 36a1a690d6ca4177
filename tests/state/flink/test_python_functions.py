"""Functions on values and keys of PyFlink: what they are given, and what becomes of what they give back."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Unconvertible, form_of
from compat.state.flink.python_forms import form_of_type
from compat.state.flink.python_functions import Failed, OfChoice, OfKeys, OfMerge, OfValues, Pickles, change_of
from compat.state.flink.python_rules import Declared
from compat.state.flink.python_states import Array, Item
from compat.state.flink.python_values import as_declared, coder_of, decoded, decoded_all
from compat.state.flink.snapshot_writing import key_snapshot
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.value_writing import as_stored, writer_of
from compat.state.model.states import StateKind
from compat.state.types import TypeInformation, Types
from tests.state.flink import writer as w

PICKLES = Pickles(pickle.loads, pickle.dumps)
VALUE, LIST, MAP = StateKind.VALUE, StateKind.LIST, StateKind.MAP
LONG, STRING, P = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()
T1, T2 = w.long(1), w.long(2)
State = tuple[StateKind, TypeInformation]


def array(type: TypeInformation, *values: Any, time: bytes = T1) -> Array:
    write, stored = writer_of(form_of_type(type)), as_stored(type, pickle.dumps)
    return Array(b"".join(write(stored(value)) for value in values), time)


def item(type: TypeInformation, *values: Any, key: bytes | None = None) -> Item:
    return Item(key, (array(type, *values),))


def changed(old: State, new: State, function: Callable[..., Any], given: Item, *, drops: bool = False) -> list[Item]:
    task = OfValues(*(Declared(kind, str(type)) for kind, type in (old, new)), drops)
    return change_of(task, function, PICKLES)(given)


def read(type: TypeInformation, found: Item) -> list[Any]:
    return decoded_all(coder_of(type, pickle.loads), (array.data for array in found.arrays))


@pytest.mark.parametrize("kind", [VALUE, StateKind.REDUCING, StateKind.AGGREGATING])
def test_values_become_others(kind: StateKind) -> None:
    (found,) = changed((VALUE, P), (kind, LONG), lambda old: old["n"], item(P, {"n": 5}))
    assert (read(LONG, found), found.map_key, found.time) == ([5], None, T1)
    (back,) = changed((kind, LONG), (VALUE, P), lambda old: {"n": old}, found)
    assert read(P, back) == [{"n": 5}]


def test_elements_of_lists_are_given_one_by_one_and_keep_their_times() -> None:
    given = Item(None, (array(LONG, 1, 2), array(LONG, 3, time=T2)))
    (found,) = changed((LIST, LONG), (LIST, STRING), str, given)
    assert read(STRING, found) == ["1", "2", "3"]
    assert [one.time for one in found.arrays] == [T1, T2]


def test_a_list_as_a_whole_becomes_a_value_and_a_value_a_list() -> None:
    given = Item(None, (array(LONG, 1, 2), array(LONG, 3, time=T2)))
    (total,) = changed((LIST, LONG), (VALUE, LONG), sum, given)
    assert (read(LONG, total), total.time) == ([6], T2)
    (parts,) = changed((VALUE, LONG), (LIST, LONG), lambda n: [n, n + 1], item(LONG, 6))
    assert read(LONG, parts) == [6, 7]
    assert changed((VALUE, LONG), (LIST, LONG), lambda _: [], item(LONG, 6)) == []
    with pytest.raises(Unconvertible, match="6 is no list, which a list state is made of"):
        changed((VALUE, LONG), (LIST, LONG), int, item(LONG, 6))


def test_values_become_maps() -> None:
    new = Types.MAP(STRING, P)
    found = changed(
        (VALUE, P), (MAP, new), lambda old: {key: [one] for key, one in old.items()}, item(P, {"a": 1, "b": 2})
    )
    assert [(one.map_key, read(P, one)) for one in found] == [(w.sized(b"a"), [[1]]), (w.sized(b"b"), [[2]])]
    with pytest.raises(Unconvertible, match="5 is no dict, which a map state is made of"):
        changed((VALUE, LONG), (MAP, new), int, item(LONG, 5))


def test_entries_of_maps_are_given_as_values_or_as_pairs() -> None:
    old, new = (MAP, Types.MAP(STRING, LONG)), (MAP, Types.MAP(LONG, STRING))
    entry = item(LONG, 5, key=w.sized(b"7"))
    (pair,) = changed(old, new, lambda key, value: (int(key), str(value)), entry)
    assert (pair.map_key, read(STRING, pair), pair.time) == (w.long(7), ["5"], T1)
    (value,) = changed(old, (MAP, Types.MAP(STRING, STRING)), lambda value, sign="+": sign + str(value), entry)
    assert (value.map_key, read(STRING, value)) == (entry.map_key, ["+5"])
    with pytest.raises(Unconvertible, match="'75' is no pair of a key and a value"):
        changed(old, new, lambda key, value: f"{key}{value}", entry)
    with pytest.raises(Unconvertible, match="let the function take and give key and value"):
        changed(old, new, str, entry)


def test_a_map_as_a_whole_becomes_a_value_or_a_list() -> None:
    """The item has its keys and values in turn."""
    old = Types.MAP(STRING, LONG)
    whole = Item(None, (array(STRING, "a"), array(LONG, 1), array(STRING, "b"), array(LONG, 2, time=T2)))
    (total,) = changed((MAP, old), (VALUE, P), dict, whole)
    assert (read(P, total), total.map_key, total.time) == ([{"a": 1, "b": 2}], None, T2)
    (names,) = changed((MAP, old), (LIST, STRING), sorted, whole)
    assert read(STRING, names) == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "given"),
    [
        ((VALUE, LONG), (VALUE, LONG), item(LONG, 5)),
        ((LIST, LONG), (LIST, LONG), item(LONG, 5)),
        ((LIST, LONG), (VALUE, LONG), item(LONG, 5)),
        ((MAP, Types.MAP(LONG, LONG)), (MAP, Types.MAP(LONG, LONG)), item(LONG, 5, key=w.long(1))),
    ],
    ids=str,
)
def test_what_it_gives_none_for_goes_where_that_is_said(old: State, new: State, given: Item) -> None:
    """A function that forgets to return something is not to empty a state."""
    assert changed(old, new, lambda _: None, given, drops=True) == []
    with pytest.raises(Unconvertible, match=r"it gives None for .*5.*; with `drops: true` what it is None for goes"):
        changed(old, new, lambda _: None, given)


def test_elements_go_one_by_one() -> None:
    given = Item(None, (array(LONG, 1, 2), array(LONG, 3, time=T2), array(LONG, 4)))
    (found,) = changed((LIST, LONG), (LIST, LONG), lambda n: None if n in (2, 3) else n, given, drops=True)
    assert (read(LONG, found), len(found.arrays)) == ([1, 4], 2)


@pytest.mark.parametrize(
    ("state", "function", "made"),
    [
        ((VALUE, LONG), sum, [6]),
        ((StateKind.AGGREGATING, LONG), max, [3]),
        ((LIST, LONG), sorted, [1, 2, 3]),
        ((MAP, Types.MAP(STRING, LONG)), min, [1]),
    ],
)
def test_values_of_one_key_are_merged(state: State, function: Any, made: list[int]) -> None:
    task = OfMerge(Declared(state[0], str(state[1])))
    given = Item(None, (array(LONG, 3), array(LONG, 1, time=T2), array(LONG, 2)))
    (found,) = change_of(task, function, PICKLES)(given)
    assert (read(LONG, found), found.time) == (made, T2)


def test_an_error_is_told_with_the_value_and_the_line() -> None:
    def broken(old: Any) -> Any:
        return old["absent"]

    with pytest.raises(Failed) as caught:
        changed((VALUE, P), (VALUE, P), broken, item(P, {"n": "x" * 500}))
    assert str(caught.value).startswith("it fails for {'n': 'xxxxx")
    assert "…: KeyError: 'absent' (line " in str(caught.value)
    assert str(caught.value).endswith("of broken)")
    assert len(str(caught.value)) < 300


def test_what_is_not_of_the_type_is_refused() -> None:
    with pytest.raises(Unconvertible, match="'5' is not of the type Long"):
        changed((VALUE, LONG), (VALUE, LONG), str, item(LONG, 5))
    with pytest.raises(Unconvertible, match="a list of 2 elements is no single value"):
        changed((VALUE, LONG), (VALUE, LONG), int, item(LONG, 5, 6))


def key(type: TypeInformation, value: Any) -> Item:
    form = form_of(read_versioned(ByteReader(key_snapshot(type), ""), 0))
    return Item(None, (Array(writer_of(form)([as_stored(type, pickle.dumps)(value)]), b""),))


def read_key(type: TypeInformation, found: Item) -> Any:
    form = form_of(read_versioned(ByteReader(key_snapshot(type), ""), 0))
    return as_declared(type, pickle.loads)(decoded(form.read, found.arrays[0].data)[0])


@pytest.mark.parametrize(
    ("old", "value", "new", "function", "now"),
    [
        (P, "k1", STRING, str.upper, "K1"),
        (LONG, 5, P, lambda n: ("k", n), ("k", 5)),
        (STRING, "a-1", Types.TUPLE([STRING, LONG]), lambda text: (text[0], int(text[2:])), ("a", 1)),
        (Types.ROW([LONG, STRING]), (1, "a"), LONG, lambda row: row[0], 1),
    ],
)
def test_keys_become_others(old: TypeInformation, value: Any, new: TypeInformation, function: Any, now: Any) -> None:
    task = OfKeys(key_snapshot(old), str(old), str(new))
    (found,) = change_of(task, function, PICKLES)(key(old, value))
    assert read_key(new, found) == now


def test_a_key_is_never_none() -> None:
    with pytest.raises(Unconvertible, match="it gives None for 5"):
        change_of(OfKeys(key_snapshot(LONG), str(LONG), str(P)), lambda _: None, PICKLES)(key(LONG, 5))


def test_keys_are_chosen() -> None:
    chosen = change_of(OfChoice(key_snapshot(P), str(P)), lambda old: old > "b", PICKLES)
    assert [bool(chosen(key(P, text))) for text in ("a", "c")] == [False, True]
    java = change_of(OfChoice(w.simple("Long"), None), lambda n: n == 5, PICKLES)
    assert [bool(java(Item(None, (Array(w.long(n), b""),)))) for n in (5, 6)] == [True, False]
