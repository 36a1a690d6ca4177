"""Notes that a program uses members that PyFlink lacks."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, TypeVar, cast

from compat.compiler.datastream._location import here
from compat.compiler.datastream._marks import Marked
from compat.compiler.datastream.program import current_program
from compat.compiler.own_code import is_machinery

Member = TypeVar("Member")


def beyond(member: Member) -> Member:
    """Marks a member that PyFlink lacks. The first place where the program names it is noted, whether it calls it or not."""
    return cast(Member, Beyond(member))


class Beyond(Marked):
    """A member that PyFlink lacks."""

    def __get__(self, instance: Any, owner: type) -> Any:
        note(f"{owner.__name__}.{self._name}", sys._getframe(1))
        return super().__get__(instance, owner)


def note(name: str, frame: FrameType) -> None:
    """Note that ``frame`` names a member that PyFlink lacks, unless it is in our own code."""
    if not is_machinery(frame.f_code.co_filename):
        current_program().beyond.setdefault(name, here())


def marked(owner: type) -> frozenset[str]:
    """The names of the members of a class that PyFlink lacks."""
    return frozenset(
        name for base in owner.__mro__ for name, member in vars(base).items() if isinstance(member, Beyond)
    )
