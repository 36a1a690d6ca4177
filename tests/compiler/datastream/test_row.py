"""Rows: names, kinds, equality, copies."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.datastream.common.types import Row, RowKind

names = st.lists(st.text("abcdef", min_size=1, max_size=3), unique=True, min_size=1, max_size=5)
named_values = names.flatmap(
    lambda given: st.lists(st.integers(), min_size=len(given), max_size=len(given)).map(
        lambda values: dict(zip(given, values, strict=True))
    )
)


def test_values_by_name_and_position() -> None:
    row = Row(name="Alice", age=11)
    assert (row.name, row["age"], row[0], row[0:2], len(row), list(row)) == (
        "Alice",
        11,
        "Alice",
        ["Alice", 11],
        2,
        ["Alice", 11],
    )
    assert "age" in row
    assert 11 not in row
    assert 11 in Row("Alice", 11)
    assert repr(row) == "Row(name='Alice', age=11)"
    assert repr(Row("Alice")) == "<Row('Alice')>"


def test_a_row_of_names_makes_rows() -> None:
    person = Row("name", "age")("Alice", 11)
    assert person == Row(name="Alice", age=11)
    with pytest.raises(ValueError, match="names 2 fields, but 3 values"):
        Row("name", "age")(1, 2, 3)


def test_values_change_by_name_and_position() -> None:
    row = Row(name="Alice", age=11)
    row["age"] = 12
    row[0] = "Bob"
    assert row.as_dict() == {"name": "Bob", "age": 12}


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda row: row.height, AttributeError),
        (lambda row: row["height"], ValueError),
        (lambda row: row.__setitem__("height", 1), KeyError),
        (lambda row: setattr(row, "age", 1), AttributeError),
        (lambda row: row.get_fields_by_names(["height"]), ValueError),
        (lambda row: Row(1, a=2), ValueError),
        (lambda row: Row(1).as_dict(), TypeError),
    ],
)
def test_what_is_not_there_is_refused(use, error) -> None:
    with pytest.raises(error):
        use(Row(name="Alice", age=11))


def test_dicts_of_rows_inside_rows() -> None:
    row = Row(key=1, value=Row(a=[Row(b=2)]))
    assert row.as_dict() == {"key": 1, "value": Row(a=[Row(b=2)])}
    assert row.as_dict(True) == {"key": 1, "value": {"a": [{"b": 2}]}}


def test_the_kind_counts() -> None:
    row = Row.of_kind(RowKind.DELETE, 1)
    assert (row.get_row_kind(), str(row.get_row_kind())) == (RowKind.DELETE, "-D")
    assert row != Row(1)
    row.set_row_kind(RowKind.INSERT)
    assert row == Row(1)


@given(named_values)
def test_the_order_of_names_does_not_count(values: dict[str, int]) -> None:
    row, turned = Row(**values), Row(**dict(reversed(values.items())))
    assert row == turned
    assert hash(row) == hash(turned)


@given(named_values, st.sampled_from(RowKind))
def test_a_pickled_row_comes_back(values: dict[str, int], kind: RowKind) -> None:
    row = Row.of_kind(kind, **values)
    assert pickle.loads(pickle.dumps(row)) == row


def test_names_count() -> None:
    assert Row(1) != Row(a=1)
    assert Row(a=1) != Row(b=1)
    assert Row(1).get_fields_by_names(["a"]) == [1]
