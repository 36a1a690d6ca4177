"""The names by which a Python function has its states, and how its code uses them."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from types import CodeType, FunctionType, MappingProxyType
from typing import Any

from compat.compiler.own_code import is_library, is_our_module
from compat.plan.asked import KNOWN_BEFORE
from compat.plan.methods import closure_of, methods_of
from compat.plan.put import puts
from compat.plan.texts import texts_of
from compat.state.descriptors import StateDescriptor
from compat.state.model.behaviour import MOST_ROLES, Holding, in_its_role

_OF_INPUTS = (("process_element1", "map1", "flat_map1"), ("process_element2", "map2", "flat_map2"))
_WITHIN = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
"""Code that runs where it is written."""
_DEPTH = 4
_MOST = 1000


def holding_of(
    function: Any, names: Mapping[int, str], trigger: Any = None, asked: Set[str] = frozenset()
) -> Holding | None:
    """The states that an opened function has, whose names are ``names`` by the identity of their stand-ins, and those of which
    it has the descriptors: in attributes and what is in them, or in variables around its methods. Also those that are
    ``asked`` for while it, or its trigger, processes. None if there are none.
    """
    reach = _Reach(names)
    for one in (function, trigger) if trigger is not None and _is_own(type(trigger)) else (function,):
        reach.around(one)
        reach.within(one)
    places = dict(_places(reach.methods, asked))
    if not reach.fields and not places:
        return None
    sides = list(_entries(reach.methods))
    return Holding(
        fields={**reach.fields, **places},
        code=_digest(reach.methods, reach.fields, {}, asked),
        code_by_state=_digest(reach.methods, reach.fields, reach.fields, frozenset()),
        inputs=tuple(_used(side, reach.fields) for side in sides),
        changed=tuple(_changed(side, reach.fields) for side in sides),
        roles=dict(_roles(reach.methods, reach.fields)),
    )


def _roles(methods: list[FunctionType], fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """By state, a digest of the code in which only this one can be told from the others."""
    for state in sorted(set(fields.values()))[:MOST_ROLES]:
        if roles := in_its_role(state, fields):
            yield state, _digest(methods, fields, roles, frozenset())


def _places(methods: Iterable[FunctionType], asked: Set[str]) -> Iterator[tuple[str, str]]:
    """The states that methods ask for by a text in their code, by the number of this text."""
    for method in methods:
        if method.__name__ not in KNOWN_BEFORE:
            for name, number in _numbered(method, asked).items():
                yield f"{method.__qualname__}[{number}]", name


def _numbered(method: FunctionType, asked: Set[str]) -> dict[str, int]:
    """The names of states in the text of a method, in their order there."""
    found = dict.fromkeys(text for text in _texts(method.__code__) if text in asked)
    return {name: number for number, name in enumerate(found)}


class _Reach:
    """What a function can come to without a call: ``fields`` are the names of states by where they are, ``methods`` the code
    that may use them, the function's own and that of the objects that help it."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self.fields: dict[str, str] = {}
        self.methods: list[FunctionType] = []
        self._names = names
        self._seen: set[int] = set()

    def around(self, function: Any) -> None:
        """Look at the variables around the function's methods that these name."""
        for method in methods_of(function):
            used = set(_names(method.__code__))
            around = {**method.__globals__, **closure_of(method)}
            for name in sorted(used & around.keys()):
                if not self._held(name, around[name]):
                    self._inside(name, around[name], 1)

    def within(self, holder: Any, path: str = "", depth: int = 0) -> None:
        """Look at the attributes of an object, those of the object behind the class's, and at its code."""
        self.methods += methods_of(holder)
        for owner in reversed(type(holder).__mro__):
            for name, value in vars(owner).items():
                self._held(path + name, value)
        for name, value in getattr(holder, "__dict__", {}).items():
            if not self._held(path + name, value):
                self._inside(path + name, value, depth + 1)

    def _held(self, path: str, value: Any) -> bool:
        """Whether a value is a state or its descriptor, which is noted."""
        state = value.name if isinstance(value, StateDescriptor) else self._names.get(id(value))
        if state is not None:
            self.fields[path] = state
        return state is not None

    def _inside(self, path: str, value: Any, depth: int) -> None:
        """Look into a collection, or an object of a class of the program's."""
        if depth > _DEPTH or id(value) in self._seen or len(self._seen) > _MOST:
            return
        self._seen.add(id(value))
        if isinstance(value, dict | list | tuple):
            for key, one in value.items() if isinstance(value, dict) else enumerate(value):
                if not self._held(f"{path}[{key!r}]", one):
                    self._inside(f"{path}[{key!r}]", one, depth + 1)
        elif _is_own(type(value)):
            self.within(value, f"{path}.", depth)


def _is_own(cls: type) -> bool:
    """Whether a class is one that the program wrote."""
    if cls.__module__ == "__main__" or is_our_module(cls.__module__):
        return cls.__module__ == "__main__"
    path = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return path is not None and not is_library(path)


def _names(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names(one)


def _digest(
    methods: Iterable[FunctionType], fields: Mapping[str, str], renamed: Mapping[str, str], masked: Set[str]
) -> str:
    """A digest of the methods that do not name a state of the ``fields`` nor fill them; attributes count by what ``renamed``
    calls them, and places in collections and helping objects, which the code reaches step by step, with it. Names that are
    ``masked`` count by their order.
    """
    states = set(fields.values())
    told = sorted(
        f"{method.__name__} {text_of(method.__code__, renamed, _numbered(method, masked))}"
        for method in methods
        if states.isdisjoint(_texts(method.__code__)) and not _only_fills(method)
    )
    told += sorted(f"{place} {state}" for place, state in renamed.items() if not place.isidentifier())
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _only_fills(method: FunctionType) -> bool:
    """Whether a method has run before the first record, and leaves no function behind: the fields show what it did."""
    left = (one.co_name for one in method.__code__.co_consts if isinstance(one, CodeType))
    return method.__name__ in KNOWN_BEFORE and all(name in _WITHIN for name in left)


def text_of(code: CodeType, renamed: Mapping[str, str], masked: Mapping[str, int] = MappingProxyType({})) -> str:
    """The code as text, without lines and files; names count by what ``renamed`` calls them, texts that are ``masked`` by
    their numbers."""
    constants = [
        text_of(one, renamed, masked) if isinstance(one, CodeType) else _constant(one, masked) for one in code.co_consts
    ]
    names, outer = (
        [f"state {renamed[name]}" if name in renamed else name for name in some]
        for some in (code.co_names, code.co_freevars)
    )
    return f"{code.co_code.hex()} {names} {code.co_varnames} {outer} {constants}"


def _constant(one: object, masked: Mapping[str, int]) -> str:
    """A constant as text; a set's order says nothing."""
    if isinstance(one, str) and one in masked:
        return f"state {masked[one]}"
    return f"{{{sorted(map(repr, one))}}}" if isinstance(one, frozenset) else repr(one)


def _texts(code: CodeType) -> Iterator[str]:
    return (text for one in code.co_consts for text in _texts_in(one))


def _texts_in(constant: Any) -> Iterator[str]:
    """The texts in a constant of code; what code goes through is a tuple."""
    if isinstance(constant, CodeType):
        yield from _texts(constant)
    elif isinstance(constant, tuple | frozenset):
        yield from (text for one in constant for text in _texts_in(one))
    elif isinstance(constant, str):
        yield constant


def _entries(methods: Iterable[FunctionType]) -> Iterator[list[FunctionType]]:
    """For each input of a function of two, its method for that input's records, and those of its methods that this calls."""
    by_name = {method.__name__: method for method in methods}
    entries = [next((by_name[name] for name in names if name in by_name), None) for names in _OF_INPUTS]
    for entry in entries if None not in entries else ():
        assert entry is not None
        yield _called(entry, by_name)


def _called(entry: FunctionType, by_name: Mapping[str, FunctionType]) -> list[FunctionType]:
    found = {entry.__name__: entry}
    todo = [entry]
    while todo:
        names = set(_names(todo.pop().__code__)) & by_name.keys() - found.keys()
        found |= {name: by_name[name] for name in names}
        todo += [by_name[name] for name in names]
    return list(found.values())


def _used(methods: Iterable[FunctionType], fields: Mapping[str, str]) -> tuple[str, ...]:
    """The states in the attributes that methods mention."""
    return tuple(sorted({fields[name] for one in methods for name in _names(one.__code__) if name in fields}))


def _changed(methods: Iterable[FunctionType], fields: Mapping[str, str]) -> tuple[str, ...]:
    """The states into which methods put something."""
    return tuple(sorted({state for text in texts_of(None, iter(methods)) for state, _ in puts(text, fields)}))
