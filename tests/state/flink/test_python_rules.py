"""What becomes of values of process mode by their types alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink.errors import SavepointError
from compat.state.flink.forms import Unconvertible
from compat.state.flink.python_rules import ByRules, Declared
from compat.state.flink.python_states import Array, Item
from compat.state.flink.transcoding import Fields
from compat.state.model.states import StateKind
from compat.state.types import TypeInformation, Types
from tests.state.flink import writer as w

LONG, INT, STRING = Types.LONG(), Types.INT(), Types.STRING()
ROW = Types.ROW_NAMED(["a", "b"], [LONG, LONG])
VALUE, LIST, MAP = StateKind.VALUE, StateKind.LIST, StateKind.MAP
T1, T2 = w.long(1), w.long(2)


def text(value: str) -> bytes:
    return w.sized(value.encode())


def become(
    old: tuple[StateKind, TypeInformation], new: tuple[StateKind, TypeInformation], item: Item, **more: Any
) -> Item:
    before, after = (Declared(kind, str(type)) for kind, type in (old, new))
    ((found,),) = ByRules(before, after, more.pop("fields", Fields()), **more)([item])
    return found


def test_values_that_stand_behind_one_another_in_an_array_stay_so() -> None:
    item = Item(None, (Array(w.long(1, 2), T1), Array(b"", T2)))
    found = become((LIST, LONG), (LIST, INT), item)
    assert found == Item(None, (Array(w.integer(1, 2), T1), Array(b"", T2)))


@pytest.mark.parametrize("kind", [VALUE, StateKind.REDUCING, StateKind.AGGREGATING])
def test_single_values_and_lists_of_one_become_one_another(kind: StateKind) -> None:
    item = Item(None, (Array(w.long(1), T1),))
    assert become((kind, LONG), (LIST, INT), item).arrays == (Array(w.integer(1), T1),)
    assert become((LIST, LONG), (kind, LONG), item) == item
    with pytest.raises(Unconvertible, match="a list of 2 elements is no single value"):
        become((LIST, LONG), (kind, LONG), Item(None, (Array(w.long(1, 2), T1),)))
    with pytest.raises(Unconvertible, match="a list of 2 elements is no single value"):
        become((LIST, LONG), (kind, LONG), Item(None, (Array(w.long(1), T1), Array(w.long(2), T2))))


def test_entries_of_maps_become_others() -> None:
    old, new = Types.MAP(STRING, LONG), Types.MAP(STRING, INT)
    item = Item(text("a"), (Array(w.long(1), T1),))
    assert become((MAP, old), (MAP, new), item) == Item(text("a"), (Array(w.integer(1), T1),))
    other = become((MAP, Types.MAP(LONG, LONG)), (MAP, Types.MAP(STRING, LONG)), item._replace(map_key=w.long(5)))
    assert other == Item(text("5"), (Array(w.long(1), T1),))


def test_fields_are_those_of_what_changes_in_a_map() -> None:
    renamed = Types.ROW_NAMED(["a", "c"], [LONG, LONG])
    fields, row = Fields({"c": "b"}), b"\0" + w.long(1, 2)
    values = become(
        (MAP, Types.MAP(LONG, ROW)), (MAP, Types.MAP(LONG, renamed)), Item(T1, (Array(row, T2),)), fields=fields
    )
    assert values == Item(T1, (Array(row, T2),))
    keys = become(
        (MAP, Types.MAP(ROW, LONG)), (MAP, Types.MAP(renamed, LONG)), Item(row, (Array(T1, T2),)), fields=fields
    )
    assert keys == Item(row, (Array(T1, T2),))


def test_a_single_value_becomes_an_entry_under_the_key_that_is_said() -> None:
    item, new = Item(None, (Array(w.long(1), T1),)), Types.MAP(STRING, INT)
    assert become((VALUE, LONG), (MAP, new), item, entry="n") == Item(text("n"), (Array(w.integer(1), T1),))
    with pytest.raises(Unconvertible, match="unless `entry` is its key, or a function says how"):
        become((VALUE, LONG), (MAP, new), item)
    with pytest.raises(Unconvertible, match="entries of a map become no single value"):
        become((MAP, new), (VALUE, LONG), item, entry="n")


TYPES = st.sampled_from([LONG, INT, STRING, ROW, Types.LIST(STRING), Types.TUPLE([INT, STRING]), Types.BIG_DEC()])


@given(TYPES, TYPES, st.binary(max_size=60))
def test_no_bytes_raise_anything_else(old: TypeInformation, new: TypeInformation, data: bytes) -> None:
    """A savepoint is of anybody's making."""
    with suppress(SavepointError, Unconvertible):
        become((LIST, old), (LIST, new), Item(None, (Array(data, T1),)))


def test_types_of_java_alone_are_refused() -> None:
    with pytest.raises(Unconvertible, match=r"GenericType<a\.B> is no type of PyFlink's"):
        ByRules(Declared(VALUE, "GenericType<a.B>"), Declared(VALUE, str(LONG)), Fields())
