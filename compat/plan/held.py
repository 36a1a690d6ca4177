"""The attributes in which a Python function holds its states, and how its code uses them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from compat.plan.methods import methods_of
from compat.state.model.behaviour import Holding

_OF_INPUTS = (("process_element1", "map1", "flat_map1"), ("process_element2", "map2", "flat_map2"))


def holding_of(function: Any, names: Mapping[int, str]) -> Holding | None:
    """The states in the attributes of an opened function; ``names`` are their names, by the identity of their
    stand-ins. None if it holds none in this way.
    """
    fields = {
        attribute: names[id(value)]
        for attribute, value in getattr(function, "__dict__", {}).items()
        if id(value) in names
    }
    if not fields:
        return None
    methods = list(methods_of(function))
    return Holding(
        fields=fields,
        code=_digest(methods, fields, {}),
        code_by_state=_digest(methods, fields, fields),
        inputs=tuple(_inputs(methods, fields)),
    )


def _digest(methods: Iterable[FunctionType], fields: Mapping[str, str], renamed: Mapping[str, str]) -> str:
    """A digest of the methods that do not name a state; attributes count by what ``renamed`` calls them."""
    states = set(fields.values())
    told = sorted(
        f"{method.__name__} {_text(method.__code__, renamed)}"
        for method in methods
        if states.isdisjoint(_texts(method.__code__))
    )
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _text(code: CodeType, renamed: Mapping[str, str]) -> str:
    """The code as text, without lines and files."""
    constants = [_text(one, renamed) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    names = [f"state {renamed[name]}" if name in renamed else name for name in code.co_names]
    return f"{code.co_code.hex()} {names} {code.co_varnames} {code.co_freevars} {constants}"


def _texts(code: CodeType) -> Iterator[str]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _texts(one)
        elif isinstance(one, str):
            yield one


def _inputs(methods: Iterable[FunctionType], fields: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """For each input of a function of two, the states in the attributes that its code for that input's records uses."""
    by_name = {method.__name__: method for method in methods}
    entries = [next((by_name[name] for name in names if name in by_name), None) for names in _OF_INPUTS]
    for entry in entries if None not in entries else ():
        assert entry is not None
        yield tuple(sorted({fields[name] for name in _used(entry, by_name) if name in fields}))


def _used(entry: FunctionType, by_name: Mapping[str, FunctionType]) -> set[str]:
    """The names that a method mentions, itself or in methods of the function that it calls."""
    found: set[str] = set()
    codes = [entry.__code__]
    while codes:
        code = codes.pop()
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
        codes += [by_name[name].__code__ for name in code.co_names if name in by_name and name not in found]
        found.update(code.co_names)
    return found
