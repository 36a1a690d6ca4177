"""Whether stored bytes can be of a declared type: compares them with the format of PyFlink's coders, without decoding
values.

In process mode a savepoint has bytes and no types. But the bytes of a type have a format: a ``Long`` is 8 bytes, a
``String`` begins with its length. A contradiction to the declared type is certain. Other bytes may still be of another
type of the same format: 8 bytes are a ``Long``, a ``Double`` or a ``Timestamp``. Then values decide, if only one of these types
has such values in practice: 30 is not a time in milliseconds, and its bytes as a ``Double`` would be almost zero. A text is
never distinguished from bytes that look like one. In thread mode tuples and rows are pickled, too.
Nothing is unpickled.
"""

from __future__ import annotations

import math
import pickletools
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from compat.plan.shapes import Shape, of_type
from compat.state.types import ListTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation

_SIZES = {"Byte": 1, "Boolean": 1, "Short": 2, "Integer": 4, "Float": 4, "Long": 8, "BigInteger": 8, "Double": 8}
_WITH_LENGTH = frozenset({"String", "Character"})
_PICKLED = "PickledByteArrayTypeInfo"
_ROW_KIND_BITS = 2
_PICKLE_START, _PICKLE_END = 0x80, 0x2E
_ONLY_ONES_OF_THEIR_SIZE = frozenset({"Byte", "Boolean", "Short"})
"""Types of one byte: truth values and small numbers, which are equal in Python; types of two bytes are only numbers."""
_DAY = 86_400_000
_TIMES = range(10**11, 10**14)
"""Milliseconds from 1973 to 5138: a number of this size may be a time."""
_LARGEST_COUNT = 2**52
_REAL = 1e-9, 1e15
_MADE_BY = {TupleTypeInfo.kind: "a tuple", RowTypeInfo.kind: "a row"}
_ROW_MADE_BY = ["pyflink.common.types", "_create_row"]
_MEMO = frozenset({"MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"})
_FLOATS = {"Float": struct.Struct(">f"), "Double": struct.Struct(">d")}


class _Contradiction(Exception):
    """The bytes are not of the type; the text says why."""


class _Untold(Exception):
    """A type whose bytes are not known here."""


class Evidence(Struct, frozen=True):
    """The evidence of stored values about a declared type: why they cannot be of it, or that only it fits."""

    contradiction: str | None = None
    told: bool = False


@dataclass(slots=True)
class _Witness:
    """By place in the type, the parts of which a value was seen that no other type has, and those where one was that may be
    of another type. ``pickled`` is whether bytes are those of a pickle."""

    pickled: bool
    told: set[tuple[int, ...]] = field(default_factory=set)
    doubtful: set[tuple[int, ...]] = field(default_factory=set)

    def saw(self, place: tuple[int, ...], told: bool | None) -> None:
        """Note a value; None for one that says nothing."""
        if told is not None:
            (self.told if told else self.doubtful).add(place)


def judge(declared: str | None, container: str, values: Iterable[bytes]) -> Evidence:
    """The evidence of ``values`` about the declared type.

    ``container`` is the kind of state (``value``, ``list``, ``map``, …); in a list or a map, a value is that of an element. The
    keys of a map are not examined, so its type is never known for certain.
    """
    shape = _element(declared, container)
    if shape is None or declared is None:
        return Evidence()
    witness = _Witness(_PICKLED in declared)
    together = set[int]()
    try:
        for value in values:
            end = _pass(shape, value, 0, witness)
            # Elements that were added to a list together are written together.
            number = 1
            while container == "list" and 0 < end < len(value):
                end = _pass(shape, value, end, witness)
                number += 1
            together.add(number)
            if end != len(value):
                raise _Contradiction(f"{len(value)} bytes, of which {shape} takes {end}")
    except _Contradiction as found:
        return Evidence(contradiction=str(found))
    except _Untold:
        return Evidence()
    # As many in each as in all others may be the fields of one element.
    apart = len(together) != 1 or together == {1}
    told = container != "map" and apart and not witness.doubtful and witness.told >= set(_leaves(shape, ()))
    return Evidence(told=told)


def pickles_tell(declared: TypeInformation, pickles: Sequence[bytes]) -> bool:
    """Whether values that thread mode keeps pickled fit only this declared type.

    A declared tuple needs pickled tuples, a declared row pickled rows. PyFlink's thread mode keeps lists in no form that it can
    read back. A type that is pickled in all
    modes may have any values. Nothing is unpickled: only the last object that a pickle makes is examined.
    """
    if declared.kind in _MADE_BY:
        return bool(pickles) and all(_made_by(each) == _MADE_BY[declared.kind] for each in pickles)
    if isinstance(declared, MapTypeInfo):
        return not any(_is_pickled_in_thread_mode(part) for part in declared.children())
    return not isinstance(declared, ListTypeInfo)


def _is_pickled_in_thread_mode(type_info: TypeInformation) -> bool:
    return type_info.kind in (*_MADE_BY, ListTypeInfo.kind) or any(
        map(_is_pickled_in_thread_mode, type_info.children())
    )


def _made_by(pickle: bytes) -> str | None:
    """What makes the object of a pickle: a tuple, the function that makes PyFlink's rows, or None for anything else."""
    names: list[str] = []
    last = ""
    try:
        for opcode, argument, _ in pickletools.genops(pickle):
            if opcode.name == "STOP":
                break
            if opcode.name in _MEMO:
                continue
            last = opcode.name
            if isinstance(argument, str) and len(names) < len(_ROW_MADE_BY):
                names.append(argument)
    except ValueError:
        return None
    if last in ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_TUPLE"):
        return "a tuple"
    return "a row" if last == "REDUCE" and names == _ROW_MADE_BY else None


def classes_named(pickle: bytes) -> set[str]:
    """The classes and functions that a pickle refers to, as ``module:name``; none for bytes that are not a pickle."""
    if pickle[:1] != b"\x80":
        return set()
    found: set[str] = set()
    pushed: list[str | None] = []
    memo: dict[object, str | None] = {}
    try:
        for opcode, argument, _ in pickletools.genops(pickle):
            if opcode.name == "MEMOIZE":
                memo[len(memo)] = pushed[-1]
            elif opcode.name in ("BINPUT", "LONG_BINPUT"):
                memo[argument] = pushed[-1]
            elif opcode.name in ("BINGET", "LONG_BINGET"):
                pushed.append(memo.get(argument))
            elif opcode.name == "STACK_GLOBAL":
                found.add(f"{pushed[-2]}:{pushed[-1]}")
                pushed.append(None)
            elif opcode.name == "GLOBAL":
                found.add(str(argument).replace(" ", ":", 1))
                pushed.append(None)
            else:
                pushed.append(argument if isinstance(argument, str) else None)
    except (ValueError, IndexError):
        return set()
    return found


def _leaves(shape: Shape, place: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape.parts:
        yield place
    for number, part in enumerate(shape.parts):
        yield from _leaves(part, (*place, number))


def _element(declared: str | None, container: str) -> Shape | None:
    shape = of_type(declared)
    if shape is None:
        return None
    wrapper = {"list": "List", "map": "Map"}.get(container)
    return shape.parts[-1] if wrapper is not None and shape.name == wrapper else shape


def _pass(shape: Shape, data: bytes, at: int, witness: _Witness, place: tuple[int, ...] = ()) -> int:
    """Where a value that begins at ``at`` ends."""
    if shape.name in _SIZES:
        size = _SIZES[shape.name]
        if len(data) - at < size:
            raise _Contradiction(f"{len(data) - at} bytes where {shape} has {size}")
        if shape.name == "Boolean" and data[at] > 1:
            raise _Contradiction(f"a byte {data[at]:#04x} where Boolean has 0 or 1")
        witness.saw(place, _only_of(shape.name, data[at : at + size]))
        return at + size
    if shape.name in _WITH_LENGTH:
        text, end = _after_length(shape.name, data, at)
        if not _is_text(text):
            raise _Contradiction(f"bytes that are not UTF-8 where {shape} has text")
        witness.saw(place, False)
        return end
    if shape.name == "byte[]":
        content, end = _after_length("a pickle" if witness.pickled else "bytes", data, at)
        pickle = len(content) > 1 and content[0] == _PICKLE_START and content[-1] == _PICKLE_END
        if witness.pickled and not pickle:
            raise _Contradiction("bytes that do not begin and end like a pickle")
        witness.saw(place, witness.pickled or not (pickle or _is_text(content)))
        return end
    if shape.name == "List" and shape.parts:
        return _pass_list(shape.parts[0], data, at, witness, place)
    if shape.name == "Tuple":
        for number, part in enumerate(shape.parts):
            at = _pass(part, data, at, witness, (*place, number))
        return at
    if shape.name == "Row":
        return _pass_row(shape, data, at, witness, place)
    raise _Untold(shape.name)


def _pass_list(element: Shape, data: bytes, at: int, witness: _Witness, place: tuple[int, ...]) -> int:
    """The number of elements, and each behind a byte that says whether it is there."""
    number = int.from_bytes(data[at : at + 4], "big", signed=True)
    if len(data) - at < 4 or number < 0 or number > len(data) - at - 4:
        raise _Contradiction(f"{len(data) - at} bytes that do not begin with the number of elements of a list")
    at += 4
    for _ in range(number):
        if at >= len(data) or data[at] > 1:
            raise _Contradiction("bytes in which an element of a list is neither there nor None")
        at = _pass(element, data, at + 1, witness, (*place, 0)) if data[at] else at + 1
    return at


def _only_of(name: str, raw: bytes) -> bool | None:
    """Whether no other type of the same size has such a value in practice; None if the value says nothing."""
    if name in _ONLY_ONES_OF_THEIR_SIZE:
        return True
    number = int.from_bytes(raw, "big", signed=True)
    if number == 0:
        return None
    if name in _FLOATS:
        (real,) = _FLOATS[name].unpack(raw)
        return math.isfinite(real) and _REAL[0] < abs(real) < _REAL[1]
    if name == "Integer":  # dates and times are small numbers of days and of milliseconds
        return number < 0 or _DAY < number < 2**29
    return abs(number) < _LARGEST_COUNT and number not in _TIMES


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _pass_row(shape: Shape, data: bytes, at: int, witness: _Witness, place: tuple[int, ...]) -> int:
    """A mask of two bits for the kind of row and one for each field that is None, then the other fields."""
    length = (len(shape.parts) + _ROW_KIND_BITS + 7) // 8
    mask = data[at : at + length]
    if len(mask) < length:
        raise _Contradiction(f"{len(data) - at} bytes where {shape} begins with {length}")
    at += length
    for number, part in enumerate(shape.parts):
        bit = number + _ROW_KIND_BITS
        if not mask[bit // 8] & (0x80 >> bit % 8):
            at = _pass(part, data, at, witness, (*place, number))
    return at


def _after_length(what: str, data: bytes, at: int) -> tuple[bytes, int]:
    length = int.from_bytes(data[at : at + 4], "big", signed=True)
    end = at + 4 + length
    if len(data) - at < 4 or length < 0 or end > len(data):
        raise _Contradiction(f"{len(data) - at} bytes that do not begin with the length of {what}")
    return data[at + 4 : end], end
