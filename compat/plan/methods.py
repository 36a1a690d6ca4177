"""The methods that a program gave to a function object, and the names in them."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator, Set
from types import CellType, CodeType, FunctionType
from typing import Any

from compat.compiler.errors import Location
from compat.compiler.own_code import is_our_module

_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def methods_of(function: Any) -> Iterator[FunctionType]:
    """The methods that a program gave a function object, with those that they wrap by their own account."""
    yield from _unwrapped(function)
    for owner in [] if isinstance(function, FunctionType) else type(function).__mro__:
        if not is_our_module(owner.__module__):
            for member in vars(owner).values():
                yield from _unwrapped(member)


def names_used(function: Any) -> set[str]:
    """All names in the methods of a function object, including nested code."""
    return {name for code in _codes_of(function) for name in code.co_names}


def places_of(function: Any, attributes: Set[str]) -> Iterator[tuple[str, Location]]:
    """The places where the methods of a function object, including nested code, name attributes."""
    for code in _codes_of(function):
        for each in () if attributes.isdisjoint(code.co_names) else dis.get_instructions(code):
            if each.opname in _ATTRIBUTES and each.argval in attributes and each.positions and each.positions.lineno:
                yield each.argval, Location(code.co_filename, each.positions.lineno)


def closure_of(function: FunctionType) -> dict[str, Any]:
    """The variables of outer functions that a function uses; None stands for one that is filled later."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return {name: _content(cell) for name, cell in cells}


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _codes_of(function: Any) -> Iterator[CodeType]:
    codes = [method.__code__ for method in methods_of(function)]
    while codes:
        code = codes.pop()
        yield code
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _unwrapped(member: Any) -> Iterator[FunctionType]:
    """A function, and those that it wraps by its own account; those behind a property or a method of the class."""
    if isinstance(member, property):
        for one in (member.fget, member.fset, member.fdel):
            yield from _unwrapped(one)
        return
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    elif isinstance(member, functools.cached_property):
        member = member.func
    seen = set[int]()
    while member is not None and id(member) not in seen:
        seen.add(id(member))
        if isinstance(member, FunctionType):
            yield member
        member = getattr(member, "__dict__", {}).get("__wrapped__")
