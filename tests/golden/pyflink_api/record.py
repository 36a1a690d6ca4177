"""Writes down what ``pyflink.common`` and ``pyflink.datastream`` offer to a program, with ``pyflink.metrics``, as lines of text.

Run it with the Python that has the PyFlink to record: ``python record.py > pyflink-2.3.txt``. The test calls the same
functions on what compat serves under PyFlink's names. Needs nothing but Python and starts no JVM.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import re
import sys
from typing import Any, Iterable, Iterator, TypeVar

TREES = ("pyflink.common", "pyflink.datastream", "pyflink.metrics")
_FOREIGN = ("builtins", "abc", "enum", "typing", "collections", "collections.abc")


def modules() -> list[str]:
    """The modules of both trees that a program may import, without PyFlink's own tests and examples."""
    found = list(TREES)
    for tree in TREES:
        package = importlib.import_module(tree)
        found += [each.name for each in pkgutil.walk_packages(package.__path__, f"{tree}.")]
    return sorted(name for name in found if not re.search(r"\.(tests|examples)(\.|$)", name))


def api(names: Iterable[str]) -> Iterator[str]:
    """The lines of the modules with these names, each followed by what it holds."""
    for name in names:
        module = importlib.import_module(name)
        yield f"module {name}"
        if hasattr(module, "__all__"):
            yield f"  all {' '.join(sorted(set(module.__all__)))}"
        for public in sorted(each for each in dir(module) if not each.startswith("_")):
            try:
                value = getattr(module, public)
            except Exception:  # what compat serves and only PyFlink itself has
                continue
            yield from _name(name, public, value)


def _name(module: str, name: str, value: Any) -> Iterator[str]:
    if inspect.ismodule(value):
        return
    home = getattr(value, "__module__", None)
    if isinstance(home, str) and home != module:
        if home.startswith("pyflink.") or home.partition(".")[0] in sys.stdlib_module_names:
            yield f"  {name} = {home}.{_known_as(value) or name}"
        return
    if inspect.isclass(value):
        yield from _class(name, value, "  ")
    elif inspect.isfunction(value):
        yield f"  {name}{_signature(value)}"
    elif isinstance(value, TypeVar):
        yield f"  {name}: TypeVar"
    elif isinstance(value, (int, float, str)) and name != "TYPE_CHECKING":
        yield f"  {name} = {value!r}"


def _known_as(value: Any) -> str | None:
    """The name that a value has in its module: typing's names are no classes."""
    return next((known for known in (getattr(value, each, None) for each in ("__qualname__", "__name__", "_name")) if known), None)


def _class(name: str, found: type, indent: str) -> Iterator[str]:
    yield f"{indent}{'enum' if issubclass(found, enum.Enum) else 'class'} {name}"
    indent += "  "
    if not issubclass(found, enum.Enum):
        yield from _constructor(found, indent)
    for member in sorted(each for each in dir(found) if not each.startswith("_")):
        home = next(base for base in found.__mro__ if member in vars(base))
        if home.__module__.partition(".")[0] in _FOREIGN:
            continue
        try:
            getattr(found, member)
        except AttributeError:
            continue
        value = vars(home)[member]
        plain = inspect.isfunction(value) or isinstance(value, (staticmethod, classmethod, property))
        held = value if plain else getattr(value, "__wrapped__", value)
        yield from _member(found, member, held, indent, inherited=home is not found)


def _constructor(found: type, indent: str) -> Iterator[str]:
    """How a class is called; nothing for one that only PyFlink itself calls, with an object of Java's."""
    made = found.__new__ if found.__init__ is object.__init__ else found.__init__
    if made is object.__new__:
        yield f"{indent}__init__()"
        return
    parameters = list(inspect.signature(made).parameters.values())
    if not any(_is_java(each) and each.default is each.empty for each in parameters):
        yield f"{indent}__init__{_signature(made, bound=True)}"


def _is_java(parameter: inspect.Parameter) -> bool:
    return parameter.name.startswith(("j_", "_j_"))


def _member(owner: type, name: str, value: Any, indent: str, inherited: bool) -> Iterator[str]:
    if issubclass(owner, enum.Enum) and name in owner.__members__:
        yield f"{indent}{name}"
    elif inspect.isclass(value):
        if not inherited:
            yield from _class(name, value, indent)
    elif isinstance(value, (staticmethod, classmethod)):
        bound = isinstance(value, classmethod)
        yield f"{indent}static {name}{_signature(value.__func__, bound=bound)}"
    elif inspect.isfunction(value):
        yield f"{indent}{name}{_signature(value, bound=True)}"
    elif isinstance(value, property):
        yield f"{indent}{name}: property"
    else:
        yield f"{indent}{name}: value"


def _signature(function: Any, bound: bool = False) -> str:
    """Parameters with their kinds and defaults, without types and without ``self``."""
    parameters = list(inspect.signature(function).parameters.values())[1 if bound else 0 :]
    bare = [
        each.replace(annotation=each.empty, default=_default(each.default))
        for each in parameters
        if not (_is_java(each) and each.default is not each.empty)
    ]
    return str(inspect.Signature(bare))


class _Default:
    """A default that prints itself in a way that does not depend on where it was made."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return value
    if isinstance(value, enum.Enum):
        return _Default(f"{type(value).__name__}.{value.name}")
    text = repr(value)
    return _Default(f"<{type(value).__name__}>" if " at 0x" in text else text)


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in api(modules()))
