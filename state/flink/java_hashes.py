"""The hash codes that Java gives to keys: they decide where Flink looks for a key's state (`KeyGroupRangeAssignment`).

It knows only hashes that are the same in every JVM: those of texts, numbers, moments, and of tuples and rows of them. A class
of the program has its own ``hashCode``, and an enum another one in each process.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from compat.state.flink.forms import Form, Layout, Unconvertible, millis
from compat.state.time import Instant

Hash = Callable[[Any], int]
"""Gives the hash code of a value as it is read here, as a number from 0 to 2^32 - 1, or signed: only its 32 bits count."""

_MASK = 0xFFFFFFFF
_BYTES = "BytePrimitiveArray"
_TRUE, _FALSE = 1231, 1237


def hash_of(form: Form) -> Hash:
    """A function for the hash codes of keys of a form. Raises Unconvertible if only the keys' class defines the hash."""
    if form.layout is Layout.TUPLE:
        return _tuple([hash_of(part) for part in form.parts])
    if form.layout in (Layout.ROW, Layout.ROW_OF_CHANGES):
        return _row([_of_bytes if part.called == _BYTES else hash_of(part) for part in form.parts])
    found = _HASHES.get(form.called)
    if found is None:
        raise Unconvertible(
            f"only its class knows the hash code of {form.called}, which says where the state of a key is"
        )
    return lambda value: 0 if value is None else found(value)


def _tuple(parts: Sequence[Hash]) -> Hash:
    """``Tuple2.hashCode`` and its like."""

    def code(values: Sequence[Any]) -> int:
        result = 0
        for part, value in zip(parts, values, strict=True):
            result = (31 * result + part(value)) & _MASK
        return result

    return code


def _row(parts: Sequence[Hash]) -> Hash:
    """``RowUtils.deepHashCodeRow`` of a row that is an insertion: each field counts as an array of one."""

    def code(values: Sequence[Any]) -> int:
        result = 1
        for part, value in zip(parts, values, strict=True):
            result = (31 * result + (0 if value is None else 31 + part(value))) & _MASK
        return result

    return code


def _of_bytes(data: Sequence[int]) -> int:
    """``Arrays.hashCode`` of bytes, which have signs. Outside of rows an array has another hash code in each process."""
    result = 1
    for byte in data:
        result = (31 * result + (byte - 256 if byte > 127 else byte)) & _MASK
    return result


def _long(number: int) -> int:
    number &= 0xFFFFFFFFFFFFFFFF
    return (number ^ number >> 32) & _MASK


def _double(number: float) -> int:
    return _long(0x7FF8000000000000 if number != number else int.from_bytes(struct.pack(">d", number), "big"))


def _float(number: float) -> int:
    return 0x7FC00000 if number != number else int.from_bytes(struct.pack(">f", number), "big")


def _text(text: str) -> int:
    """``String.hashCode``: over its units of UTF-16."""
    data = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for unit in struct.unpack(f">{len(data) // 2}H", data):
        result = (31 * result + unit) & _MASK
    return result


def _big(number: int) -> int:
    """``BigInteger.hashCode``: over the words of what it is without its sign."""
    result, rest = 0, abs(number)
    for place in reversed(range(0, rest.bit_length(), 32)):
        result = 31 * result + (rest >> place & _MASK)
    return (-result if number < 0 else result) & _MASK


def _decimal(number: Decimal) -> int:
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)))
    return 31 * _big(-unscaled if sign else unscaled) - exponent


def _day(day: date) -> int:
    return (day.year & 0xFFFFF800) ^ ((day.year << 11) + (day.month << 6) + day.day)


def _date(moment: datetime) -> int:
    return _long(millis(moment))


def _instant(moment: Instant) -> int:
    return _long(moment.seconds) + 51 * moment.nanos


_HASHES: dict[str, Hash] = {
    "Byte": int,
    "Short": int,
    "Int": int,
    "Char": ord,
    "Long": _long,
    "Float": _float,
    "Double": _double,
    "Boolean": lambda value: _TRUE if value else _FALSE,
    "String": _text,
    "BigInt": _big,
    "BigDec": _decimal,
    "LocalDate": _day,
    "Date": _date,
    "Instant": _instant,
}
