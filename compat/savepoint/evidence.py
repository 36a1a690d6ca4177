"""Whether stored bytes can be of a declared type: what PyFlink's coders write of a value, without reading the value.

In process mode a savepoint has bytes and no types. But not every bytes are of every type: a ``Long`` is 8 bytes, a
``String`` begins with its length. What contradicts the declared type is certain; what does not may still be of another
type of the same form. Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Iterable

from compat.plan.shapes import Shape, of_type

_SIZES = {"Byte": 1, "Boolean": 1, "Short": 2, "Integer": 4, "Float": 4, "Long": 8, "BigInteger": 8, "Double": 8}
_WITH_LENGTH = frozenset({"String", "Character"})
_PICKLED = "PickledByteArrayTypeInfo"
_ROW_KIND_BITS = 2
_PICKLE_START, _PICKLE_END = 0x80, 0x2E


class _Contradiction(Exception):
    """The bytes are not of the type; the text says why."""


class _Untold(Exception):
    """A type whose bytes are not known here."""


def contradiction(declared: str | None, container: str, values: Iterable[bytes]) -> str | None:
    """Why one of ``values`` cannot be of the declared type; None if all can, or if that cannot be told.

    ``container`` is the kind of state (``value``, ``list``, ``map``, …): of a list and a map, a value is an element's.
    """
    shape = _element(declared, container)
    if shape is None or declared is None:
        return None
    pickled = _PICKLED in declared
    try:
        for value in values:
            end = _pass(shape, value, 0, pickled)
            # Elements that were added to a list together are written together.
            while container == "list" and 0 < end < len(value):
                end = _pass(shape, value, end, pickled)
            if end != len(value):
                raise _Contradiction(f"{len(value)} bytes, of which {shape} takes {end}")
    except _Contradiction as found:
        return str(found)
    except _Untold:
        return None
    return None


def _element(declared: str | None, container: str) -> Shape | None:
    shape = of_type(declared)
    if shape is None:
        return None
    wrapper = {"list": "List", "map": "Map"}.get(container)
    return shape.parts[-1] if wrapper is not None and shape.name == wrapper else shape


def _pass(shape: Shape, data: bytes, at: int, pickled: bool) -> int:
    """Where a value that begins at ``at`` ends."""
    if shape.name in _SIZES:
        size = _SIZES[shape.name]
        if len(data) - at < size:
            raise _Contradiction(f"{len(data) - at} bytes where {shape} has {size}")
        if shape.name == "Boolean" and data[at] > 1:
            raise _Contradiction(f"a byte {data[at]:#04x} where Boolean has 0 or 1")
        return at + size
    if shape.name in _WITH_LENGTH:
        text, end = _after_length(shape.name, data, at)
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            raise _Contradiction(f"bytes that are not UTF-8 where {shape} has text") from None
        return end
    if shape.name == "byte[]" and pickled:
        text, end = _after_length("a pickle", data, at)
        if not text or text[0] != _PICKLE_START or text[-1] != _PICKLE_END:
            raise _Contradiction("bytes that do not begin and end like a pickle")
        return end
    if shape.name == "Tuple":
        for part in shape.parts:
            at = _pass(part, data, at, pickled)
        return at
    if shape.name == "Row":
        return _pass_row(shape, data, at, pickled)
    raise _Untold(shape.name)


def _pass_row(shape: Shape, data: bytes, at: int, pickled: bool) -> int:
    """A mask of two bits for the kind of row and one for each field that is None, then the other fields."""
    length = (len(shape.parts) + _ROW_KIND_BITS + 7) // 8
    mask = data[at : at + length]
    if len(mask) < length:
        raise _Contradiction(f"{len(data) - at} bytes where {shape} begins with {length}")
    at += length
    for number, part in enumerate(shape.parts, start=_ROW_KIND_BITS):
        if not mask[number // 8] & (0x80 >> number % 8):
            at = _pass(part, data, at, pickled)
    return at


def _after_length(what: str, data: bytes, at: int) -> tuple[bytes, int]:
    length = int.from_bytes(data[at : at + 4], "big", signed=True)
    end = at + 4 + length
    if len(data) - at < 4 or length < 0 or end > len(data):
        raise _Contradiction(f"{len(data) - at} bytes that do not begin with the length of {what}")
    return data[at + 4 : end], end
