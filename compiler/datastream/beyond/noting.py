"""Noting that a program uses what PyFlink lacks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from compat.compiler.datastream._location import here
from compat.compiler.datastream.program import current_program

Member = TypeVar("Member", bound=Callable[..., Any])


def beyond(member: Member) -> Member:
    """A method that PyFlink lacks. The first call of each is noted in the program."""

    @wraps(member)
    def noted(self: Any, *arguments: Any, **named: Any) -> Any:
        current_program().beyond.setdefault(f"{type(self).__name__}.{member.__name__}", here())
        return member(self, *arguments, **named)

    return cast(Member, noted)
