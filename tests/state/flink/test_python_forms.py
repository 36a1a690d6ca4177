"""Values as PyFlink's coders write them, under another declared type."""

from __future__ import annotations

import pickle
from datetime import date
from typing import Any

import pytest

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Unconvertible
from compat.state.flink.python_forms import form_of_type
from compat.state.flink.python_values import coder_of
from compat.state.flink.transcoding import Fields, transcoder
from compat.state.types import TypeInformation, Types
from tests.state.flink import writer as w

LONG, INT, STRING, DOUBLE = Types.LONG(), Types.INT(), Types.STRING(), Types.DOUBLE()


def text(value: str) -> bytes:
    return w.sized(value.encode())


def converted(old: TypeInformation, new: TypeInformation, data: bytes, fields: Fields = Fields()) -> Any:  # noqa: B008
    """The value that PyFlink's coder of NEW's type reads, which takes all that was written."""
    reader = ByteReader(transcoder(form_of_type(old), form_of_type(new), fields)(ByteReader(data, "")), "")
    value = coder_of(new, pickle.loads)(reader)
    assert reader.remaining == 0
    return value


@pytest.mark.parametrize(
    ("old", "data", "new", "value"),
    [
        (LONG, w.long(5), STRING, "5"),
        (STRING, text("-5"), LONG, -5),
        (INT, w.integer(5), LONG, 5),
        (LONG, w.long(5), INT, 5),
        (LONG, w.long(5), DOUBLE, 5.0),
        (LONG, w.long(5), Types.BIG_INT(), 5),
        (Types.LIST(LONG), w.integer(2) + b"\1" + w.long(5) + b"\0", Types.LIST(STRING), ["5", None]),
        (
            Types.MAP(STRING, LONG),
            w.integer(2) + text("a") + b"\0" + w.long(1) + text("b") + b"\1",
            Types.MAP(STRING, INT),
            {"a": 1, "b": None},
        ),
        (Types.TUPLE([LONG, STRING]), w.long(1) + text("a"), Types.TUPLE([STRING, STRING]), ("1", "a")),
        (Types.PRIMITIVE_ARRAY(INT), w.integer(2, 7, 8), Types.PRIMITIVE_ARRAY(LONG), [7, 8]),
        (Types.OBJECT_ARRAY(LONG), w.integer(1) + b"\1" + w.long(5), Types.LIST(INT), [5]),
        (Types.SQL_DATE(), w.integer(1), Types.SQL_DATE(), date(1970, 1, 2)),
        (Types.PICKLED_BYTE_ARRAY(), w.sized(pickle.dumps({1: 2})), Types.PICKLED_BYTE_ARRAY(), {1: 2}),
    ],
    ids=str,
)
def test_values_become_those_of_another_type(
    old: TypeInformation, data: bytes, new: TypeInformation, value: Any
) -> None:
    found = converted(old, new, data)
    assert (found, type(found)) == (value, type(value))


def test_rows_have_other_fields() -> None:
    old = Types.ROW_NAMED(["user", "count", "note"], [STRING, LONG, STRING])
    new = Types.ROW_NAMED(["user", "n", "since"], [STRING, INT, STRING])
    data = bytes([0b00001000]) + text("ann") + w.long(3)  # the kind of change, then which fields are null: the last
    fields = Fields({"n": "count"}, {"since": "today"}, frozenset(["note"]))
    assert converted(old, new, data, fields).as_dict() == {"user": "ann", "n": 3, "since": "today"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (LONG, Types.PICKLED_BYTE_ARRAY(), "Long does not become"),
        (Types.PICKLED_BYTE_ARRAY(), LONG, "does not become Long"),
        (Types.LIST(LONG), LONG, "does not become Long"),
        (Types.ROW([LONG]), Types.ROW([LONG, LONG]), "has no field f1"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.PICKLED_BYTE_ARRAY(), "does not become Pickled"),
        (Types.PICKLED_BYTE_ARRAY(), Types.PRIMITIVE_ARRAY(Types.BYTE()), "does not become byte"),
    ],
)
def test_types_that_no_rule_joins_are_refused(old: TypeInformation, new: TypeInformation, told: str) -> None:
    with pytest.raises(Unconvertible, match=told):
        transcoder(form_of_type(old), form_of_type(new))
