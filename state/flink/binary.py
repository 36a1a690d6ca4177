"""Reading Java's `DataOutputStream` bytes: big endian, strings as modified UTF-8 behind a two-byte length.

Every length is compared with the remaining bytes before memory is allocated, so a file with a wrong length costs no more memory
than it has bytes.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import NamedTuple, NoReturn

from compat.state.flink.errors import DamagedSavepoint, TruncatedSavepoint

_SHORT = struct.Struct(">H")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")


class Part(Enum):
    """A part of the metadata, or of a header of states, that can be rewritten without reading its surroundings."""

    OPERATORS = "operators, behind their count"
    OPERATOR = "operator"
    OPERATOR_ID = "operator id"
    OPERATOR_UID = "operator uid"
    COORDINATOR = "coordinator state"
    SUBTASKS = "subtasks, behind their count"
    SUBTASK = "subtask"
    OPERATOR_STATE = "managed operator state"
    KEYED_STATE = "managed keyed state"
    FILE = "file handle"
    MERGED_FILE = "file merging"
    KEY_SERIALIZER = "key serializer"
    STATE = "state"
    STATE_NAME = "state name"
    OPTION = "value of an option of a state"
    SERIALIZER = "serializer of a state"
    NESTED = "serializer within another one"
    FRAME = "bytes behind their length"
    CLASS_NAME = "class name"
    SUBCLASS_NAME = "name of a class that values are marked with"
    FIELD_NAME = "field name"


class Place(NamedTuple):
    """Where in the bytes a part stands. ``owner`` is the class that a field is one of, what a serializer is of, or the name of
    an option."""

    part: Part
    begin: int
    end: int
    owner: str = ""


class ByteReader:
    """A position in some bytes, and the origin of those bytes.

    Only the bytes from `start` to `end` may be read. `origin` is the place of `data[0]` in the file `path`, so that errors can
    name bytes of the file. If there is a list `places`, the readers write the places of parts into it.
    """

    __slots__ = ("data", "end", "origin", "path", "places", "position")

    def __init__(
        self,
        data: bytes,
        path: str,
        *,
        origin: int = 0,
        start: int = 0,
        end: int | None = None,
        places: list[Place] | None = None,
    ) -> None:
        self.data = data
        self.places = places
        self.path = path
        self.origin = origin
        self.position = start
        self.end = len(data) if end is None else end

    @property
    def offset(self) -> int:
        """The present position as a byte offset in the file."""
        return self.origin + self.position

    @property
    def remaining(self) -> int:
        """The number of bytes that are left."""
        return self.end - self.position

    def byte(self) -> int:
        """One unsigned byte."""
        at = self._advance(1)
        return self.data[at]

    def short(self) -> int:
        """Two bytes, unsigned: Flink uses them for counts that are never negative."""
        at = self._advance(2)
        value: int = _SHORT.unpack_from(self.data, at)[0]
        return value

    def integer(self) -> int:
        """Four bytes, signed."""
        at = self._advance(4)
        value: int = _INT.unpack_from(self.data, at)[0]
        return value

    def long(self) -> int:
        """Eight bytes, signed."""
        at = self._advance(8)
        value: int = _LONG.unpack_from(self.data, at)[0]
        return value

    def boolean(self) -> bool:
        """One byte, false only if it is zero."""
        return self.byte() != 0

    def raw(self, length: int, what: str) -> bytes:
        """The next `length` bytes."""
        if length < 0:
            self.damaged(f"{what} of {length} bytes", "a length cannot be negative")
        at = self._advance(length)
        return self.data[at : at + length]

    def sized(self, what: str) -> bytes:
        """Bytes behind their own four-byte length."""
        return self.raw(self.integer(), what)

    def sevens(self) -> int:
        """A number in groups of seven bits, the lowest first; a byte of 128 or more means that another one follows."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        return self.damaged("a number of more than five groups of seven bits")

    def text(self) -> str | None:
        """A string as `StringValue.writeString` writes it: its length and one, and its UTF-16 units, in sevens."""
        length = self.sevens() - 1
        if length < 0:
            return None
        self.require(length, "a string")
        plain = self.data[self.position : self.position + length]
        if plain.isascii():
            self.position += length
            return plain.decode("ascii")
        units = struct.pack(f">{length}H", *(self.sevens() & 0xFFFF for _ in range(length)))
        return units.decode("utf-16-be", "surrogatepass")

    def utf(self) -> str:
        """A string as `DataOutput.writeUTF` writes it."""
        started = self.offset
        length = self.short()
        raw = self.raw(length, "a string")
        if raw.isascii() and 0 not in raw:
            return raw.decode("ascii")
        try:
            return decode_modified_utf8(raw)
        except UnicodeError:
            raise DamagedSavepoint("a string is not modified UTF-8", path=self.path, offset=started) from None

    def count(self, what: str, smallest: int) -> int:
        """A number of things of which each takes at least `smallest` bytes."""
        started = self.offset
        number = self.integer()
        if number < 0:
            raise DamagedSavepoint(f"{number} {what}", path=self.path, offset=started, why="a count cannot be negative")
        self.require(number * smallest, f"{number} {what}")
        return number

    def longs(self, number: int, what: str) -> tuple[int, ...]:
        """`number` longs."""
        if number < 0:
            self.damaged(f"{number} {what}", "a count cannot be negative")
        self.require(number * 8, f"{number} {what}")
        at = self._advance(number * 8)
        return struct.unpack_from(f">{number}q", self.data, at)

    def window(self, length: int, what: str) -> ByteReader:
        """A reader of the next `length` bytes alone; this one continues behind them."""
        if length < 0:
            self.damaged(f"{what} of {length} bytes", "a length cannot be negative")
        at = self._advance(length)
        return ByteReader(self.data, self.path, origin=self.origin, start=at, end=at + length, places=self.places)

    def note(self, part: Part, begin: int, owner: str = "") -> None:
        """Note the place of a part, from `begin` to here, if places are wanted."""
        if self.places is not None:
            self.places.append(Place(part, begin, self.position, owner))

    def require(self, length: int, what: str) -> None:
        """Raise `TruncatedSavepoint` unless `length` more bytes are there."""
        if length > self.end - self.position:
            raise TruncatedSavepoint(
                f"the bytes end in the middle of {what}",
                path=self.path,
                offset=self.offset,
                why=f"{length} bytes needed, {self.remaining} left",
            )

    def damaged(self, what: str, why: str = "") -> NoReturn:
        """Raise `DamagedSavepoint` at the present position."""
        raise DamagedSavepoint(what, path=self.path, offset=self.offset, why=why)

    def _advance(self, length: int) -> int:
        at = self.position
        if length > self.end - at:
            self.require(length, "a value")
        self.position = at + length
        return at


def decode_modified_utf8(raw: bytes) -> str:
    """Decode Java's modified UTF-8: NUL as C0 80, characters beyond U+FFFF as two surrogates of three bytes
    each.

    Raises `UnicodeError`. The rule comes from `java.io.DataInput.readUTF`.
    """
    text = raw.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    if any("\ud800" <= char <= "\udfff" for char in text):
        # Pairs become one character; a surrogate that stands alone is legal in Java but in no output
        # encoding.
        text = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    return text
