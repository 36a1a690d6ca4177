"""The values in a function object, and the program's own classes whose objects it may put into pickled states: a pickle
finds them by name, and contains only their values."""

from __future__ import annotations

import dis
import enum
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from compat.compiler.own_code import is_our_module
from compat.plan.methods import closure_of, names_used
from compat.plan.reached import is_own_module


def classes_made(function: Any) -> list[str]:
    """The classes that the methods of a function mention, as ``module:name`` of where they were written; those of functions
    of PyFlink's are left out, since they hold no values."""
    mentioned = names_used(function)
    around = vars(sys.modules.get(type(function).__module__, object))
    mentioned |= {around[name].__name__ for name in mentioned & around.keys() if isinstance(around[name], type)}
    known = own_classes(function).items()
    return sorted(name for name, kept in known if kept.__name__ in mentioned and name == written_in(kept))


def written_in(kept: type) -> str:
    """Where a pickle looks for a class, as ``module:name``."""
    return f"{kept.__module__}:{kept.__name__}"


def classes_known(function: Any) -> list[str]:
    """All classes of the program in the modules that the one of a function's class knows."""
    return sorted(own_classes(function))


def own_classes(function: Any) -> dict[str, type]:
    """The classes in the module of a function's class and in the program's modules that this one knows, by ``module:name``,
    without functions of PyFlink's."""
    return {
        f"{module}:{name}": value
        for module in _modules_known(type(function).__module__)
        for name, value in vars(sys.modules[module]).items()
        if isinstance(value, type) and _is_there(value, module) and not _is_a_function(value)
    }


def _modules_known(first: str) -> list[str]:
    """A module, and the program's modules of which it, or one of those, has something."""
    found = [first] if first in sys.modules else []
    for module in found:
        for value in list(vars(sys.modules[module]).values()):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(name, str) and name not in found and name in sys.modules and is_own_module(name):
                found.append(name)
    return found


def _is_there(kept: type, module: str) -> bool:
    """Whether pickles find a class in a module: it was written there, or is of the program and imported by its own module."""
    return kept.__module__ == module or (is_own_module(kept.__module__) and module != "__main__")


def _is_a_function(kept: type) -> bool:
    return any(is_our_module(base.__module__) for base in kept.__mro__)


def classes_present(function: Any) -> dict[str, str]:
    """The same digests for all classes of the program that the function's module knows."""
    return {name: digest(sorted(_written(kept))) for name, kept in own_classes(function).items()}


def classes_written(function: Any, made: Iterable[str] | None = None) -> dict[str, str]:
    """Digests of the properties of classes that pickles depend on, for each class that is ``made``, or that the function
    mentions, and its superclasses, by ``module:name``.
    """
    known = own_classes(function)
    found: dict[str, str] = {}
    for name in classes_made(function) if made is None else made:
        for kept in known[name].__mro__ if name in known else ():
            if is_own_module(kept.__module__):
                found[written_in(kept)] = digest(sorted(_written(kept)))
    return found


def _written(kept: type) -> Iterator[str]:
    """What decides how objects of a class are pickled and loaded: constants, fields, attributes, own methods for that."""
    yield from (f"above {base.__qualname__}" for base in kept.__bases__)
    if issubclass(kept, enum.Enum):
        yield from (f"constant {name} {member.value!r}" for name, member in kept.__members__.items())
    yield from (f"field {number} {name}" for number, name in enumerate(getattr(kept, "_fields", ())))
    yield from (f"annotated {name}" for name in vars(kept).get("__annotations__", {}))
    yield f"slots {vars(kept).get('__slots__')!r}"
    yield from (f"attribute {one}" for one in attributes_set(kept))
    for name, code in _codes(kept):
        if name in _OF_PICKLES:
            yield f"method {name} {code.co_code.hex()} {code.co_consts!r} {code.co_names}"


def _codes(kept: type) -> Iterator[tuple[str, CodeType]]:
    for name, member in vars(kept).items():
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        if isinstance(code, CodeType):
            yield name, code


def attributes_set(kept: type) -> Iterator[str]:
    """The attributes that the methods of a class set."""
    for _, code in _codes(kept):
        yield from attributes_of(code)


def of_pickles(kept: type) -> set[str]:
    """The methods by which a class defines the pickling of its objects."""
    return {name for name in vars(kept) if name in _OF_PICKLES}


_OF_PICKLES = frozenset(
    {
        *(
            "__reduce__",
            "__reduce_ex__",
            "__getstate__",
            "__setstate__",
            "__getnewargs__",
            "__getnewargs_ex__",
            "__new__",
        ),
        "_missing_",
    }
)


def attributes_of(code: CodeType) -> Iterator[str]:
    """The attributes that code sets."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_ATTR":
            yield str(instruction.argval)


def values_of(function: Any) -> dict[str, str]:
    """Digests of the plain values that a function object carries, by attribute; of a closure, by the variable's name; of an
    argument that has one unless it is given, by the argument's name."""
    held = dict(getattr(function, "__dict__", {}))
    if isinstance(function, FunctionType):
        held |= closure_of(function)
        held |= {
            name: one.default
            for name, one in inspect.signature(function).parameters.items()
            if one.default is not one.empty
        }
    return {name: digest([repr(value)])[:16] for name, value in sorted(held.items()) if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return isinstance(value, (str, bytes, int, float, bool, enum.Enum)) and type(value).__repr__ is not object.__repr__


def digest(parts: list[str]) -> str:
    """A digest of some texts in their order."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
