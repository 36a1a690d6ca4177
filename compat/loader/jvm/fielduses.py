"""The uses of fields in the code of a class, of its own and of static ones elsewhere. Nothing here needs a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compat.loader.jvm.classfile import (
    Call,
    ClassFile,
    Constant,
    Dynamic,
    FieldUse,
    Handle,
    Instruction,
    Local,
    Member,
    Method,
)

_GETSTATIC, _GETFIELD, _STORE = 0xB2, 0xB4, 0x3A
STATES = "org/apache/flink/api/common/state/"
_PUT = frozenset(
    ("update", "add", "addAll", "put", "putAll", "asyncUpdate", "asyncAdd", "asyncAddAll", "asyncPut", "asyncPutAll")
)
"""The methods of states that put something in."""
_MADE_UP = "$"
"""The marker of compiler-generated names: ``lambda$open$0``, ``access$000``."""


class FieldUses:
    """The methods of a class, including the lambdas that they create and the methods that they call in it."""

    def __init__(self, cls: ClassFile) -> None:
        self.cls = cls

    def texts(self, method: Method) -> Iterator[str]:
        """The strings that a method has in its code."""
        return (
            str(one.value) for one in _instructions(method) if isinstance(one, Constant) and isinstance(one.value, str)
        )

    def texts_reached(self, method: Method) -> Iterator[str]:
        """The strings in the code of a method and of the lambdas in it, in their order."""
        for one in self.reached(method):
            if isinstance(one, Constant) and isinstance(one.value, str):
                yield one.value

    def instructions(self, method: Method) -> tuple[Instruction, ...]:
        """A method's own instructions."""
        return _instructions(method)

    def reached(self, method: Method) -> Iterator[Instruction]:
        """A method's instructions with those of the lambdas in it."""
        return self._reached(method, (method.member,))

    def _reached(self, method: Method, inside: tuple[Member, ...]) -> Iterator[Instruction]:
        for one in _instructions(method):
            yield one
            for member in calls(one):
                found = self._own(member) if self._is_made_up(member) and member not in inside else None
                if found is not None:
                    yield from self._reached(found, (*inside, member))

    def used(self, method: Method) -> set[str]:
        """The fields of the class that a method reads or writes, itself or in methods of the class that it calls."""
        return {
            one.field.name
            for each in self._called(method)
            for one in _instructions(each)
            if isinstance(one, FieldUse) and one.field.owner == self.cls.name
        }

    def changed(self, method: Method) -> set[str]:
        """The fields of the class into whose states a method puts something, itself or in methods of the class that it calls.
        States that it keeps in variables are not followed.
        """
        return {name for one in self._called(method) for name in self._changed(_instructions(one))}

    def _changed(self, instructions: tuple[Instruction, ...]) -> Iterator[str]:
        on_stack: list[str] = []
        for before, one in zip((None, *instructions), instructions, strict=False):
            if isinstance(one, FieldUse) and one.opcode == _GETFIELD and one.field.descriptor.startswith(f"L{STATES}"):
                on_stack.append(one.field.name if one.field.owner == self.cls.name else "")
            elif isinstance(one, Local) and one.opcode == _STORE and isinstance(before, FieldUse):
                del on_stack[-1:]
            elif isinstance(one, Call) and one.method.owner.startswith(STATES) and on_stack:
                name = on_stack.pop()
                if name and one.method.name in _PUT:
                    yield name

    def _called(self, method: Method) -> Iterator[Method]:
        """A method, and the methods of the class that it calls."""
        seen: set[Member] = set()
        todo = [method]
        while todo:
            one = todo.pop()
            if one.member not in seen:
                seen.add(one.member)
                yield one
                called = (self._own(member) for instruction in _instructions(one) for member in calls(instruction))
                todo += [each for each in called if each is not None]

    def elsewhere(self) -> dict[str, Member]:
        """The static fields of other classes that the methods read, by their short names."""
        return {
            self.name_of(one.field): one.field
            for method in self.cls.methods
            for one in _instructions(method)
            if isinstance(one, FieldUse) and one.opcode == _GETSTATIC and one.field.owner != self.cls.name
        }

    def name_of(self, field: Member) -> str:
        """The name of a field, behind that of its class if it is another one's."""
        return field.name if field.owner == self.cls.name else f"{field.owner.rpartition('/')[2]}.{field.name}"

    def text(self, method: Method, renamed: Mapping[str, str], masked: Mapping[str, int]) -> str:
        """A method's code as text, equal for another build; fields are named as in ``renamed``, strings that are ``masked`` by
        their numbers.
        """
        return "\n".join(self._lines(method, renamed, masked, (method.member,)))

    def _lines(
        self, method: Method, renamed: Mapping[str, str], masked: Mapping[str, int], inside: tuple[Member, ...]
    ) -> Iterator[str]:
        for one in _instructions(method):
            name = self.name_of(one.field) if isinstance(one, FieldUse) else ""
            if isinstance(one, FieldUse) and (one.field.owner == self.cls.name or name in renamed):
                yield f"{one.opcode} this.{renamed.get(name, name)}"
                continue
            if isinstance(one, Constant) and isinstance(one.value, str) and one.value in masked:
                yield f"state {masked[one.value]}"
                continue
            called = [member for member in calls(one) if self._is_made_up(member)]
            if not called:
                yield repr(one)
                continue
            yield f"{type(one).__name__} {one.name if isinstance(one, Dynamic) else ''}"
            for member in called:
                found = self._own(member)
                if found is not None and member not in inside:
                    yield from self._lines(found, renamed, masked, (*inside, member))

    def _own(self, member: Member) -> Method | None:
        return self.cls.by_signature.get((member.name, member.descriptor)) if member.owner == self.cls.name else None

    def _is_made_up(self, member: Member) -> bool:
        return member.owner == self.cls.name and _MADE_UP in member.name


def _instructions(method: Method) -> tuple[Instruction, ...]:
    return () if method.code is None else method.code.instructions


def calls(one: Instruction) -> tuple[Member, ...]:
    """The methods that an instruction calls, or that are called by an object that it creates."""
    if isinstance(one, Call):
        return (one.method,)
    if isinstance(one, Dynamic):
        return tuple(given.member for given in one.arguments if isinstance(given, Handle))
    return ()
