"""Class files as Java's compilers write them, in symbolic form: names in place of numbers of constants, jumps by
instruction, no lines and no names of locals.

The format is that of the Java Virtual Machine Specification, chapters 4 and 6.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

STATIC, PRIVATE, BRIDGE, ABSTRACT, SYNTHETIC, ENUM = 0x0008, 0x0002, 0x0040, 0x0400, 0x1000, 0x4000
_ARGUMENT = re.compile(r"\[*(?:L[^;]+;|[A-Z])")
_IN_DESCRIPTOR = re.compile(r"L([\w$/]+);")
_MAGIC = 0xCAFEBABE
_ARRAY_TYPES = {4: "boolean", 5: "char", 6: "float", 7: "double", 8: "byte", 9: "short", 10: "int", 11: "long"}


class ClassFileError(Exception):
    """Bytes that are not a class file, or have an unknown format."""


class Plain(NamedTuple):
    """An instruction that consists only of its number."""

    opcode: int


class Constant(NamedTuple):
    """Pushing a constant: its type as descriptors spell it, and its value."""

    type: str
    value: object


class Local(NamedTuple):
    """Reading, writing or counting up a local: ``opcode`` is that of the long form, ``slot`` its number."""

    opcode: int
    slot: int
    amount: int = 0


class Jump(NamedTuple):
    """A jump to an instruction, by its place."""

    opcode: int
    target: int


class Switch(NamedTuple):
    """A table of jumps: the values, their targets, and the target of all others."""

    cases: tuple[tuple[int, int], ...]
    default: int


class Member(NamedTuple):
    """A field or method by its owner, name and descriptor."""

    owner: str
    name: str
    descriptor: str


class FieldUse(NamedTuple):
    """Reading or writing a field."""

    opcode: int
    field: Member


class Call(NamedTuple):
    """Calling a method."""

    opcode: int
    method: Member


class Handle(NamedTuple):
    """A reference to a member as a constant; ``kind`` is that of the specification."""

    kind: int
    member: Member


class Type(NamedTuple):
    """A class or the type of a method as a constant, or in an instruction that creates, casts or tests."""

    opcode: int
    name: str


class Dynamic(NamedTuple):
    """A call site or constant created by a bootstrap method."""

    name: str
    descriptor: str
    bootstrap: Handle
    arguments: tuple[object, ...]


Instruction = Plain | Constant | Local | Jump | Switch | FieldUse | Call | Type | Dynamic


class Handler(NamedTuple):
    """An exception handler: its range of instructions, its target, and its class (None: all)."""

    start: int
    end: int
    target: int
    type: str | None


class Code(NamedTuple):
    """The code of a method."""

    instructions: tuple[Instruction, ...]
    handlers: tuple[Handler, ...]


class Field(NamedTuple):
    """A declared field."""

    name: str
    descriptor: str
    access: int


class Method:
    """A declared method; its code is read on demand."""

    def __init__(self, owner: ClassFile, name: str, descriptor: str, access: int, code: bytes | None) -> None:
        self.owner = owner
        self.name = name
        self.descriptor = descriptor
        self.access = access
        self._code = code

    @cached_property
    def constants(self) -> frozenset[int]:
        """The constants of the pool that the code uses; none for code in an unknown format."""
        try:
            return frozenset() if self._code is None else frozenset(_constants_of(self._code))
        except (struct.error, IndexError):
            return frozenset()

    @property
    def member(self) -> Member:
        """The method in the form in which calls name it."""
        return Member(self.owner.name, self.name, self.descriptor)

    @cached_property
    def code(self) -> Code | None:
        """The code; None for an abstract or native method.

        Code in an unknown format becomes one constant, a digest of its bytes.
        """
        if self._code is None:
            return None
        try:
            return _code(self._code, self.owner)
        except ClassFileError:
            return Code((Constant("bytes", hashlib.sha256(self._code).hexdigest()),), ())


class ClassFile:
    """A class by its file. Names have slashes, as in the file. Raises ClassFileError."""

    def __init__(self, data: bytes) -> None:
        try:
            self._read(data)
        except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
            raise ClassFileError(f"not a class file: {error}") from error

    def _read(self, data: bytes) -> None:
        if struct.unpack_from(">I", data)[0] != _MAGIC:
            raise ClassFileError("not a class file: it does not begin with CAFEBABE")
        self._data = data
        at = self._read_pool(8)
        self.access, this, parent, count = struct.unpack_from(">HHHH", data, at)
        self.name = self.class_at(this)
        self.parent = self.class_at(parent) if parent else None
        self.interfaces = tuple(self.class_at(one) for one in struct.unpack_from(f">{count}H", data, at + 8))
        at += 8 + 2 * count
        fields, at = self._members(at)
        self.fields = tuple(Field(*field) for field, _ in fields)
        methods, at = self._members(at)
        self.methods = tuple(Method(self, *method, code) for method, code in methods)
        self._class_attributes, _ = self._attributes(at)

    def _members(self, at: int) -> tuple[list[tuple[tuple[str, str, int], bytes | None]], int]:
        """Fields or methods, each with its code if it has one, and where they end."""
        (count,) = struct.unpack_from(">H", self._data, at)
        at += 2
        found = []
        for _ in range(count):
            access, name, descriptor = struct.unpack_from(">HHH", self._data, at)
            attributes, at = self._attributes(at + 6)
            found.append(((self.text_at(name), self.text_at(descriptor), access), attributes.get("Code")))
        return found, at

    def _read_pool(self, at: int) -> int:
        data = self._data
        (count,) = struct.unpack_from(">H", data, at)
        at += 2
        self._pool: list[tuple[int, int]] = [(0, 0)] * count
        number = 1
        while number < count:
            tag = data[at]
            self._pool[number] = (tag, at + 1)
            if tag == 1:
                at += 3 + struct.unpack_from(">H", data, at + 1)[0]
            elif tag in (7, 8, 16, 19, 20):
                at += 3
            elif tag == 15:
                at += 4
            elif tag in (5, 6):
                at += 9
                number += 1
            elif tag in (3, 4, 9, 10, 11, 12, 17, 18):
                at += 5
            else:
                raise ClassFileError(f"the constant {number} is of the unknown kind {tag}")
            number += 1
        return at

    def _attributes(self, at: int) -> tuple[dict[str, bytes], int]:
        (count,) = struct.unpack_from(">H", self._data, at)
        at += 2
        found = {}
        for _ in range(count):
            name, size = struct.unpack_from(">HI", self._data, at)
            found[self.text_at(name)] = self._data[at + 6 : at + 6 + size]
            at += 6 + size
        return found, at

    @cached_property
    def digest(self) -> bytes:
        """A digest of the file."""
        return hashlib.sha256(self._data).digest()

    @cached_property
    def named(self) -> frozenset[str]:
        """The classes that the file needs: superclasses, those in its code, in types and in annotations.

        Classes that are merely nested do not need one another.
        """
        found = {one for one in (self.parent, *self.interfaces) if one is not None}
        for number, (tag, at) in enumerate(self._pool):
            if tag == 1 and self._data.find(b";", at + 2, at + 2 + _u2(self._data, at)) > 0:
                found.update(_IN_DESCRIPTOR.findall(self.text_at(number)))
        for number in set().union(*(method.constants for method in self.methods)):
            found.update(self._classes_at(number))
        return frozenset(found)

    def _classes_at(self, number: int) -> Iterator[str]:
        """The classes that a constant of the pool names by itself."""
        tag, _ = self._pool[number]
        if tag == 7:
            yield self.class_at(number)
        elif tag in (9, 10, 11):
            yield self.class_at(self._numbers(number, ">H")[0])
        elif tag == 15:
            yield from self._classes_at(self._numbers(number, ">BH")[1])
        elif tag in (17, 18):
            handle, arguments = self._bootstraps[self._numbers(number, ">H")[0]]
            yield handle.member.owner
            for one in arguments:
                yield from self._classes_at(one)

    @cached_property
    def called(self) -> frozenset[str]:
        """The names of all members in the file, its own and others'."""
        return frozenset(
            self.text_at(self._numbers(number, ">HH")[0]) for number, (tag, _) in enumerate(self._pool) if tag == 12
        )

    @cached_property
    def members(self) -> frozenset[Member]:
        """The fields and methods, its own and others', that the file uses."""
        return frozenset(self.member_at(number) for number, (tag, _) in enumerate(self._pool) if tag in (9, 10, 11))

    def text_at(self, number: int) -> str:
        """A text of the pool of constants."""
        _, at = self._pool[number]
        (size,) = struct.unpack_from(">H", self._data, at)
        return _text(self._data[at + 2 : at + 2 + size])

    def _numbers(self, number: int, form: str) -> tuple[int, ...]:
        return struct.unpack_from(form, self._data, self._pool[number][1])

    def class_at(self, number: int) -> str:
        """The name of a class of the pool."""
        return self.text_at(self._numbers(number, ">H")[0])

    def member_at(self, number: int) -> Member:
        """A field or method of the pool."""
        owner, name_and_type = self._numbers(number, ">HH")
        name, descriptor = self._numbers(name_and_type, ">HH")
        return Member(self.class_at(owner), self.text_at(name), self.text_at(descriptor))

    def constant_at(self, number: int) -> Constant | Handle | Type | Dynamic:
        """A constant of the pool, as an instruction that pushes it or as an argument of a bootstrap method."""
        tag, at = self._pool[number]
        if tag == 3:
            return Constant("I", struct.unpack_from(">i", self._data, at)[0])
        if tag == 4:
            return Constant("F", self._data[at : at + 4].hex())
        if tag == 5:
            return Constant("J", struct.unpack_from(">q", self._data, at)[0])
        if tag == 6:
            return Constant("D", self._data[at : at + 8].hex())
        if tag == 8:
            return Constant("String", self.text_at(self._numbers(number, ">H")[0]))
        if tag == 7:
            return Type(0, self.class_at(number))
        if tag == 16:
            return Type(0, self.text_at(self._numbers(number, ">H")[0]))
        if tag == 15:
            kind, member = self._numbers(number, ">BH")
            return Handle(kind, self.member_at(member))
        if tag in (17, 18):
            return self.dynamic_at(number)
        raise ClassFileError(f"the constant {number} of the kind {tag} cannot be pushed")

    def dynamic_at(self, number: int) -> Dynamic:
        """A call site or constant of the pool that a bootstrap method creates."""
        bootstrap, name_and_type = self._numbers(number, ">HH")
        name, descriptor = self._numbers(name_and_type, ">HH")
        handle, arguments = self._bootstraps[bootstrap]
        return Dynamic(
            self.text_at(name), self.text_at(descriptor), handle, tuple(self.constant_at(one) for one in arguments)
        )

    @cached_property
    def _bootstraps(self) -> list[tuple[Handle, tuple[int, ...]]]:
        data = self._class_attributes.get("BootstrapMethods", b"\0\0")
        found = []
        at = 2
        for _ in range(struct.unpack_from(">H", data)[0]):
            handle, count = struct.unpack_from(">HH", data, at)
            arguments = struct.unpack_from(f">{count}H", data, at + 4)
            made = self.constant_at(handle)
            assert isinstance(made, Handle)
            found.append((made, arguments))
            at += 4 + 2 * count
        return found

    @cached_property
    def record_components(self) -> tuple[tuple[str, str], ...] | None:
        """The components of a record by name and descriptor, in their order; None if the class is no record."""
        data = self._class_attributes.get("Record")
        if data is None:
            return None
        found = []
        at = 2
        for _ in range(struct.unpack_from(">H", data)[0]):
            name, descriptor, attributes = struct.unpack_from(">HHH", data, at)
            found.append((self.text_at(name), self.text_at(descriptor)))
            at += 6
            for _ in range(attributes):
                at += 6 + struct.unpack_from(">I", data, at + 2)[0]
        return tuple(found)

    @cached_property
    def by_signature(self) -> dict[tuple[str, str], Method]:
        """The methods by name and descriptor."""
        return {(method.name, method.descriptor): method for method in self.methods}


def _constants_of(data: bytes) -> Iterator[int]:
    """The constants of the pool that the instructions and handlers of a method use, by number."""
    (size,) = struct.unpack_from(">I", data, 4)
    code, at = data[8 : 8 + size], 0
    while at < size:
        op = code[at]
        if op == 0x12:
            yield code[at + 1]
        elif op in _WITH_CONSTANT:
            yield _u2(code, at + 1)
        at += _SIZES[op] or (_switch(code, at)[1] if op in (0xAA, 0xAB) else 6 if code[at + 1] == 0x84 else 4)
    (count,) = struct.unpack_from(">H", data, 8 + size)
    for number in range(count):
        if kind := _u2(data, 16 + size + 8 * number):
            yield kind


def arguments(descriptor: str) -> list[str]:
    """The types of a method's arguments, as descriptors spell them."""
    return _ARGUMENT.findall(descriptor.partition(")")[0][1:])


def _text(data: bytes) -> str:
    """Text in Java's own form of UTF-8, which writes 0 and what is beyond 16 bits in other ways."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        halves = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _code(data: bytes, owner: ClassFile) -> Code:
    try:
        (size,) = struct.unpack_from(">I", data, 4)
        places: dict[int, int] = {}
        raw: list[Instruction] = []
        for at, instruction in _instructions(data[8 : 8 + size], owner):
            places[at] = len(raw)
            raw.append(instruction)
        places[size] = len(raw)
        (count,) = struct.unpack_from(">H", data, 8 + size)
        handlers = []
        for number in range(count):
            start, end, target, kind = struct.unpack_from(">HHHH", data, 10 + size + 8 * number)
            name = owner.class_at(kind) if kind else None
            handlers.append(Handler(places[start], places[end], places[target], name))
        return Code(tuple(_placed(one, places) for one in raw), tuple(handlers))
    except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
        raise ClassFileError(f"the code of a method of {owner.name} cannot be read: {error}") from error


def _placed(one: Instruction, places: dict[int, int]) -> Instruction:
    if isinstance(one, Jump):
        return Jump(one.opcode, places[one.target])
    if isinstance(one, Switch):
        return Switch(tuple((value, places[target]) for value, target in one.cases), places[one.default])
    return one


_WITH_CONSTANT = frozenset((0x13, 0x14, *range(0xB2, 0xBC), 0xBD, 0xC0, 0xC1, 0xC5))
"""The instructions followed by two bytes with the number of a constant."""


def _sizes() -> tuple[int, ...]:
    """The bytes of each instruction; 0 for a switch and ``wide``, which tell by what follows, or that is unknown."""
    sizes = [1] * 0xCA + [0] * (0x100 - 0xCA)
    for op in (0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC):
        sizes[op] = 2
    for op in (0x11, 0x84, *range(0x99, 0xA9), 0xC6, 0xC7, *_WITH_CONSTANT):
        sizes[op] = 3
    for op, size in ((0xB9, 5), (0xBA, 5), (0xC5, 4), (0xC8, 5), (0xC9, 5), (0xAA, 0), (0xAB, 0), (0xC4, 0)):
        sizes[op] = size
    return tuple(sizes)


_SIZES = _sizes()


def _instructions(code: bytes, owner: ClassFile) -> Iterator[tuple[int, Instruction]]:
    """The instructions of a method, each with where it begins; jumps are still to bytes."""
    at = 0
    while at < len(code):
        instruction, size = _instruction(code, at, owner)
        yield at, instruction
        at += size


def _instruction(code: bytes, at: int, owner: ClassFile) -> tuple[Instruction, int]:
    """The instruction at a place, in the long form of all those that have a short one, and how many bytes it has."""
    op = code[at]
    if op == 0x01:
        return Constant("null", None), 1
    if 0x02 <= op <= 0x08:
        return Constant("I", op - 0x03), 1
    if op in (0x09, 0x0A):
        return Constant("J", op - 0x09), 1
    if 0x0B <= op <= 0x0D:
        return Constant("F", struct.pack(">f", op - 0x0B).hex()), 1
    if op in (0x0E, 0x0F):
        return Constant("D", struct.pack(">d", op - 0x0E).hex()), 1
    if op == 0x10:
        return Constant("I", struct.unpack_from(">b", code, at + 1)[0]), 2
    if op == 0x11:
        return Constant("I", struct.unpack_from(">h", code, at + 1)[0]), 3
    if op == 0x12:
        return _pushed(owner.constant_at(code[at + 1])), 2
    if op in (0x13, 0x14):
        return _pushed(owner.constant_at(_u2(code, at + 1))), 3
    if 0x15 <= op <= 0x19 or 0x36 <= op <= 0x3A or op == 0xA9:
        return Local(op, code[at + 1]), 2
    if 0x1A <= op <= 0x2D:
        return Local(0x15 + (op - 0x1A) // 4, (op - 0x1A) % 4), 1
    if 0x3B <= op <= 0x4E:
        return Local(0x36 + (op - 0x3B) // 4, (op - 0x3B) % 4), 1
    if op == 0x84:
        return Local(op, code[at + 1], struct.unpack_from(">b", code, at + 2)[0]), 3
    if 0x99 <= op <= 0xA8 or op in (0xC6, 0xC7):
        return Jump(op, at + struct.unpack_from(">h", code, at + 1)[0]), 3
    if op in (0xC8, 0xC9):
        return Jump(op - 0x21, at + struct.unpack_from(">i", code, at + 1)[0]), 5
    if op in (0xAA, 0xAB):
        return _switch(code, at)
    if 0xB2 <= op <= 0xB5:
        return FieldUse(op, owner.member_at(_u2(code, at + 1))), 3
    if 0xB6 <= op <= 0xB9:
        return Call(op, owner.member_at(_u2(code, at + 1))), 5 if op == 0xB9 else 3
    if op == 0xBA:
        return owner.dynamic_at(_u2(code, at + 1)), 5
    if op in (0xBB, 0xBD, 0xC0, 0xC1):
        return Type(op, owner.class_at(_u2(code, at + 1))), 3
    if op == 0xBC:
        return Type(op, _ARRAY_TYPES[code[at + 1]]), 2
    if op == 0xC5:
        return Type(op, f"{code[at + 3]} of {owner.class_at(_u2(code, at + 1))}"), 4
    if op == 0xC4:
        wide, slot = code[at + 1], _u2(code, at + 2)
        if wide == 0x84:
            return Local(wide, slot, struct.unpack_from(">h", code, at + 4)[0]), 6
        return Local(wide, slot), 4
    if op > 0xC9:
        raise ClassFileError(f"{owner.name} has the unknown instruction {op:#x}")
    return Plain(op), 1


def _pushed(constant: Constant | Handle | Type | Dynamic) -> Instruction:
    if isinstance(constant, Handle):
        return Dynamic("", "", constant, ())
    return constant


def _u2(code: bytes, at: int) -> int:
    return code[at] << 8 | code[at + 1]


def _switch(code: bytes, at: int) -> tuple[Switch, int]:
    start = at + 4 - at % 4
    default, first = struct.unpack_from(">ii", code, start)
    if code[at] == 0xAA:
        (last,) = struct.unpack_from(">i", code, start + 8)
        offsets = struct.unpack_from(f">{last - first + 1}i", code, start + 12)
        cases = tuple((first + place, at + offset) for place, offset in enumerate(offsets))
        cases = tuple(one for one in cases if one[1] != at + default)
        return Switch(cases, at + default), start + 12 + 4 * len(offsets) - at
    pairs = struct.unpack_from(f">{2 * first}i", code, start + 8)
    cases = tuple((value, at + offset) for value, offset in zip(pairs[::2], pairs[1::2], strict=True))
    return Switch(cases, at + default), start + 8 + 8 * first - at
