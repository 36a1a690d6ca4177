"""Values of a program in bytes: PyFlink's coder, and Flink's serializer, read them back as they were."""

from __future__ import annotations

import pickle
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Unconvertible, form_of
from compat.state.flink.python_forms import form_of_type
from compat.state.flink.python_values import as_declared, coder_of, decoded
from compat.state.flink.snapshot_writing import snapshot_of
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.value_writing import as_stored, writer_of
from compat.state.rows import Row, RowKind
from compat.state.time import Instant
from compat.state.types import LocalTimeTypeInfo, TypeInformation, Types

P = Types.PICKLED_BYTE_ARRAY()
NAMED = Types.ROW_NAMED(["n", "s"], [Types.LONG(), Types.STRING()])


def written(type: TypeInformation, value: Any) -> bytes:
    """The value as PyFlink's coder of the type writes it."""
    return writer_of(form_of_type(type))(as_stored(type, pickle.dumps)(value))


LEAVES: list[tuple[TypeInformation, st.SearchStrategy[Any]]] = [
    (Types.STRING(), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)),
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), st.integers(-128, 127)),
    (Types.SHORT(), st.integers(-(1 << 15), (1 << 15) - 1)),
    (Types.INT(), st.integers(-(1 << 31), (1 << 31) - 1)),
    (Types.LONG(), st.integers(-(1 << 63), (1 << 63) - 1)),
    (Types.DOUBLE(), st.floats(allow_nan=False)),
    (P, st.one_of(st.none(), st.dictionaries(st.integers(), st.text(max_size=3), max_size=2))),
]
MORE: list[tuple[TypeInformation, st.SearchStrategy[Any]]] = [
    (Types.FLOAT(), st.floats(allow_nan=False, width=32)),
    (Types.BIG_DEC(), st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    (Types.SQL_DATE(), st.dates()),
    (Types.SQL_TIME(), st.times().map(lambda one: one.replace(microsecond=one.microsecond // 1000 * 1000))),
    (Types.INSTANT(), st.integers(-(1 << 40), 1 << 40).map(lambda one: Instant(one, 5))),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=8)),
    (Types.PRIMITIVE_ARRAY(Types.INT()), st.lists(st.integers(-9, 9), max_size=4)),
]


def types(
    leaves: list[tuple[TypeInformation, st.SearchStrategy[Any]]],
) -> st.SearchStrategy[tuple[TypeInformation, Any]]:
    """Types, each with values of it."""

    def compound(inner: Any) -> Any:
        return st.one_of(
            inner.map(lambda one: (Types.LIST(one[0]), st.lists(one[1], max_size=3))),
            st.lists(inner, min_size=1, max_size=3).map(
                lambda parts: (Types.TUPLE([part[0] for part in parts]), st.tuples(*(part[1] for part in parts)))
            ),
            st.lists(inner, min_size=1, max_size=3).map(
                lambda parts: (
                    Types.ROW([part[0] for part in parts]),
                    st.tuples(*(st.one_of(st.none(), part[1]) for part in parts)).map(lambda values: Row(*values)),
                )
            ),
            inner.map(
                lambda one: (Types.MAP(Types.STRING(), one[0]), st.dictionaries(st.text("ab"), one[1], max_size=3))
            ),
        )

    return st.recursive(st.sampled_from(leaves), compound, max_leaves=4)


@given(st.data())
def test_what_is_written_is_read_as_it_was(data: st.DataObject) -> None:
    type, values = data.draw(types(LEAVES + MORE))
    value = data.draw(values)
    assert _plain(decoded(coder_of(type, pickle.loads), written(type, value))) == _plain(value)


@given(st.data())
def test_what_is_written_as_java_does_is_read_as_it_was(data: st.DataObject) -> None:
    type, values = data.draw(types(LEAVES[:-1]))
    value = data.draw(values)
    form = form_of(read_versioned(ByteReader(snapshot_of(type), ""), 0))
    stored = writer_of(form)(as_stored(type, pickle.dumps)(value))
    assert _plain(as_declared(type, pickle.loads)(decoded(form.read, stored))) == _plain(value)


def _plain(value: Any) -> Any:
    """Rows as their values, which may have names that were not given."""
    if isinstance(value, Row | tuple):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return list(map(_plain, value))
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    "value", [Row(n=1, s="a"), Row(s="a", n=1), Row(1, "a"), (1, "a"), [1, "a"], {"s": "a", "n": 1}]
)
def test_rows_are_what_pyflink_takes_for_them(value: Any) -> None:
    assert decoded(coder_of(NAMED, pickle.loads), written(NAMED, value)) == Row(n=1, s="a")


@pytest.mark.parametrize(
    ("type", "value", "told"),
    [
        (Types.LONG(), "5", "'5' is not of the type Long"),
        (Types.LONG(), True, "True is not of the type Long"),
        (Types.LONG(), 5.0, "5.0 is not of the type Long"),
        (Types.INT(), 1 << 31, "is not between"),
        (Types.STRING(), 5, "5 is not of the type String"),
        (Types.STRING(), None, "None is not of the type String"),
        (Types.BOOLEAN(), 1, "1 is not of the type Boolean"),
        (Types.BIG_DEC(), 1.5, "1.5 is not of the type BigDecimal"),
        (Types.SQL_DATE(), 5, "5 is not of the type Date"),
        (Types.SQL_TIME(), time(1, 2, 3, 4), "is not a time in whole milliseconds"),
        (Types.LIST(Types.LONG()), 5, "5 is not of the type"),
        (Types.MAP(Types.STRING(), Types.LONG()), [1], "is not of the type Map"),
        (Types.TUPLE([Types.LONG()]), (1, 2), "is not of the type Java Tuple1"),
        (Types.TUPLE([Types.LONG()]), (None,), "None is not of the type Long"),
        (NAMED, {"n": 1}, "is not of the type Row"),
        (NAMED, Row(n=1, other="a"), "is not of the type Row"),
        (NAMED, Row.of_kind(RowKind.DELETE, n=1, s="a"), "is not a row that was inserted"),
        (Types.STRING(), "x" * 500 + "y", "…"),
    ],
)
def test_what_is_not_of_the_type_is_refused(type: TypeInformation, value: Any, told: str) -> None:
    wanted = type if told != "…" else Types.LONG()
    with pytest.raises(Unconvertible) as caught:
        written(wanted, value)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 300


def test_types_that_are_not_written_here_are_refused() -> None:
    with pytest.raises(Unconvertible, match="values of LocalDate are not written here"):
        writer_of(form_of_type(LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)))


def test_pickles_of_keys_are_byte_arrays() -> None:
    type = Types.TUPLE([P, Types.LONG()])
    form = form_of(read_versioned(ByteReader(snapshot_of(type), ""), 0))
    stored = writer_of(form)(as_stored(type, pickle.dumps)((None, 5)))
    assert decoded(form.read, stored) == (pickle.dumps(None), 5)
    assert as_declared(type, pickle.loads)(decoded(form.read, stored)) == (None, 5)


def test_moments_and_days_are_those_of_pyflink() -> None:
    assert written(Types.SQL_TIMESTAMP(), datetime(1970, 1, 1, 0, 0, 1)) == (1000).to_bytes(8)
    assert written(Types.SQL_DATE(), date(1970, 1, 2)) == (1).to_bytes(4)
    assert written(Types.BIG_DEC(), Decimal("1.50")) == b"\0\0\0\x041.50"
