"""Whether the functions of a program can be sent to the workers that run them.

PyFlink serializes each function with cloudpickle when an operator is made. Most functions hold only objects that can be pickled
for certain. Only for the others is cloudpickle tried.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from compat.compiler.errors import ProgramError
from compat.compiler.own_code import is_our_module
from compat.compiler.transformations.kinds import PhysicalTransformation
from compat.compiler.transformations.operators import Operator
from compat.compiler.transformations.pipeline import Pipeline

_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, range, type(...), ModuleType, Enum)
_PICKLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
_MADE_IN_PYTHON = 1 << 9
_GLOBAL = ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL")
_OF_CLASSES = ("__dict__", "__weakref__", "_abc_impl")


def check_functions(pipeline: Pipeline) -> None:
    """Raise :class:`ProgramError` for the first function that cannot be sent; it names the obstacle."""
    for transformation in pipeline:
        operator = getattr(transformation, "operator", None)
        if not isinstance(transformation, PhysicalTransformation) or not isinstance(operator, Operator):
            continue
        for path, value in _doubtful(_parts(operator)):
            problem = _refusal(value)
            if problem is not None:
                raise ProgramError(
                    f"{path} of {transformation.name!r} cannot be sent to the workers: {problem}. It is "
                    f"{_article(type(value).__qualname__)}: make it in open() of a function class, not outside.",
                    operator=transformation.name,
                    location=transformation.location,
                )


def _parts(operator: Operator) -> Iterator[tuple[str, Any]]:
    yield _named(operator.function), operator.function
    for name, value in operator.parameters():
        yield f"the {name.replace('_', ' ')}", value
    for chained in operator.chained:
        yield from _parts(chained)


def _named(function: Any) -> str:
    if isinstance(function, FunctionType):
        return f"the function {function.__qualname__}"
    return f"the function {type(function).__qualname__}"


def _doubtful(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The values in reach of the parts of which looking does not tell that they can be sent; each with its name."""
    waiting, seen = list(parts), set[int]()
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _PLAIN) or id(value) in seen:
            continue
        seen.add(id(value))
        held = _held(value)
        if held is None:
            yield path, value
        else:
            waiting += [(f"{name!r} in {path}" if name else path, one) for name, one in held]


def _held(value: Any) -> Iterable[tuple[str, Any]] | None:
    """The values that are sent along with a value, by name; None if that cannot be told."""
    match value:
        case list() | tuple() | set() | frozenset():
            return [("", one) for one in value if not isinstance(one, _PLAIN)]
        case dict():
            return [("", one) for pair in value.items() for one in pair if not isinstance(one, _PLAIN)]
        case FunctionType():
            return () if _is_imported(value) else _of_function(value)
        case MethodType():
            return [("", value.__self__), ("", value.__func__)]
        case staticmethod() | classmethod():
            return [("", value.__func__)]
        case property():
            return [("", one) for one in (value.fget, value.fset, value.fdel)]
        case BuiltinFunctionType():
            return [("", value.__self__)]
        case GetSetDescriptorType() | MemberDescriptorType():
            return ()
        case type():
            return () if _is_imported(value) else _of_class(value)
    return _of_object(value)


def _of_class(kind: type) -> list[tuple[str, Any]]:
    own = [(name, one) for name, one in vars(kind).items() if name not in _OF_CLASSES]
    return [*own, *(("", base) for base in kind.__bases__)]


def _of_object(value: Any) -> Iterable[tuple[str, Any]] | None:
    """The attributes of an object whose class is written in Python and leaves pickling to Python; None for others."""
    kind = type(value)
    classes = kind.__mro__[:-1]
    root = vars(classes[-1])
    if not all(one.__flags__ & _MADE_IN_PYTHON for one in classes) or not ("__dict__" in root or "__slots__" in root):
        return None
    if any(getattr(kind, name, None) is not getattr(object, name, None) for name in _PICKLING):
        return None
    slots = [(name, getattr(value, name)) for base in classes for name in _slots(base) if hasattr(value, name)]
    return [("", kind), *getattr(value, "__dict__", {}).items(), *slots]


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _of_function(function: FunctionType) -> list[tuple[str, Any]]:
    scope = function.__globals__
    used = [(name, scope[name]) for name in dict.fromkeys(_names(function.__code__)) if name in scope]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            used.append((name, cell.cell_contents))
        except ValueError:
            continue  # not yet bound
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [*used, *(("", one) for one in defaults), *vars(function).items()]


def _names(code: CodeType) -> Iterator[str]:
    """The global names that code reads or sets; ``co_names`` has those of attributes, too."""
    yield from (each.argval for each in dis.get_instructions(code) if each.opname in _GLOBAL)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_imported(value: FunctionType | type) -> bool:
    """True for what a worker finds by its name: it is sent as that name."""
    if value.__module__ == "__main__" or "<locals>" in value.__qualname__:
        return False
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _refusal(value: Any) -> str | None:
    """Why cloudpickle cannot write a value; None if it can."""
    try:
        if is_our_module(type(value).__module__):
            value.__reduce_ex__(4)
        else:
            import cloudpickle

            cloudpickle.dumps(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
