"""Rows of SQL in their own bytes, field by field, as Flink stores them for queries (`BinaryRowData`).

A row is its length, a byte for the kind of change, a bit for each null, eight bytes for each field, and after them the values
that need more than eight bytes. A field that stays keeps its bytes, whatever its new place.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from decimal import Context, Decimal
from enum import Enum
from typing import Literal

from compat.state.flink.binary import ByteReader

_SLOT = 8
_KIND_BITS = 8
_IN_SLOT = 0x80
"""The mark of bytes that stand in their slot, with their number."""
_MOST_IN_SLOT = 7
_WIDE_DECIMAL = 16
_MOST_DIGITS_IN_SLOT = 18
_EXACT = Context(prec=100)
_PRECISION = re.compile(r"\((\d+)")


class Slot(Enum):
    """The use of a field's eight bytes."""

    VALUE = "for the value"
    BYTES = "for bytes elsewhere, or up to seven of them"
    ELSEWHERE = "for a value elsewhere"
    DECIMAL = "for a decimal of more than 18 digits, which has room elsewhere even if it is null"
    TIMESTAMP = "for nanoseconds, and the place of milliseconds, which have room elsewhere even if it is null"


def slot_of(type: str) -> Slot:
    """The slot layout of fields of an SQL type, by its text, such as ``DECIMAL(38, 2) NOT NULL``."""
    name = type.split("(")[0].split(" ")[0]
    found = _PRECISION.search(type)
    if name in ("CHAR", "VARCHAR", "STRING", "BINARY", "VARBINARY", "BYTES"):
        return Slot.BYTES
    if name == "DECIMAL":
        return Slot.DECIMAL if found is None or int(found[1]) > _MOST_DIGITS_IN_SLOT else Slot.VALUE
    if name.startswith("TIMESTAMP"):
        return Slot.TIMESTAMP if found is None or int(found[1]) > 3 else Slot.VALUE
    return Slot.VALUE if name in _IN_SLOTS or name.startswith("INTERVAL") else Slot.ELSEWHERE


_IN_SLOTS = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME")


def read_row(reader: ByteReader, slots: Sequence[Slot]) -> tuple[int, list[bytes | None]]:
    """The kind of change, and the fields in bytes; None for a null. Raises a `SavepointError` for damaged bytes."""
    data = reader.sized("a row")
    begin = _begin_of_slots(len(slots))
    if len(data) < begin + _SLOT * len(slots):
        reader.damaged(f"a row of {len(data)} bytes", f"{len(slots)} fields need more")
    found: list[bytes | None] = []
    for place, slot in enumerate(slots):
        bit = place + _KIND_BITS
        null = data[bit // 8] >> bit % 8 & 1
        at = begin + _SLOT * place
        found.append(None if null else _field(reader, data, data[at : at + _SLOT], slot))
    return data[0], found


def _field(reader: ByteReader, data: bytes, stored: bytes, slot: Slot) -> bytes:
    if slot is Slot.VALUE:
        return stored
    if slot is Slot.BYTES and stored[-1] & _IN_SLOT:
        return stored[: stored[-1] & ~_IN_SLOT]
    low, offset = struct.unpack("<iI", stored)
    size = _SLOT if slot is Slot.TIMESTAMP else low
    if size < 0 or offset + size > len(data):
        reader.damaged(f"a field of {size} bytes at {offset}", f"its row has {len(data)}")
    value = data[offset : offset + size]
    return value + stored[:4] if slot is Slot.TIMESTAMP else value


def write_row(kind: int, fields: Sequence[bytes | None], slots: Sequence[Slot]) -> bytes:
    """A row of fields as `read_row` gives them, as `BinaryRowWriter` writes it."""
    begin = _begin_of_slots(len(slots))
    behind = begin + _SLOT * len(slots)
    head, stored, parts = bytearray(begin), [], []
    head[0] = kind
    for place, (field, slot) in enumerate(zip(fields, slots, strict=True)):
        if field is None:
            bit = place + _KIND_BITS
            head[bit // 8] |= 1 << bit % 8
        own, part = _slot(field, slot, behind)
        stored.append(own)
        parts.append(part)
        behind += len(part)
    data = b"".join((head, *stored, *parts))
    return struct.pack(">i", len(data)) + data


def _slot(field: bytes | None, slot: Slot, behind: int) -> tuple[bytes, bytes]:
    """The eight bytes of a field, and the bytes after all fields."""
    if slot is Slot.DECIMAL:
        value = field or b""
        return struct.pack("<iI", len(value), behind), value.ljust(_WIDE_DECIMAL, b"\0")
    if slot is Slot.TIMESTAMP:
        millis, nanos = (bytes(_SLOT), bytes(4)) if field is None else (field[:_SLOT], field[_SLOT:])
        return nanos + struct.pack("<I", behind), millis
    if field is None:
        return bytes(_SLOT), b""
    if slot is Slot.VALUE:
        return field, b""
    if slot is Slot.BYTES and len(field) <= _MOST_IN_SLOT:
        return field.ljust(_MOST_IN_SLOT, b"\0") + bytes([_IN_SLOT | len(field)]), b""
    return struct.pack("<iI", len(field), behind), field.ljust(-(-len(field) // _SLOT) * _SLOT, b"\0")


def _begin_of_slots(fields: int) -> int:
    """Where the first field is: behind the kind and the nulls, in whole words (`BinaryRowData.calculateBitSetWidthInBytes`)."""
    return (fields + 63 + _KIND_BITS) // 64 * _SLOT


# ---- single values of fields ----


def read_number(bits: int, reader: ByteReader) -> int:
    """A whole number of that width in its slot; the bytes above it are zero, whatever its sign."""
    return int.from_bytes(reader.raw(_SLOT, "a field")[: bits // 8], "little", signed=True)


def number_in_slot(number: bytes, bits: int) -> bytes:
    """The slot of a whole number of that width, which is given as eight bytes, highest first."""
    return in_slot(number[::-1][: bits // 8])


def in_slot(value: bytes) -> bytes:
    """The slot of a value of fewer bytes."""
    return value.ljust(_SLOT, b"\0")


def read_decimal(precision: int, scale: int, reader: ByteReader) -> Decimal:
    """A decimal: a whole number in its slot, or one of more digits in bytes, highest first."""
    order: Literal["little", "big"] = "little" if precision <= _MOST_DIGITS_IN_SLOT else "big"
    unscaled = int.from_bytes(reader.raw(reader.remaining, "a decimal"), order, signed=True)
    return Decimal(unscaled).scaleb(-scale, _EXACT)


def decimal_bytes(value: Decimal, precision: int, scale: int) -> bytes | None:
    """The bytes of a decimal in a row (`DecimalData`); None if it does not fit without rounding."""
    unscaled = value.scaleb(scale, _EXACT)
    if unscaled != unscaled.to_integral_value(context=_EXACT) or unscaled.copy_abs() >= 10**precision:
        return None
    number = int(unscaled)
    if precision <= _MOST_DIGITS_IN_SLOT:
        return number.to_bytes(_SLOT, "little", signed=True)
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
