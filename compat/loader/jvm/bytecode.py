"""Digests of what code does: equal for another build of the same source, different if the behaviour changes.

Code is followed from a method into the user's own classes: what it calls, the lambdas and objects it makes, the constants it
reads. Names that a compiler generates (``lambda$main$0``, ``Job$1``, ``val$limit``) and those of methods are ignored,
as the code behind them is read instead. Fields and classes count by name.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import NamedTuple

from compat.loader.jvm.classfile import (
    ABSTRACT,
    BRIDGE,
    ENUM,
    PRIVATE,
    STATIC,
    SYNTHETIC,
    Call,
    ClassFile,
    ClassFileError,
    Code,
    Constant,
    Dynamic,
    FieldUse,
    Handle,
    Handler,
    Instruction,
    Jump,
    Local,
    Member,
    Method,
    Plain,
    Switch,
    Type,
    arguments,
)

_LIMIT = 2000
_ROOTS = frozenset({"java/lang/Object", "java/lang/Record", "java/lang/Enum"})
"""Superclasses of a whole kind of classes, whose methods do not show the purpose of an object."""
_LAMBDAS = "java/lang/invoke/LambdaMetafactory"
_DRAWN = re.compile(r"\$\d")
_IN_DESCRIPTOR = re.compile(r"L([^;<]+)")
_BOXES = re.compile(r"java/lang/(Boolean|Byte|Character|Short|Integer|Long|Float|Double)$")
_GETSTATIC, _PUTSTATIC, _GETFIELD = 0xB2, 0xB3, 0xB4
_NEW, _DUP, _LOAD_0, _RETURN = 0xBB, 0x59, 0x19, range(0xAC, 0xB2)
_VOID_RETURN = 0xB1
_INVOKESTATIC = 0xB8
_NEW_BY_HANDLE = 8
_SWITCH_MAP = "$SwitchMap$"
_BRANCH = re.compile(r"^(\d+ )?(jump (?!167 |198 |199 )|switch |handler )")
_COUNTING = ("ordinal", "compareTo")
_LOADED = Plain(0x2E)
"""Reading an array of ints: after ``ordinal()``, a switch uses the array's number for a constant."""


class Classes:
    """The classes that code can name, by their names with slashes, and which of them belong to the user."""

    def __init__(self, read: Callable[[str], bytes | None], own: Callable[[str], bool]) -> None:
        self._read = read
        self._own = own
        self._found: dict[str, ClassFile | None] = {}
        self._inherited = dict.fromkeys(_ROOTS, frozenset[tuple[str, int]]())

    def seen_from(self, own: Callable[[str], bool]) -> Classes:
        """The same classes, with others counting as the user's."""
        other = copy(self)
        other._own = own
        return other

    def find(self, name: str) -> ClassFile | None:
        """The file of a class; None if there is none that can be read."""
        if name not in self._found:
            data = self._read(name)
            try:
                self._found[name] = None if data is None else ClassFile(data)
            except ClassFileError:
                self._found[name] = None
        return self._found[name]

    def own(self, name: str) -> ClassFile | None:
        """The file of a user's class; None for any other."""
        return self.find(name) if self._own(name) else None

    def line(self, name: str) -> Iterator[ClassFile]:
        """The user's classes and interfaces that a class inherits from, itself first."""
        waiting, seen = deque([name]), {name}
        while waiting:
            found = self.own(waiting.popleft())
            if found is None:
                continue
            yield found
            for above in (found.parent, *found.interfaces):
                if above is not None and above not in seen:
                    seen.add(above)
                    waiting.append(above)

    def resolve(self, member: Member) -> Method | None:
        """The method that a call resolves to, if it is in the user's own classes."""
        for found in self.line(member.owner):
            method = found.by_signature.get((member.name, member.descriptor))
            if method is not None:
                return method
        return None

    def implementation(self, name: str, method: str) -> Method | None:
        """The method of this name in one of the user's own classes, of which others are bridges to it only."""
        for found in self.line(name):
            for one in found.methods:
                if one.name == method and one.code is not None and not one.access & (BRIDGE | STATIC):
                    return one
        return None

    def inherited(self, name: str) -> frozenset[tuple[str, int]]:
        """The methods that a class inherits, except from ``Object``: names and numbers of arguments."""
        known = self._inherited.get(name)
        if known is not None:
            return known
        self._inherited[name] = frozenset()  # of classes that stand above themselves
        found = self.find(name)
        above = () if found is None else (found.parent, *found.interfaces)
        signatures: set[tuple[str, int]] = set()
        for one in above:
            if one is None:
                continue
            signatures |= self.inherited(one)
            upper = None if one in _ROOTS else self.find(one)
            for method in () if upper is None else upper.methods:
                if not method.access & (STATIC | PRIVATE):
                    signatures.add(_signature(method))
        self._inherited[name] = frozenset(signatures)
        return self._inherited[name]


OF_OBJECT = frozenset({("hashCode", 0), ("equals", 1), ("toString", 0)})
"""The methods of ``Object`` that any code may call on an object, by name and number of arguments."""


class _Part(NamedTuple):
    """Instructions of a method that are to be written down: all of them, or those that give a static field its value."""

    method: Method
    start: int
    end: int


_VIRTUAL = frozenset({0xB6, 0xB9})
"""Calls of a method of the object's own class, wherever it is declared."""


class Walk:
    """A traversal of code for a digest. The class named ``root`` counts by its place in the code, not by its name.

    ``of_object`` are the methods of ``Object`` that count as called on every object that the code creates.
    """

    def __init__(self, classes: Classes, root: str, of_object: frozenset[tuple[str, int]] = OF_OBJECT) -> None:
        self._classes = classes
        self._this: str | None = None
        self._above = frozenset[str]()
        self._of_object = of_object
        self._outer = root.partition("$")[0]
        self._words: list[str] = []
        self._numbers: dict[tuple[str, ...], int] = {}
        self._waiting: deque[_Part] = deque()
        self._methods = 0
        self._made: dict[str, None] = {}
        self._named: dict[str, None] = {}

    @property
    def named(self) -> tuple[str, ...]:
        """All classes that the code names."""
        return tuple(self._named)

    @property
    def made(self) -> tuple[str, ...]:
        """The user's classes whose objects the code creates."""
        return tuple(self._made)

    def digest(self) -> str:
        """The digest of everything that was walked."""
        while self._waiting:
            self._part(self._waiting.popleft())
        return hashlib.sha256("\n".join(self._words).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @property
    def constants(self) -> tuple[str, ...]:
        """The constants in everything that was walked."""
        self.digest()
        return tuple(sorted({word.partition("constant ")[2] for word in self._words if "constant " in word}))

    @property
    def branches(self) -> bool:
        """True if the walked code branches, apart from null checks."""
        self.digest()
        return any(_BRANCH.search(word) is not None for word in self._words)

    def mentions(self, names: Iterable[str]) -> bool:
        """True if the walked code calls a library method with one of these names."""
        self.digest()
        return any(f".{name}(" in word for name in names for word in self._words)

    def inside(self, name: str) -> Walk:
        """Walk as code of an object of this class: what the classes above it call of themselves are its methods."""
        self._this = name
        self._above = frozenset(one.name for one in self._classes.line(name))
        return self

    def object_of(self, name: str) -> Walk:
        """Walk the methods that others can call on an object of a class: those that its superclasses declare, except
        ``Object``.
        """
        for method in self._called_by_others(name, frozenset()):
            self._words.append(self._method(method))
        return self

    def methods(self, name: str, wanted: Iterable[str]) -> Walk:
        """Walk the methods of a class with these names."""
        self.inside(name)
        names = frozenset(wanted)
        found: dict[tuple[str, str], Method] = {}
        for cls in self._classes.line(name):
            for method in cls.methods:
                if method.name in names and not method.access & (BRIDGE | STATIC | ABSTRACT):
                    found.setdefault((method.name, method.descriptor), method)
        for method in self._sorted(found.values()):
            self._words.append(self._method(method))
        return self

    def method(self, member: Member, captured: int = 0) -> Walk:
        """Walk one method; the first arguments are ``captured`` by a lambda."""
        method = self._classes.resolve(member)
        if method is None or method.code is None:
            self._words.append(f"{self._class(member.owner)}.{member.name}{self._descriptor(member.descriptor)}")
        else:
            self._words.append(f"captured {captured}")
            self._words.append(self._method(method))
        return self

    def expression(self, member: Member, is_reference: bool) -> Walk:
        """Walk a method for the value that it computes from its arguments, independent of the way it is written.

        A reference to a method, a lambda that calls it and a class whose method does are the same, boxing aside.
        """
        method = self._classes.resolve(member)
        if is_reference or method is None or method.code is None:
            self._words += ["0 load p0", f"1 {self._call(Call(0xB6, member))}"]
            return self
        code = method.code
        words = self._spelled(code.instructions, method)
        kept = [
            word
            for word, one in zip(words, code.instructions, strict=True)
            if not (isinstance(one, Plain) and one.opcode in _RETURN) and not _is_boxing(one)
        ]
        self._words += [f"{place} {word}" for place, word in enumerate(kept)]
        self._words += self._handlers(code.handlers, 0, len(code.instructions))
        return self

    def _number(self, *key: str) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _method(self, method: Method) -> str:
        key = ("method", *method.member)
        if key not in self._numbers and method.code is not None:
            self._enqueue(_Part(method, 0, len(method.code.instructions)))
        return f"method {self._number(*key)}"

    def _enqueue(self, part: _Part) -> None:
        self._methods += 1
        if self._methods <= _LIMIT:
            self._waiting.append(part)

    def _part(self, part: _Part) -> None:
        code = part.method.code
        assert code is not None
        self._words.append("begin")
        self._words += self._spelled(code.instructions[part.start : part.end], part.method, part.start)
        self._words += self._handlers(code.handlers, part.start, part.end)

    def _handlers(self, handlers: Iterable[Handler], start: int, end: int) -> Iterator[str]:
        for one in handlers:
            if start <= one.start < end:
                kind = "all" if one.type is None else self._class(one.type)
                yield f"handler {one.start - start} {one.end - start} {one.target - start} {kind}"

    def _spelled(self, instructions: tuple[Instruction, ...], method: Method, start: int = 0) -> list[str]:
        """The instructions as words; locals are numbered as they come, arguments by their place."""
        locals_ = _arguments(method)
        words = []
        for one, after in zip(instructions, (*instructions[1:], None), strict=True):
            if isinstance(one, Local):
                local = locals_.setdefault(one.slot, f"v{len(locals_)}")
                words.append(f"{_local(one.opcode)} {local} {one.amount or ''}".rstrip())
            elif isinstance(one, Jump):
                words.append(f"jump {one.opcode} {one.target - start}")
            elif isinstance(one, Switch):
                cases = " ".join(f"{value}:{target - start}" for value, target in one.cases)
                words.append(f"switch {cases} else {one.default - start}")
            elif isinstance(one, Call) and one.method.name in _COUNTING and after != _LOADED:
                words.append(f"{self._call(one)}{self._order(one.method.owner)}")
            else:
                words.append(self._word(one))
        return words

    def _word(self, one: object) -> str:
        if isinstance(one, Plain):
            return str(one.opcode)
        if isinstance(one, Constant):
            return f"constant {one.type} {one.value!r}"
        if isinstance(one, FieldUse):
            return self._field(one)
        if isinstance(one, Call):
            return self._call(one)
        if isinstance(one, Type):
            return self._type(one)
        if isinstance(one, Handle):
            return self._handle(one)
        if isinstance(one, Dynamic):
            return self._dynamic(one)
        raise AssertionError(f"an instruction {one!r}")

    def _type(self, one: Type) -> str:
        if one.opcode == _NEW:
            return f"new {self._object(one.name)}"
        return f"type {one.opcode} {self._descriptor(one.name) if '(' in one.name else self._class(one.name)}"

    def _object(self, name: str) -> str:
        """An object that is made of a class: others may call what it has in common with the classes above it."""
        spelled = self._class(name)
        if self._classes.own(name) is None or name in self._made:
            return spelled
        self._made[name] = None
        called = [self._method(one) for one in self._called_by_others(name, self._of_object)]
        return f"{spelled} with {' '.join(called)}"

    def _called_by_others(self, name: str, also: frozenset[tuple[str, int]]) -> list[Method]:
        found: dict[tuple[str, str], Method] = {}
        for cls in self._classes.line(name):
            inherited = self._classes.inherited(cls.name) | also
            for method in cls.methods:
                if method.access & (STATIC | PRIVATE | BRIDGE | ABSTRACT) or method.name.startswith("<"):
                    continue
                if _signature(method) in inherited:
                    found.setdefault((method.name, method.descriptor), method)
        return self._sorted(found.values())

    def _sorted(self, methods: Iterable[Method]) -> list[Method]:
        return sorted(methods, key=lambda one: (one.name, _DRAWN.sub("$", one.descriptor)))

    def _field(self, one: FieldUse) -> str:
        owner, name, descriptor = one.field
        own = self._classes.own(owner)
        declared = None
        if own is not None:
            places = ((cls, field) for cls in self._classes.line(owner) for field in cls.fields if field.name == name)
            declared = next(places, None)
        spelled = f"{self._class(owner)}.{name} {self._descriptor(descriptor)}"
        if declared is None:
            return f"field {one.opcode} {spelled}"
        cls, field = declared
        if field.access & SYNTHETIC:
            spelled = f"field#{self._number('field', cls.name, name)}"
        if one.opcode != _GETSTATIC:
            return f"field {one.opcode} {spelled}"
        if name.startswith(_SWITCH_MAP):
            return f"switch map {' '.join(self._switch_map(cls, name))}"
        part = _initializer(cls, name)
        if field.access & ENUM and owner == cls.name:
            body = None if part is None else self._body_of(part, cls)
            return f"enum {spelled}{'' if body is None else ' ' + body}"
        key = ("static", cls.name, name)
        if part is not None and key not in self._numbers:
            self._enqueue(part)
        return f"static {self._number(*key)} {spelled}"

    def _body_of(self, part: _Part, cls: ClassFile) -> str | None:
        """What an enum's constant does by itself, if it has a body."""
        code = part.method.code
        made = (
            next((one for one in code.instructions[part.start : part.end] if isinstance(one, Type)), None)
            if code
            else None
        )
        return None if made is None or made.name == cls.name else self._object(made.name)

    def _switch_map(self, cls: ClassFile, name: str) -> Iterator[str]:
        """The constants of an enum by the numbers that a compiler gave them for its switches, in order."""
        method = cls.by_signature.get(("<clinit>", "()V"))
        code = None if method is None else method.code
        instructions = () if code is None else code.instructions
        for place, one in enumerate(instructions[:-3]):
            if isinstance(one, FieldUse) and one.opcode == _GETSTATIC and one.field.name == name:
                constant, number = instructions[place + 1], instructions[place + 3]
                if isinstance(constant, FieldUse) and isinstance(number, Constant):
                    yield f"{constant.field.name}:{number.value}"

    def _call(self, one: Call) -> str:
        owner, name, descriptor = one.method
        if owner.startswith("[") or self._classes.own(owner) is None:
            return f"call {self._class(owner)}.{name}{self._descriptor(descriptor)}"
        own = self._this if owner in self._above and one.opcode in _VIRTUAL else None
        method = self._classes.resolve(one.method if own is None else one.method._replace(owner=own))
        if method is None:
            return f"call {name}{self._descriptor(descriptor)}"
        if method.code is None:
            return f"call {self._class(method.owner.name)}.{name}{self._descriptor(descriptor)}"
        self._named[owner] = None
        got = _got(method, method.code)
        if got is not None:
            return self._field(got)
        return f"call {self._method(method)}"

    def _order(self, name: str) -> str:
        """The constants of an enum, for code that counts them."""
        found = self._classes.own(name)
        constants = [] if found is None else [field.name for field in found.fields if field.access & ENUM]
        return f" of {' '.join(constants)}" if constants else ""

    def _handle(self, one: Handle) -> str:
        if one.kind < 5:
            return self._field(FieldUse(_GETFIELD, one.member))
        made = f"new {self._object(one.member.owner)} " if one.kind == _NEW_BY_HANDLE else ""
        return made + self._call(Call(_INVOKESTATIC, one.member))

    def _dynamic(self, one: Dynamic) -> str:
        if one.bootstrap.member.owner == _LAMBDAS:
            made = one.descriptor.rpartition(")")[2]
            (implementation,) = (given for given in one.arguments[1:2])
            count = len(arguments(one.descriptor))
            return f"lambda {one.name} {self._descriptor(made)} {count} {self._word(implementation)}"
        given = " ".join(self._word(given) for given in one.arguments)
        return f"dynamic {one.bootstrap.member.name} {one.name} {self._descriptor(one.descriptor)} {given}"

    def _class(self, name: str) -> str:
        """A class by its name, by its place in the outermost class of the root, or by a number for one without a name."""
        if name.startswith("["):
            return self._descriptor(name)
        self._named[name] = None
        if _DRAWN.search(name) and self._classes.own(name) is not None:
            return f"class#{self._number('class', name)}"
        if (name == self._outer or name.startswith(self._outer + "$")) and self._classes.own(name) is not None:
            return "~" + name[len(self._outer) :]
        return name

    def _descriptor(self, descriptor: str) -> str:
        return _IN_DESCRIPTOR.sub(lambda found: "L" + self._class(found.group(1)), descriptor)


def _signature(method: Method) -> tuple[str, int]:
    return method.name, len(arguments(method.descriptor))


def _arguments(method: Method) -> dict[int, str]:
    """The locals that arguments come in, by slot: ``this``, then by their places."""
    found: dict[int, str] = {}
    slot = 0
    if not method.access & STATIC:
        found[0] = "this"
        slot = 1
    for place, argument in enumerate(arguments(method.descriptor)):
        found[slot] = f"p{place}"
        slot += 2 if argument in ("J", "D") else 1
    return found


def _local(opcode: int) -> str:
    if 0x15 <= opcode <= 0x19:
        return "load"
    return "store" if 0x36 <= opcode <= 0x3A else f"local {opcode}"


def _is_boxing(one: Instruction) -> bool:
    return (
        isinstance(one, Call)
        and one.method.name == "valueOf"
        and _BOXES.match(one.method.owner) is not None
        and one.method.descriptor[1:2] != "L"
    )


def _got(method: Method, code: Code) -> FieldUse | None:
    """The field that a method does nothing but give: a getter, or what a compiler makes to reach into a nested class."""
    if len(code.instructions) != 3:
        return None
    first, second, third = code.instructions
    of_itself = isinstance(first, Local) and (first.opcode, first.slot) == (_LOAD_0, 0)
    gives = isinstance(third, Plain) and third.opcode in _RETURN and third.opcode != _VOID_RETURN
    return second if of_itself and gives and isinstance(second, FieldUse) and second.opcode == _GETFIELD else None


def _initializer(cls: ClassFile, name: str) -> _Part | None:
    """The instructions that give a static field its value when the class is loaded; all that run then if these jump."""
    method = cls.by_signature.get(("<clinit>", "()V"))
    code = None if method is None else method.code
    if method is None or code is None:
        return None
    start = 0
    whole = _Part(method, 0, len(code.instructions))
    for place, one in enumerate(code.instructions):
        if isinstance(one, FieldUse) and one.opcode == _PUTSTATIC:
            if one.field.name == name:
                part = _Part(method, start, place + 1)
                return part if _stays_inside(code, part) else whole
            start = place + 1
    return None


def _stays_inside(code: Code, part: _Part) -> bool:
    """True if no jump leads out of the part or into it, and no exception is handled."""
    for place, one in enumerate(code.instructions):
        inside = part.start <= place < part.end
        targets: tuple[int, ...] = (one.target,) if isinstance(one, Jump) else ()
        if isinstance(one, Switch):
            targets = (one.default, *(target for _, target in one.cases))
        if any((part.start <= target < part.end) != inside for target in targets):
            return False
    return not any(part.start <= one.start < part.end for one in code.handlers)
