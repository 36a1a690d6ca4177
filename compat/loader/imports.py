"""Serving a program's ``import pyflink…`` with our own modules, whether or not PyFlink is installed."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from compat.compiler.errors import NeedsPyFlink
from compat.compiler.ours import ROOT, hide_checkout
from compat.compiler.versions import PYFLINK_VERSION

if TYPE_CHECKING:
    from compat.loader.copies import CopiedModules

_TABLE = (
    "This program uses the Table API: its operators are made by Flink's planner, which only a JVM has. compat check and "
    "compat plan build it by PyFlink itself: write pip install 'stream-compat[pyflink]'."
)
_AT_START = frozenset(map(os.path.abspath, sys.path))
"""What this process searched before the program began."""
_TREES = {"datastream": "compat.compiler.datastream", "common": "compat.compiler.datastream.common"}
_PACKAGES = ("datastream", "common", "datastream.connectors", "datastream.formats")
_SIBLINGS = (
    *_TREES.values(),
    "compat.compiler.datastream.state",
    "compat.compiler.datastream.functions",
    "compat.compiler.datastream.window",
    "compat.compiler.datastream.connectors",
    "compat.compiler.datastream.common.typeinfo",
)


class PyFlinkFinder:
    """Finds ``pyflink`` and all below it: our modules under PyFlink's names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of PyFlink; None for any other. Refuses what is not part of the DataStream API."""
        package, _, rest = name.partition(".")
        if package != "pyflink":
            return None
        return ModuleSpec(name, _Loader(_module(rest)), is_package=True)  # type: ignore[arg-type]


class _Loader:
    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put our module in the place of the one that the import system made."""
        sys.modules[module.__name__] = self._module


def _module(rest: str) -> ModuleType:
    if not rest:
        return _made("pyflink", __path__=[], __version__=PYFLINK_VERSION)
    if rest == "version":
        return _made("pyflink.version", __version__=PYFLINK_VERSION)
    tree, _, below = rest.partition(".")
    if tree == "table":
        raise NeedsPyFlink(_TABLE)
    if tree not in _TREES:
        raise NeedsPyFlink(
            f"'pyflink.{rest}' is an inner part of PyFlink that compat does not have: it compiles programs that use "
            "pyflink.datastream and pyflink.common."
        )
    ours = _TREES[tree] + (f".{below}" if below else "")
    try:
        module = importlib.import_module(ours)
    except ModuleNotFoundError as error:
        if error.name != ours:
            raise
        raise ModuleNotFoundError(f"No module named 'pyflink.{rest}'", name=f"pyflink.{rest}") from None
    if rest not in _PACKAGES and not isinstance(vars(module).get("__getattr__"), _Siblings):
        vars(module)["__getattr__"] = _Siblings(f"pyflink.{rest}", vars(module).get("__getattr__"))
    return module


class _Siblings:
    """Looks up what a module does not define: PyFlink's modules also give the classes that they import from one another."""

    def __init__(self, module: str, own: Callable[[str], object] | None) -> None:
        self.module = module
        self.own = own

    def __call__(self, name: str) -> object:
        if self.own is not None:
            try:
                return self.own(name)
            except AttributeError:
                pass
        if name[:1].isupper():
            for sibling in map(importlib.import_module, _SIBLINGS):
                if name in vars(sibling) or name in getattr(sibling, "__all__", ()):
                    return getattr(sibling, name)
        raise AttributeError(f"module {self.module!r} has no attribute {name!r}")


def _made(name: str, **attributes: object) -> ModuleType:
    module = ModuleType(name, "Served by compat in the place of PyFlink.")
    vars(module).update(attributes)
    return module


def prepare_for_programs() -> None:
    """Make this process one that programs can run in: PyFlink is ours, and nothing else of ours is found by a short name."""
    serve_pyflink()
    hide_checkout()


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """Prepares a Python worker for the functions of a program: it finds the modules that the program found.

    ``folders`` come first in its search path, as they did in the program's, and ``last`` at its end. Python puts the working
    directory before all else in a worker; where ``working_directory`` is False, the program did not search it, and it is
    taken off. ``copies`` travel to machines that may not have the folders, or others in their place.
    """

    folders: tuple[str, ...]
    working_directory: bool
    last: tuple[str, ...] = ()
    copies: CopiedModules | None = None

    def __call__(self) -> None:
        """Prepare this process."""
        prepare_for_programs()
        dropped = [] if self.working_directory else [os.getcwd()]
        ahead, behind = self.folders, self.last
        if self.copies is not None:
            ahead, behind = self.copies.found(ahead), self.copies.found(behind)
        placed = {*ahead, *behind}
        rest = [path for path in sys.path if path not in placed and os.path.abspath(path) not in dropped]
        sys.path[:] = [*ahead, *rest, *behind]


def worker_setup(*folders: str, behind: Sequence[str] = (), travelling: bool = False) -> WorkerSetup:
    """The setup of workers for the program of this process, whose own modules are in ``folders`` and where it added.

    In ``behind`` is looked for what is nowhere else.

    With ``travelling``, its modules are sent along: workers may be on other machines.
    """
    from compat.loader.copies import copied_modules

    here = os.getcwd()
    ahead, added = _added_paths(folders)
    last = tuple(dict.fromkeys([*added, *(path for path in behind if path not in ahead)]))
    return WorkerSetup(
        ahead,
        here in ahead or any(os.path.abspath(path) == here for path in sys.path),
        last,
        copied_modules((*ahead, *last), folders) if travelling else None,
    )


def _added_paths(folders: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is searched for modules before Python's own, and behind them: ``folders``, and what the program added."""
    import sysconfig

    standard = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths = [os.path.abspath(path) for path in sys.path]
    start = next((place for place, path in enumerate(paths) if path in standard), len(paths))
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    named = {os.path.abspath(path) for path in given if path} - {os.path.abspath(ROOT)}
    known = {*standard, *(_AT_START - named)}
    own = [path for path in paths if path not in known and os.path.exists(path)]
    ahead = dict.fromkeys([*folders, *(path for path in own if path in paths[:start])])
    return tuple(ahead), tuple(path for path in dict.fromkeys(own) if path not in ahead)


def serve_pyflink() -> None:
    """From now on, imports of PyFlink in this process give our modules."""
    for name in [name for name in sys.modules if name == "pyflink" or name.startswith("pyflink.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, PyFlinkFinder())
