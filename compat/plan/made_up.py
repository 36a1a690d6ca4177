"""Records that are made up, of a type: to see what a function of the program gives for them."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping
from typing import Any

from compat.state.rows import Row
from compat.state.types import TypeInformation
from compat.state.types.basic import BasicTypeInfo
from compat.state.types.composite import ListTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo

SAMPLES = 24
_NUMBERS = (0, 1, 2, 3, 5, 7, 10, 12, 42, 60, 99, 100, 101, 127, -1, -2, -7, -100, 6, 11, 33, 64, 17, 120)
_LARGE = (*_NUMBERS[:14], -1, -7, -1000, 255, 1000, 4711, 65537, 1_000_003, 86_400_000, 1_700_000_000_123)
_TEXTS = (
    "a",
    "",
    "key 7",
    "Straße",
    "UPPER",
    "42",
    "2024-02-29",
    "a,b;c",
    " padded ",
    "x" * 40,
    "user@example.com",
    "-1",
    "\t",
    "a/b/c",
    "k:v",
    "MixedCase",
    "b-c_d",
)
_BASIC: Mapping[str, Callable[[int], Any]] = {
    "STRING": lambda n: _TEXTS[n % len(_TEXTS)],
    "BOOLEAN": lambda n: n % 2 == 1,
    "BYTE": lambda n: _NUMBERS[n % SAMPLES],
    "SHORT": lambda n: _NUMBERS[n % SAMPLES],
    "INT": lambda n: _LARGE[n % (SAMPLES - 1)],
    "LONG": lambda n: _LARGE[n % SAMPLES],
    "BIG_INT": lambda n: _LARGE[n % SAMPLES],
    "FLOAT": lambda n: _NUMBERS[n % SAMPLES] / 4,
    "DOUBLE": lambda n: _LARGE[n % SAMPLES] / 8,
    "BIG_DEC": lambda n: decimal.Decimal(_LARGE[n % SAMPLES]) / 8,
}
_TEMPORAL: Mapping[str, Callable[[int], Any]] = {
    "SQL_DATE": lambda n: datetime.date(2020 + n % 5, n % 12 + 1, n % 28 + 1),
    "SQL_TIME": lambda n: datetime.time(n % 24, n * 7 % 60, n * 11 % 60),
    "SQL_TIMESTAMP": lambda n: datetime.datetime(2020 + n % 5, n % 12 + 1, n % 28 + 1, n % 24, n * 7 % 60),
}


def record(type: TypeInformation | None, number: int) -> Any:
    """The record of this number. Raises TypeError where none of its type can be made up."""
    if isinstance(type, BasicTypeInfo) and type.kind in _BASIC:
        return _BASIC[type.kind](number)
    if isinstance(type, TupleTypeInfo | RowTypeInfo):
        # Fields of one type have different values.
        fields = [record(one, number + 5 * place) for place, one in enumerate(type.field_types)]
        return tuple(fields) if isinstance(type, TupleTypeInfo) else _row(type, fields)
    if isinstance(type, ListTypeInfo):
        return [record(type.element_type, number + place) for place in range(number % 3 + 1)]
    if isinstance(type, MapTypeInfo):
        keys = (number + place for place in range(3))
        return {record(type.key_type, key): record(type.value_type, key + 1) for key in keys}
    if type is not None and type.kind in _TEMPORAL:
        return _TEMPORAL[type.kind](number)
    raise TypeError(type)


def _row(type: RowTypeInfo, fields: list[Any]) -> Row:
    row = Row(*fields)
    row.set_field_names(list(type.field_names))
    return row
