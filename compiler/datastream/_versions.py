"""Members that only some versions of PyFlink have."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, cast

from compat.compiler.datastream._marks import Marked
from compat.compiler.datastream.program import current_program

Member = TypeVar("Member")


class _Mark(Protocol):
    def __call__(self, member: Member, /) -> Member: ...


def only(flink: str) -> _Mark:
    """Marks a method or value of a class that only the PyFlink of one version of Flink has, such as ``"1.20"``."""

    def mark(member: Member) -> Member:
        return cast(Member, _Only(member, flink))

    return mark


class _Only(Marked):
    """Gives a member to programs of its version; to all others the class has none of that name."""

    def __init__(self, member: Any, flink: str) -> None:
        super().__init__(member)
        self._flink = flink

    def __get__(self, instance: Any, owner: type) -> Any:
        flink = current_program().flink
        if flink != self._flink:
            raise AttributeError(
                f"{owner.__name__!r} object has no attribute {self._name!r} in PyFlink {flink}: only PyFlink "
                f"{self._flink} has it (--flink {self._flink}).",
                name=self._name,
                obj=owner if instance is None else instance,
            )
        return super().__get__(instance, owner)
