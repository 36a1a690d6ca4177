"""Records have the form of their declared type, as behind PyFlink's coders."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from compat.compiler.datastream.common.types import Row, RowKind
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.runtime_api.records import converter
from compat.state.types import Types

PAIR = Types.TUPLE([Types.INT(), Types.STRING()])
NAMED = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.DOUBLE()])


def named(x: Any, y: Any) -> Row:
    return Row(x=x, y=y)


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (Types.INT(), 1.5, 1),
        (Types.LONG(), True, 1),
        (Types.DOUBLE(), 2, 2.0),
        (Types.FLOAT(), 0.1, 0.10000000149011612),
        (Types.FLOAT(), 1e300, float("inf")),
        (Types.BOOLEAN(), 1, True),
        (Types.BIG_DEC(), 1.5, Decimal("1.5")),
        (Types.SQL_DATE(), datetime(2020, 1, 2, 3), date(2020, 1, 2)),
        (Types.SQL_TIME(), time(1, 2, 3, 4567), time(1, 2, 3, 4000)),
        (Types.DOUBLE(), None, None),
        (PAIR, (2.0, "a"), (2, "a")),
        (PAIR, [None, "a"], (None, "a")),
        (Types.TUPLE([PAIR, Types.FLOAT()]), ((1.0, "b"), 1), ((1, "b"), 1.0)),
        (Types.LIST(Types.FLOAT()), [1, 0.1], [1.0, 0.10000000149011612]),
        (Types.MAP(Types.INT(), Types.DOUBLE()), {1.0: 2, 3: None}, {1: 2.0, 3: None}),
        (NAMED, Row(1.0, 2), named(1, 2.0)),
        (NAMED, Row(y=2, x=1), named(1, 2.0)),
        (NAMED, {"y": 2}, named(None, 2.0)),
        (Types.TUPLE([NAMED]), (Row(1, 2.0),), (named(1, 2.0),)),
        (Types.TUPLE([NAMED]), (None,), (None,)),
    ],
    ids=repr,
)
def test_forms(declared: Any, value: Any, expected: Any) -> None:
    convert = converter(declared)
    assert convert is not None
    (made,) = convert([value])
    assert repr(made) == repr(expected)
    assert convert([made, made])[0] == made


def test_what_has_its_form_is_not_made_anew() -> None:
    convert = converter(PAIR)
    values = [(1, "a"), (None, "b")]
    assert convert is not None
    assert convert(values) is values
    assert converter(Types.STRING()) is None
    assert converter(Types.LIST(Types.STRING())) is None


def test_a_row_keeps_its_kind() -> None:
    convert = converter(NAMED)
    assert convert is not None
    (made,) = convert([Row.of_kind(RowKind.DELETE, 1, 2)])
    assert made.get_row_kind() is RowKind.DELETE
    assert list(made) == [1, 2.0]


WHOLE = [(Types.BYTE(), 8), (Types.SHORT(), 16), (Types.INT(), 32), (Types.LONG(), 64)]


@pytest.mark.parametrize(("declared", "bits"), WHOLE)
@pytest.mark.parametrize("within", [lambda t: t, lambda t: Types.TUPLE([t]), lambda t: Types.ROW([t]), Types.LIST])
def test_whole_numbers_that_are_too_large_are_refused(declared: Any, bits: int, within: Any) -> None:
    """As PyFlink's coders do, with OverflowError: value too large to convert to int32_t."""
    convert, end = converter(within(declared)), 1 << (bits - 1)
    assert convert is not None

    def record(number: int) -> Any:
        return number if within(declared) is declared else (number,)

    convert([record(end - 1), record(-end), record(0)])
    for number in (end, -end - 1, 1 << bits, 1 << 70):
        with pytest.raises(OverflowError, match=f"{number} is too large for its declared type .*ends at {end - 1}"):
            convert([record(0), record(number)])


def test_none_among_whole_numbers() -> None:
    convert = converter(Types.INT())
    assert convert is not None
    assert convert([None, 5]) == [None, 5]
    with pytest.raises(OverflowError):
        convert([None, 1 << 31])


@pytest.mark.parametrize(("declared", "bits"), WHOLE)
def test_keys_that_are_too_large_fail_the_job(cluster: Any, declared: Any, bits: int) -> None:
    env = cluster.environment(1)
    env.from_collection([7, 8], Types.INT()).key_by(lambda n: (n == 8) << (bits - 1), declared).map(str).print()
    with pytest.raises(JobFailed, match=r"(?s)The record: 8\n.*OverflowError: \d+ is too large for its declared type"):
        env.execute()


@pytest.mark.parametrize(
    ("declared", "value"), [(Types.INT(), "1"), (Types.BOOLEAN(), "x"), (Types.DOUBLE(), [1]), (PAIR, ())], ids=repr
)
def test_what_has_no_such_form_is_refused(declared: Any, value: Any) -> None:
    convert = converter(declared)
    assert convert is not None
    with pytest.raises(TypeError, match="declared type"):
        convert([value])


def test_fields_of_rows_may_be_missing_in_a_collection(cluster: Any) -> None:
    declared = Types.ROW([Types.ROW([Types.SQL_TIME()]), Types.TUPLE([Types.SQL_DATE(), Types.FLOAT()])])
    stream = cluster.environment(1).from_collection(
        [Row(None, None), Row(Row(time(1)), (date(2020, 1, 1), 0.1))], declared
    )
    found = [[each and tuple(each) for each in row] for row in stream.execute_and_collect()]
    assert found == [[None, None], [(time(1),), (date(2020, 1, 1), 0.10000000149011612)]]
