"""The program's own classes whose objects a function may put into pickled states: a pickle finds them by their names."""

from __future__ import annotations

import sys
from typing import Any

from compat.compiler.ours import is_our_module
from compat.plan.methods import names_used


def classes_made(function: Any) -> list[str]:
    """The classes in the module of a function's class that its methods mention, as ``module:name``; those of functions of
    PyFlink's are left out, since they hold no values."""
    mentioned = names_used(function)
    return sorted(name for name, kept in _known(function).items() if kept.__name__ in mentioned)


def classes_known(function: Any) -> list[str]:
    """All such classes in the module of a function's class."""
    return sorted(_known(function))


def _known(function: Any) -> dict[str, type]:
    module = type(function).__module__
    found = vars(sys.modules.get(module, object)) if module in sys.modules else {}
    return {
        f"{module}:{name}": value
        for name, value in found.items()
        if isinstance(value, type) and value.__module__ == module and not _is_a_function(value)
    }


def _is_a_function(kept: type) -> bool:
    return any(is_our_module(base.__module__) for base in kept.__mro__)
