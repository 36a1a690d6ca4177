"""Will the new version of a stateful job restore the old version's state?

The command ``compat`` answers before the deployment. In Python, three functions do the same: :func:`check`, :func:`plan` and
:func:`inspect`. They neither print nor end the process; unreadable input raises :class:`InputError`.

>>> import compat
>>> [outcome.verdict.value for outcome in compat.check("word_count/v1.py", "word_count/v2.py")]
['incompatible']

Names load when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

import sys
from types import ModuleType

__version__ = "1.0.0"

TYPE_CHECKING = False  # the name is what type checkers look for; importing typing would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from compat.api import Inspection, StateSummary, StoredOperator, check, inspect, plan
    from compat.check.findings import Finding, Fix, Level, Report, Verdict
    from compat.check.undecided import Undecided
    from compat.loader.failure import Failure
    from compat.loader.inputs import FlinkJars, InputError
    from compat.plan.facts import Program
    from compat.state.model.operators import Operator
    from compat.state.model.states import State

__all__ = [
    "Failure",
    "Finding",
    "Fix",
    "FlinkJars",
    "InputError",
    "Inspection",
    "Level",
    "Operator",
    "Program",
    "Report",
    "State",
    "StateSummary",
    "StoredOperator",
    "Undecided",
    "Verdict",
    "__version__",
    "check",
    "inspect",
    "plan",
]

_HOMES = {
    "compat.api": ("Inspection", "StateSummary", "StoredOperator", "check", "inspect", "plan"),
    "compat.check.findings": ("Finding", "Fix", "Level", "Report", "Verdict"),
    "compat.check.undecided": ("Undecided",),
    "compat.loader.failure": ("Failure",),
    "compat.loader.inputs": ("FlinkJars", "InputError"),
    "compat.plan.facts": ("Program",),
    "compat.state.model.operators": ("Operator",),
    "compat.state.model.states": ("State",),
}
_PACKAGES = ("check", "plan")
"""Packages that share their name with a function."""


class _CallablePackage(ModuleType):
    """A package that can be called as the function of its name: ``compat.check(…)`` beside ``compat.check.findings``."""

    @property
    def __wrapped__(self) -> Any:
        from compat import api

        return getattr(api, self.__name__.rpartition(".")[2])

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.__wrapped__(*arguments, **options)


class _Package(ModuleType):
    """Makes the packages callable when they are first imported, wherever that happens."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _PACKAGES and isinstance(value, ModuleType):
            value.__class__ = _CallablePackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
