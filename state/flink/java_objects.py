"""Objects in Java's serialization format, read by its grammar as plain values: no class is looked up or instantiated.

The grammar is that of the "Java Object Serialization Specification", chapter 6. A class that writes its own data without a
length cannot be read by others, but all objects in Flink's metadata can. Lists and maps of Java's library write their items in
this way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from msgspec import Struct

from compat.state.flink.binary import ByteReader

STREAM = bytes.fromhex("aced0005")
"""The beginning of each stream: the magic number and the only version."""


class _Code(IntEnum):
    """The codes that tell what comes next in a stream."""

    NULL = 0x70
    REFERENCE = 0x71
    CLASS_DESCRIPTION = 0x72
    OBJECT = 0x73
    STRING = 0x74
    ARRAY = 0x75
    CLASS = 0x76
    BLOCK = 0x77
    END_OF_BLOCKS = 0x78
    RESET = 0x79
    LONG_BLOCK = 0x7A
    LONG_STRING = 0x7C
    PROXY_DESCRIPTION = 0x7D
    ENUM = 0x7E


_FIRST_HANDLE = 0x7E0000
_WRITES_DATA, _SERIALIZABLE, _EXTERNALIZABLE, _IN_BLOCKS = 1, 2, 4, 8
_PRIMITIVES = {"B": 1, "C": 2, "D": 8, "F": 4, "I": 4, "J": 8, "S": 2, "Z": 1}
_DEEPEST = 64
"""The largest nesting of objects. Flink's own are less than ten deep, a row within a row takes three."""


class JavaClass(Struct, frozen=True):
    """The description of a class: its fields as (type, name), and the class that it extends."""

    name: str
    flags: int
    fields: tuple[tuple[str, str], ...]
    parent: JavaClass | None


@dataclass(slots=True, eq=False)
class JavaObject:
    """An object: the name of its class, its fields by name, and what its classes wrote beside them, blocks as bytes.

    Of two fields of one name in a class and in one that extends it, it has the latter's.
    """

    class_name: str
    fields: dict[str, JavaValue] = field(default_factory=dict, repr=False)
    data: list[JavaValue] = field(default_factory=list, repr=False)


class JavaEnum(Struct, frozen=True):
    """A constant of an enum."""

    class_name: str
    constant: str


@dataclass(slots=True, eq=False)
class JavaArray:
    """An array: its items, or for primitive ones their bytes."""

    class_name: str
    items: list[JavaValue] = field(default_factory=list, repr=False)


JavaValue = JavaObject | JavaEnum | JavaArray | JavaClass | str | bytes | None
"""The values that a field can hold; ``bytes`` are primitive values as they are written."""


def read_java_object(reader: ByteReader) -> JavaValue:
    """Read a stream's first object, and leave the reader after it.

    Raises `DamagedSavepoint` or `TruncatedSavepoint`.
    """
    if reader.raw(len(STREAM), "a Java object stream") != STREAM:
        reader.damaged("this is no Java object stream", f"{STREAM.hex()} expected before it")
    return _Stream(reader).value()


class _Stream:
    """One stream: what was read so far can be referred to by number, in the order of its beginning."""

    def __init__(self, reader: ByteReader) -> None:
        self._reader = reader
        self._known: list[JavaValue] = []
        self._depth = 0

    def value(self) -> JavaValue:
        """An object, a string, an array, an enum's constant, a class, or nothing."""
        return self._value_of(self._code())

    def _code(self) -> int:
        code = self._reader.byte()
        while code == _Code.RESET:
            self._known.clear()
            code = self._reader.byte()
        return code

    def _value_of(self, code: int) -> JavaValue:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._reader.damaged("Java objects inside of each other without end", f"more than {_DEEPEST} deep")
        value = self._read(code)
        self._depth -= 1
        return value

    def _read(self, code: int) -> JavaValue:
        match code:
            case _Code.NULL:
                return None
            case _Code.REFERENCE:
                return self._reference()
            case _Code.CLASS_DESCRIPTION | _Code.PROXY_DESCRIPTION:
                return self._description(code)
            case _Code.OBJECT:
                return self._object()
            case _Code.STRING | _Code.LONG_STRING:
                return self._string(code)
            case _Code.ARRAY:
                return self._array()
            case _Code.CLASS:
                described = self._class()
                self._known.append(described)
                return described
            case _Code.ENUM:
                return self._enum()
            case _:
                return self._reader.damaged(f"code {code:#04x} in a Java object stream", "no object begins with it")

    def _reference(self) -> JavaValue:
        number = self._reader.integer() - _FIRST_HANDLE
        if not 0 <= number < len(self._known):
            self._reader.damaged("a reference to a Java object that was not there", f"{len(self._known)} were read")
        return self._known[number]

    def _string(self, code: int) -> str:
        place = self._begin()
        if code == _Code.STRING:
            text = self._reader.utf()
        else:
            raw = self._reader.raw(self._reader.long(), "a string")
            text = raw.decode("utf-8", "replace")
        self._known[place] = text
        return text

    def _begin(self) -> int:
        """A number for something that is complete only later."""
        self._known.append(None)
        return len(self._known) - 1

    # Classes

    def _class(self) -> JavaClass | None:
        found = self.value()
        if found is not None and not isinstance(found, JavaClass):
            self._reader.damaged("something else in place of a Java class", type(found).__name__)
        return found

    def _described(self) -> JavaClass:
        found = self._class()
        if found is None:
            self._reader.damaged("a Java object without a class")
        return found

    def _description(self, code: int) -> JavaClass:
        if code == _Code.PROXY_DESCRIPTION:
            place = self._begin()
            names = [self._reader.utf() for _ in range(self._reader.count("interfaces", 2))]
            name, flags = ", ".join(names), _SERIALIZABLE
            fields: tuple[tuple[str, str], ...] = ()
        else:
            name = self._reader.utf()
            self._reader.raw(8, "the version of a Java class")
            place = self._begin()
            flags = self._reader.byte()
            fields = tuple(self._field() for _ in range(self._reader.short()))
        self._data([])
        described = JavaClass(name, flags, fields, self._class())
        self._known[place] = described
        return described

    def _field(self) -> tuple[str, str]:
        kind = chr(self._reader.byte())
        name = self._reader.utf()
        if kind in "L[":
            if not isinstance(self.value(), str):
                self._reader.damaged(f"field {name!r} of a Java class has no type")
        elif kind not in _PRIMITIVES:
            self._reader.damaged(f"field {name!r} of a Java class has type {kind!r}", "there is no such type")
        return kind, name

    # Objects

    def _object(self) -> JavaObject:
        described = self._described()
        made = JavaObject(described.name)
        self._known.append(made)
        lineage: list[JavaClass] = []
        ancestor: JavaClass | None = described
        while ancestor is not None:
            lineage.insert(0, ancestor)
            ancestor = ancestor.parent
        for part in lineage:
            self._part(part, made)
        return made

    def _part(self, part: JavaClass, made: JavaObject) -> None:
        """Read the data that one class of an object's lineage wrote."""
        if part.flags & _SERIALIZABLE:
            for kind, name in part.fields:
                made.fields[name] = self._field_value(kind)
            if part.flags & _WRITES_DATA:
                self._data(made.data)
        elif part.flags & _EXTERNALIZABLE:
            if not part.flags & _IN_BLOCKS:
                self._reader.damaged(f"a Java object of {part.name}", "nobody else can tell where its data end")
            self._data(made.data)

    def _field_value(self, kind: str) -> JavaValue:
        if kind in _PRIMITIVES:
            return self._reader.raw(_PRIMITIVES[kind], "a field of a Java object")
        return self.value()

    def _data(self, found: list[JavaValue]) -> None:
        """Read the data that a class writes by itself: blocks of bytes and objects, up to their end."""
        while (code := self._code()) != _Code.END_OF_BLOCKS:
            if code == _Code.BLOCK:
                found.append(self._reader.raw(self._reader.byte(), "a block of data"))
            elif code == _Code.LONG_BLOCK:
                found.append(self._reader.raw(self._reader.integer(), "a block of data"))
            else:
                found.append(self._value_of(code))

    def _array(self) -> JavaArray:
        described = self._described()
        made = JavaArray(described.name)
        self._known.append(made)
        kind = described.name[1:2]
        width = _PRIMITIVES.get(kind, 1)
        number = self._reader.count("items of a Java array", width)
        if kind in _PRIMITIVES:
            made.items.append(self._reader.raw(number * width, "a Java array"))
        elif kind in ("L", "["):
            made.items.extend(self.value() for _ in range(number))
        else:
            self._reader.damaged(f"a Java array of class {described.name!r}", "no array has that class")
        return made

    def _enum(self) -> JavaEnum:
        described = self._described()
        place = self._begin()
        constant = self.value()
        if not isinstance(constant, str):
            self._reader.damaged(f"a constant of the Java enum {described.name} without a name")
        made = JavaEnum(described.name, constant)
        self._known[place] = made
        return made
