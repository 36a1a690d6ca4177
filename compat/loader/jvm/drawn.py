"""Finds uids that differ at each start of a program, from the code that computes the argument of ``uid(…)``.

A second run of ``main`` would show less, as a date is the same a second later, and would repeat the program's side
effects. So its code is read: from a call of ``uid`` back to what gives its argument, through locals, fields,
parameters and the user's own methods. If a branch chooses the value, no answer is given. Nothing here needs a JVM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from compat.loader.jvm.bytecode import Classes
from compat.loader.jvm.classfile import (
    STATIC,
    Call,
    ClassFile,
    Constant,
    Dynamic,
    FieldUse,
    Instruction,
    Jump,
    Local,
    Member,
    Method,
    Plain,
    Switch,
    Type,
)

_SETTERS = frozenset({"uid", "setUid", "setUidHash", "uidPrefix"})
_FLINK = "org/apache/flink/"
_SOURCES = re.compile(
    r"java/util/UUID\.randomUUID|java/lang/System\.(currentTimeMillis|nanoTime|identityHashCode)|java/lang/(Strict)?Math\.random"
    r"|java/util/concurrent/ThreadLocalRandom\.current|java/security/SecureRandom\.<init>|java/util/(Random|Date)\.<init>\(\)"
    r"|java/util/SplittableRandom\.<init>\(\)|java/time/\w+\.now|java/lang/ProcessHandle\.(current|pid)"
    r"|scala/util/Random\$\.(next|alpha)|kotlin/random/Random\$Default\.next"
    r"|org/apache/commons/lang3/Random(StringUtils\.random|Utils\.next)"
)
"""Methods with a different result at each start."""
_ARGUMENT = re.compile(r"\[*(?:L[^;]+;|[A-Z])")
_STORES, _LOADS = range(0x36, 0x3B), range(0x15, 0x1A)
_PUTSTATIC, _PUTFIELD, _GETSTATIC, _INVOKESTATIC = 0xB3, 0xB5, 0xB2, 0xB8
_NEW, _MANY = 0xBB, 0xC5
_DEPTH = 8
_EFFECTS = {
    **dict.fromkeys([0x00, 0xB1], (0, 0)),
    **dict.fromkeys([*range(0x2E, 0x36), *range(0x60, 0x74), *range(0x78, 0x84), *range(0x94, 0x99)], (2, 1)),
    **dict.fromkeys(range(0x4F, 0x57), (3, 0)),
    **dict.fromkeys([*range(0x74, 0x78), *range(0x85, 0x94), 0xBE], (1, 1)),
    **dict.fromkeys([0x57, *range(0xAC, 0xB1), 0xC2, 0xC3], (1, 0)),
    0x59: (1, 2),
    0x5A: (2, 3),
    0x5B: (3, 4),
    0x5F: (2, 2),
}
"""How many values plain instructions take and give; those that copy two words are left out, and end the search."""


class _Unknown(Exception):
    """Code in which it cannot be told where a value comes from."""


def drawn_by(classes: Classes, name: str, uid: str) -> str | None:
    """The method that a uid set by a user's class comes from, if its result differs at each start.

    None for a uid that is a text in the class, and if no call of ``uid`` in the class is known to get such an argument.
    """
    found = classes.own(name)
    if found is None or uid in _texts(found):
        return None
    search = _Search(classes)
    for method in found.methods:
        for at, one in enumerate(_code(method)):
            if isinstance(one, Call) and one.method.name in _SETTERS and one.method.owner.startswith(_FLINK):
                source = search.argument(method, at, 0)
                if source is not None:
                    return source
    return None


class _Search:
    """A search for what values are made of; ``seen`` keeps it from going in circles."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._seen: set[tuple[Member, int, int]] = set()

    def argument(self, method: Method, at: int, number: int, depth: int = 0) -> str | None:
        """The source in an argument of the call at a place in a method."""
        call = _code(method)[at]
        assert isinstance(call, Call)
        behind = len(_arguments(call.method.descriptor)) - 1 - number
        return self._value(method, at, behind, depth)

    def _value(self, method: Method, end: int, behind: int, depth: int) -> str | None:
        """The source in the value that is on the stack before an instruction, below ``behind`` others."""
        key = (method.member, end, behind)
        if depth > _DEPTH or key in self._seen:
            return None
        self._seen.add(key)
        code = _code(method)
        try:
            last = _start(code, end, behind) if behind else end
            first = _start(code, last, 1)
        except _Unknown:
            return None
        found = (self._of(method, at, depth) for at in range(first, last))
        return next((one for one in found if one is not None), None)

    def _of(self, method: Method, at: int, depth: int) -> str | None:
        one = _code(method)[at]
        if isinstance(one, Call):
            member = one.method
            if _SOURCES.match(f"{member.owner}.{member.name}{member.descriptor}"):
                return f"{member.owner.replace('/', '.').removesuffix('$')}.{member.name}".removesuffix(".<init>")
            return self._returned(member, depth)
        if isinstance(one, Local) and one.opcode in _LOADS:
            return self._local(method, one.slot, depth)
        if isinstance(one, FieldUse):
            return self._field(one.field, depth)
        return None

    def _returned(self, member: Member, depth: int) -> str | None:
        """The source in what one of the user's own methods gives."""
        method = None if member.descriptor.endswith(")V") else self._classes.resolve(member)
        if method is None:
            return None
        returns = (
            at for at, one in enumerate(_code(method)) if isinstance(one, Plain) and one.opcode in range(0xAC, 0xB1)
        )
        return self._first(method, returns, depth)

    def _local(self, method: Method, slot: int, depth: int) -> str | None:
        code = _code(method)
        stores = [
            at for at, one in enumerate(code) if isinstance(one, Local) and one.opcode in _STORES and one.slot == slot
        ]
        if stores:
            return self._first(method, stores, depth)
        number = _parameter(method, slot)
        if number is None:
            return None
        for caller in method.owner.methods:
            for at, one in enumerate(_code(caller)):
                if isinstance(one, Call) and one.method == method.member:
                    source = self.argument(caller, at, number, depth + 1)
                    if source is not None:
                        return source
        return None

    def _field(self, field: Member, depth: int) -> str | None:
        owner = self._classes.own(field.owner)
        for method in () if owner is None else owner.methods:
            writes = (
                at
                for at, one in enumerate(_code(method))
                if isinstance(one, FieldUse) and one.opcode in (_PUTSTATIC, _PUTFIELD) and one.field == field
            )
            source = self._first(method, writes, depth)
            if source is not None:
                return source
        return None

    def _first(self, method: Method, ends: Iterator[int] | Sequence[int], depth: int) -> str | None:
        return next((one for end in ends if (one := self._value(method, end, 0, depth + 1)) is not None), None)


def _start(code: Sequence[Instruction], end: int, values: int) -> int:
    """Where the instructions begin that put so many values on the stack. Raises _Unknown if a branch is among them."""
    at = end
    while values > 0:
        if at == 0:
            raise _Unknown
        at -= 1
        taken, given = _effect(code[at])
        values = max(values - given, 0) + taken
    return at


def _effect(one: Instruction) -> tuple[int, int]:
    """How many values an instruction takes from the stack, and how many it puts there. Raises _Unknown for a branch."""
    if isinstance(one, Constant):
        return 0, 1
    if isinstance(one, Local):
        return (1, 0) if one.opcode in _STORES else (0, 1) if one.opcode in _LOADS else (0, 0)
    if isinstance(one, FieldUse):
        return {_GETSTATIC: (0, 1), _PUTSTATIC: (1, 0), _PUTFIELD: (2, 0)}.get(one.opcode, (1, 1))
    if isinstance(one, Call | Dynamic):
        descriptor = one.method.descriptor if isinstance(one, Call) else one.descriptor
        itself = isinstance(one, Call) and one.opcode != _INVOKESTATIC
        return len(_arguments(descriptor)) + itself, 0 if descriptor.endswith(")V") else 1
    if isinstance(one, Type):
        return (0, 1) if one.opcode == _NEW else (int(one.name[0]), 1) if one.opcode == _MANY else (1, 1)
    if isinstance(one, Plain) and one.opcode in _EFFECTS:
        return _EFFECTS[one.opcode]
    assert isinstance(one, Plain | Jump | Switch)
    raise _Unknown


def _arguments(descriptor: str) -> list[str]:
    return _ARGUMENT.findall(descriptor[1 : descriptor.index(")")]) if descriptor.startswith("(") else []


def _parameter(method: Method, slot: int) -> int | None:
    """Which argument of a method stands in a local; None for the object itself and for other locals."""
    at = 0 if method.access & STATIC else 1
    for number, one in enumerate(_arguments(method.descriptor)):
        if at == slot:
            return number
        at += 2 if one in ("J", "D") else 1
    return None


def _texts(found: ClassFile) -> set[object]:
    return {one.value for method in found.methods for one in _code(method) if isinstance(one, Constant)}


def _code(method: Method) -> tuple[Instruction, ...]:
    return () if method.code is None else method.code.instructions
