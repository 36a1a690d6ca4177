"""The methods that a program gave to a function object, and the names that they mention."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from compat.compiler.ours import is_our_module


def methods_of(function: Any) -> Iterator[FunctionType]:
    """The methods that a program gave a function object, with those that they wrap by their own account."""
    yield from _unwrapped(function)
    for owner in [] if isinstance(function, FunctionType) else type(function).__mro__:
        if not is_our_module(owner.__module__):
            for member in vars(owner).values():
                yield from _unwrapped(member)


def names_used(function: Any) -> set[str]:
    """All names that the methods of a function object mention, and what is written inside them."""
    names: set[str] = set()
    codes = [method.__code__ for method in methods_of(function)]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names


def _unwrapped(member: Any) -> Iterator[FunctionType]:
    """A function, and those that it wraps by its own account."""
    seen = set[int]()
    while member is not None and id(member) not in seen:
        seen.add(id(member))
        if isinstance(member, FunctionType):
            yield member
        member = getattr(member, "__dict__", {}).get("__wrapped__")
