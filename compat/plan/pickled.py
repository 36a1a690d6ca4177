"""The contents of the pickles in a program's states: the classes of the objects that its code puts there, and their
structure.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import enum
from collections.abc import Collection, Iterator, Mapping
from types import FunctionType
from typing import Any

from compat.plan.made import attributes_of, attributes_set, of_pickles, own_classes, written_in
from compat.plan.methods import methods_of
from compat.plan.put import puts
from compat.plan.texts import texts_of

_OF_MEMBERS = frozenset({"list", "tuple", "set", "frozenset", "sorted"})
ENUM, NAMED_TUPLE, DATACLASS, OBJECT = "enum", "named tuple", "dataclass", "object"


def classes_put(function: Any, fields: Mapping[str, str]) -> dict[str, list[str]]:
    """The classes whose objects the code of a function puts into its states, as ``module:name``, by the name of the state.

    ``fields`` are the names of the states by the attributes that hold them. Objects stored in other ways are not seen.
    """
    known = {name.partition(":")[2]: written_in(kept) for name, kept in own_classes(function).items()}
    found: dict[str, set[str]] = {}
    for text in texts_of(function, methods_of(function)):
        made: dict[str, set[str]] = {}
        for name, values in text.values.items():
            made.setdefault(name, set()).update(one for value in values for one in _objects(value, known, made))
        for state, call in puts(text, fields):
            names = {name for part in call.args for name in _objects(part, known, made)}
            found.setdefault(state, set()).update(known[name] for name in names)
    return {state: sorted(names) for state, names in found.items() if names}


def _objects(given: ast.expr, known: Collection[str], made: Mapping[str, set[str]]) -> Iterator[str]:
    """The known classes whose objects an expression gives, or holds."""
    if isinstance(given, ast.Name):
        yield from made.get(given.id, ())
    elif isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name) and given.value.id in known:
        yield given.value.id  # a member of an enum
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id in known:
        yield given.func.id
        for part in (*given.args, *(one.value for one in given.keywords)):
            yield from _objects(part, known, made)
    elif isinstance(given, ast.Subscript):
        yield from _members(given.value, known, made)
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id in _OF_MEMBERS:
        for part in given.args:
            yield from _members(part, known, made)
    elif isinstance(given, ast.Tuple | ast.List | ast.Set | ast.Dict | ast.IfExp | ast.BoolOp | ast.Starred):
        for child in ast.iter_child_nodes(given):
            if isinstance(child, ast.expr):
                yield from _objects(child, known, made)


def _members(given: ast.expr, known: Collection[str], made: Mapping[str, set[str]]) -> Iterator[str]:
    """The known classes of what a collection has, or of whose members one is taken: ``C["RED"]``, ``list(C)``."""
    if isinstance(given, ast.Name) and given.id in known:
        yield given.id
    else:
        yield from _objects(given, known, made)


def classes_shaped(function: Any) -> dict[str, list[str]]:
    """The structure of the objects of each class in the module of a function's class, as far as loading depends on it.

    First the sort of the class, then ``value VALUE NAME`` of a member, ``field NAME``, and ``default NAME``. A class
    that defines its own pickling, or whose objects have individual attributes, is left out.
    """
    found = ((name, shape(kept)) for name, kept in own_classes(function).items())
    return {name: parts for name, parts in found if parts is not None}


def shape(kept: type) -> list[str] | None:
    """The structure of the objects of a class; None if unknown."""
    if issubclass(kept, enum.Enum):
        return _of_enum(kept)
    names = getattr(kept, "_fields", None)
    if issubclass(kept, tuple) and isinstance(names, tuple):
        if kept.__bases__ != (tuple,) or not of_pickles(kept) <= {"__new__", "__getnewargs__"}:
            return None
        defaults = getattr(kept, "_field_defaults", {})
        return [NAMED_TUPLE, *(f"field {name}" for name in names), *(f"default {name}" for name in defaults)]
    return _of_dataclass(kept) if dataclasses.is_dataclass(kept) else _of_object(kept)


def _of_enum(kept: type[enum.Enum]) -> list[str] | None:
    own = any("_missing_" in vars(base) for base in kept.__mro__ if base.__module__ != "enum")
    plain = all(isinstance(one.value, str | int) for one in kept)
    if own or not plain or issubclass(kept, enum.Flag) or kept.__bases__ not in ((enum.Enum,), (enum.IntEnum,)):
        return None
    return [ENUM, *(f"value {member.value!r} {name}" for name, member in kept.__members__.items())]


def _of_dataclass(kept: type) -> list[str] | None:
    fields = [one.name for one in dataclasses.fields(kept)]
    own = kept.__mro__[:-1]
    set_elsewhere = {name for base in own for name in attributes_set(base)} - set(fields)
    if set_elsewhere or any("__slots__" in vars(base) or of_pickles(base) for base in own):
        return None
    defaults = [name for name in fields if any(name in vars(base) for base in own)]
    return [DATACLASS, *(f"field {name}" for name in fields), *(f"default {name}" for name in defaults)]


def _of_object(kept: type) -> list[str] | None:
    """A class of no special sort: the attributes that its constructor sets are those of each object."""
    if kept.__bases__ != (object,) or "__slots__" in vars(kept) or of_pickles(kept) or "__getattr__" in vars(kept):
        return None
    begin = vars(kept).get("__init__")
    if not isinstance(begin, FunctionType) or _branches(begin):
        return None
    fields = sorted(set(attributes_of(begin.__code__)))
    return [
        OBJECT,
        *(f"field {name}" for name in fields),
        *(f"default {name}" for name in fields if name in vars(kept)),
    ]


def _branches(function: FunctionType) -> bool:
    """Whether a constructor may leave something out, or has others do its work."""
    names = {one.opname for one in dis.get_instructions(function)}
    return any("_IF_" in name or name == "FOR_ITER" for name in names) or bool(
        names & {"CALL", "CALL_FUNCTION", "CALL_METHOD"}
    )
