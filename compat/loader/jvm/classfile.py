"""Java's class files, as far as one has to read them to say what code does: its methods, what they call, read and write.

Written after chapter 4 of the Java Virtual Machine Specification. Nothing here needs a JVM.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_MAGIC = 0xCAFEBABE
_UTF8, _INT, _FLOAT, _LONG, _DOUBLE, _CLASS, _STRING, _FIELD, _METHOD, _INTERFACE_METHOD, _PAIR = 1, *range(3, 13)
_HANDLE, _METHOD_TYPE, _CONDY, _INDY, _MODULE, _PACKAGE = 15, 16, 17, 18, 19, 20
_SIZES = {
    _INT: 4,
    _FLOAT: 4,
    _LONG: 8,
    _DOUBLE: 8,
    _CLASS: 2,
    _STRING: 2,
    _FIELD: 4,
    _METHOD: 4,
    _INTERFACE_METHOD: 4,
    _PAIR: 4,
    _HANDLE: 3,
    _METHOD_TYPE: 2,
    _CONDY: 4,
    _INDY: 4,
    _MODULE: 2,
    _PACKAGE: 2,
}
_LDC, _LDC_W, _LDC2_W, _TABLESWITCH, _LOOKUPSWITCH, _WIDE, _IINC = 0x12, 0x13, 0x14, 0xAA, 0xAB, 0xC4, 0x84
_INVOKEINTERFACE, _INVOKEDYNAMIC, _MULTIANEWARRAY = 0xB9, 0xBA, 0xC5
_FIELD_CODES = range(0xB2, 0xB6)
_CALL_CODES = range(0xB6, 0xBA)
_WITH_CONSTANT = {_LDC: 1, _LDC_W: 2, _LDC2_W: 2, 0xBB: 2, 0xBD: 2, 0xC0: 2, 0xC1: 2} | dict.fromkeys(
    (*_FIELD_CODES, *_CALL_CODES, _INVOKEDYNAMIC, _MULTIANEWARRAY), 2
)
"""Instructions that name a constant, and the bytes of its number."""
_MORE = {_INVOKEINTERFACE: 2, _INVOKEDYNAMIC: 2, _MULTIANEWARRAY: 1}
_ONE, _TWO, _FOUR = (0x10, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC), (0x11, _IINC), (0xC8, 0xC9)
_JUMPS = (*range(0x99, 0xA9), 0xC6, 0xC7)
_OPERANDS = dict.fromkeys(_ONE, 1) | dict.fromkeys((*_TWO, *_JUMPS), 2) | dict.fromkeys(_FOUR, 4)


class BadClassFile(Exception):
    """Bytes that are no class file, or one of a kind that is not known here."""


@dataclass(frozen=True, slots=True)
class Member:
    """A field or a method that an instruction names; ``owner`` as Java writes it in code (``a/b/C``)."""

    owner: str
    name: str
    descriptor: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: its code, what it names, and the rest of its operands as text.

    ``handles`` are the methods that an ``invokedynamic`` is bound to: of a lambda, its body.
    """

    code: int
    operand: str
    member: Member | None = None
    handles: tuple[Member, ...] = ()

    @property
    def touches_field(self) -> bool:
        """True if it reads or writes a field."""
        return self.code in _FIELD_CODES

    @property
    def calls(self) -> tuple[Member, ...]:
        """The methods that it calls, or makes an object of that calls them."""
        return (self.member, *self.handles) if self.member is not None and self.code in _CALL_CODES else self.handles

    @property
    def text_constant(self) -> str | None:
        """The string that it loads, if it does."""
        loads = self.code in (_LDC, _LDC_W) and self.operand.startswith('"')
        return self.operand[1:] if loads else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method with its instructions; none if it has no code."""

    name: str
    descriptor: str
    instructions: tuple[Instruction, ...]


class ClassFile:
    """A class as it was compiled. Raises BadClassFile, at once or where a part is looked at."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        try:
            if int.from_bytes(data[:4], "big") != _MAGIC:
                raise BadClassFile("no class file")
            self._at = 8
            self._constants = self._read_constants()
            self._at += 2
            self.name = self._class(self._u2())
            self.super_name = self._class(number) if (number := self._u2()) else None
            self.interfaces = tuple(self._class(self._u2()) for _ in range(self._u2()))
            self.fields = tuple((name, descriptor) for name, descriptor, _ in self._members())
            self._codes = [(name, descriptor, found.get("Code")) for name, descriptor, found in self._members()]
            self._bootstraps = self._read_bootstraps(self._attributes().get("BootstrapMethods"))
        except (IndexError, struct.error, KeyError, UnicodeDecodeError) as error:
            raise BadClassFile(f"damaged class file: {error!r}") from error

    @cached_property
    def methods(self) -> tuple[Method, ...]:
        """The methods, in the order of the file."""
        try:
            return tuple(
                Method(name=name, descriptor=descriptor, instructions=() if at is None else tuple(self._code(at)))
                for name, descriptor, at in self._codes
            )
        except (IndexError, struct.error, KeyError) as error:
            raise BadClassFile(f"damaged class file: {error!r}") from error

    def _u2(self) -> int:
        self._at += 2
        return int.from_bytes(self._data[self._at - 2 : self._at], "big")

    def _u4(self) -> int:
        self._at += 4
        return int.from_bytes(self._data[self._at - 4 : self._at], "big")

    def _read_constants(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        """The constant pool: by number, the tag and the numbers in the entry (of texts, where they lie)."""
        data, number = self._data, 1
        found: dict[int, tuple[int, tuple[int, ...]]] = {}
        count = self._u2()
        while number < count:
            tag = data[self._at]
            self._at += 1
            if tag == _UTF8:
                size = self._u2()
                found[number] = tag, (self._at, size)
                self._at += size
            else:
                size = _SIZES[tag]
                raw = data[self._at : self._at + size]
                self._at += size
                if tag in (_LONG, _DOUBLE, _INT, _FLOAT):
                    found[number] = tag, (int.from_bytes(raw, "big"),)
                elif tag == _HANDLE:
                    found[number] = tag, (raw[0], int.from_bytes(raw[1:], "big"))
                else:
                    found[number] = tag, struct.unpack(f">{size // 2}H", raw)
            number += 2 if tag in (_LONG, _DOUBLE) else 1
        return found

    def _utf8(self, number: int) -> str:
        at, size = self._constants[number][1]
        return self._data[at : at + size].decode("utf-8", "surrogatepass")

    def _class(self, number: int) -> str:
        return self._utf8(self._constants[number][1][0])

    def _pair(self, number: int) -> tuple[str, str]:
        name, descriptor = self._constants[number][1]
        return self._utf8(name), self._utf8(descriptor)

    def _member(self, number: int) -> Member:
        owner, pair = self._constants[number][1]
        return Member(self._class(owner), *self._pair(pair))

    def _attributes(self) -> dict[str, int]:
        """Where each attribute's contents lie, by name; the reader then stands behind them."""
        found = {}
        for _ in range(self._u2()):
            name = self._utf8(self._u2())
            size = self._u4()
            found[name] = self._at
            self._at += size
        return found

    def _members(self) -> list[tuple[str, str, dict[str, int]]]:
        members = []
        for _ in range(self._u2()):
            self._at += 2
            name, descriptor = self._utf8(self._u2()), self._utf8(self._u2())
            members.append((name, descriptor, self._attributes()))
        return members

    def _read_bootstraps(self, at: int | None) -> list[tuple[int, ...]]:
        """For each bootstrap method its handle and then its arguments, as numbers of constants."""
        if at is None:
            return []
        self._at = at
        return [(self._u2(), *(self._u2() for _ in range(self._u2()))) for _ in range(self._u2())]

    def _code(self, at: int) -> Iterator[Instruction]:
        data = self._data
        start = at + 8
        end = start + int.from_bytes(data[at + 4 : at + 8], "big")
        place = start
        while place < end:
            code = data[place]
            place += 1
            if code in _WITH_CONSTANT:
                size = _WITH_CONSTANT[code]
                number = int.from_bytes(data[place : place + size], "big")
                place += size
                more = _MORE.get(code, 0)
                yield self._naming(code, number, data[place : place + more].hex())
                place += more
                continue
            size = self._size(code, place, start)
            yield Instruction(code, data[place : place + size].hex())
            place += size

    def _size(self, code: int, place: int, start: int) -> int:
        """How many bytes of operands an instruction has that names no constant."""
        data = self._data
        if code == _WIDE:
            return 5 if data[place] == _IINC else 3
        if code not in (_TABLESWITCH, _LOOKUPSWITCH):
            return _OPERANDS.get(code, 0)
        padding = -(place - start) % 4
        low, high = (
            int.from_bytes(data[at : at + 4], "big", signed=True) for at in (place + padding + 4, place + padding + 8)
        )
        return padding + (12 + 4 * (high - low + 1) if code == _TABLESWITCH else 8 + 8 * low)

    def _naming(self, code: int, number: int, more: str) -> Instruction:
        if code == _INVOKEDYNAMIC:
            bootstrap, pair = self._constants[number][1]
            name, descriptor = self._pair(pair)
            bound = self._bootstraps[bootstrap]
            handles = tuple(self._handle(one) for one in bound if self._constants[one][0] == _HANDLE)
            rest = " ".join(self._constant(one) for one in bound if self._constants[one][0] != _HANDLE)
            return Instruction(code, f"{name}{descriptor} {rest}", handles=handles)
        if code in _FIELD_CODES or code in _CALL_CODES:
            return Instruction(code, more, self._member(number))
        return Instruction(_LDC if code == _LDC_W else code, f"{self._constant(number)}{more}")

    def _handle(self, number: int) -> Member:
        return self._member(self._constants[number][1][1])

    def _constant(self, number: int) -> str:
        """A constant as text; strings stand behind a quotation mark."""
        tag, value = self._constants[number]
        match tag:
            case 8:
                return f'"{self._utf8(value[0])}'
            case 7 | 16 | 19 | 20:
                return self._utf8(value[0])
            case 17:
                return " ".join(self._pair(value[1]))
            case 15:
                return str(self._handle(number))
            case _:
                return f"{tag}:{value[0]}"


class ClassCode:
    """What the code of a class does, told in a way that does not change with names that the compiler makes up."""

    def __init__(self, file: ClassFile) -> None:
        self.file = file
        self._by_name = {(method.name, method.descriptor): method for method in file.methods}

    def method(self, name: str, descriptor: str) -> Method | None:
        """A method of the class."""
        return self._by_name.get((name, descriptor))

    def texts(self, method: Method) -> Iterator[str]:
        """The strings that a method loads."""
        return (text for one in method.instructions if (text := one.text_constant) is not None)

    def digest(self, method: Method, renamed: dict[str, str] | None = None) -> str:
        """A digest of a method's code, lambdas included; fields of the class count by what ``renamed`` calls them."""
        told = hashlib.sha256()
        for line in self._lines(method, renamed or {}, {(method.name, method.descriptor)}):
            told.update(line.encode("utf-8", "surrogatepass") + b"\n")
        return told.hexdigest()[:16]

    def fields_used(self, method: Method) -> set[str]:
        """The fields of the class that a method reads or writes, itself or in methods of the class that it calls."""
        used: set[str] = set()
        seen: set[tuple[str, str]] = set()
        todo = [method]
        while todo:
            one = todo.pop()
            if (one.name, one.descriptor) in seen:
                continue
            seen.add((one.name, one.descriptor))
            for instruction in one.instructions:
                member = instruction.member
                if instruction.touches_field and member is not None and member.owner == self.file.name:
                    used.add(member.name)
                for called in instruction.calls:
                    if called.owner == self.file.name and (found := self.method(called.name, called.descriptor)):
                        todo.append(found)
        return used

    def _lines(self, method: Method, renamed: dict[str, str], seen: set[tuple[str, str]]) -> Iterator[str]:
        for one in method.instructions:
            member = one.member
            if member is None:
                yield f"{one.code} {one.operand}"
            elif member.owner != self.file.name:
                yield f"{one.code} {member.owner}.{member.name}{member.descriptor} {one.operand}"
            elif one.touches_field:
                yield f"{one.code} this.{renamed.get(member.name, member.name)}"
            else:
                yield from self._called(one.code, member, renamed, seen)
            for handle in one.handles:
                if handle.owner == self.file.name:
                    yield from self._called(one.code, handle, renamed, seen)
                else:
                    yield f"{handle.owner}.{handle.name}{handle.descriptor}"

    def _called(self, code: int, member: Member, renamed: dict[str, str], seen: set[tuple[str, str]]) -> Iterator[str]:
        """A call of a method of the class itself: of one that the compiler made, what it does instead of its name."""
        made_up = "$" in member.name
        found = self.method(member.name, member.descriptor)
        yield f"{code} this.{'' if made_up else member.name}{member.descriptor}"
        if made_up and found is not None and (member.name, member.descriptor) not in seen:
            yield from self._lines(found, renamed, seen | {(member.name, member.descriptor)})
