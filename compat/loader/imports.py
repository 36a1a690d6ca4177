"""Serves a program's ``import pyflink…`` from compat's own modules, whether or not PyFlink is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from msgspec import Struct

from compat.compiler.datastream.program import Program, start
from compat.compiler.datastream.served import serve
from compat.compiler.errors import NeedsPyFlink
from compat.compiler.own_code import ROOT, hide_checkout
from compat.compiler.versions import LATEST_FLINK
from compat.loader.absent.table import TABLE_API, needs_planner, root_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.loader.copies import CopiedModules

_AT_START = frozenset(map(os.path.abspath, sys.path))
"""The search path of this process before the program began."""


class PyFlinkFinder:
    """Refuses PyFlink modules that are not among the served ones."""

    def __init__(self) -> None:
        self.stand_in: Callable[[str], ModuleSpec | None] = lambda _: None
        """Gives the stand-in for a module of the Table API in a program that may not use it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for any module that is not PyFlink's. Raises for refused ones."""
        package, _, rest = name.partition(".")
        if package != "pyflink":
            return None
        tree = rest.partition(".")[0]
        if root_of(name) == TABLE_API:
            spec = self.stand_in(name)
            if spec is None:
                raise NeedsPyFlink(needs_planner(name))
            return spec
        if tree not in ("common", "datastream", "metrics"):
            raise NeedsPyFlink(
                f"{name} is an internal part of PyFlink that compat does not have: only PyFlink itself builds "
                "programs that need it."
            )
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def prepare_for_programs(flink: str = LATEST_FLINK) -> None:
    """Prepare this process for programs: compat's PyFlink is served, and nothing else of compat is importable by a
    short name.

    ``flink`` is the version of Flink whose PyFlink the programs find.
    """
    serve_pyflink(flink)
    hide_checkout()


class WorkerSetup(Struct, frozen=True):
    """Prepares a Python worker for the functions of a program, so that it finds the same modules.

    ``folders`` come first in its search path, as they did in the program's, and ``last`` at its end. Python puts the
    working directory first in a worker; with ``working_directory`` False, the program did not search it, and it is
    removed. ``copies`` travel to machines that may lack the folders, or have others in their place. ``flink`` is the
    version of Flink whose PyFlink the functions find.
    """

    folders: tuple[str, ...]
    working_directory: bool
    last: tuple[str, ...] = ()
    copies: CopiedModules | None = None
    flink: str = LATEST_FLINK

    def __call__(self) -> None:
        """Prepare this process."""
        prepare_for_programs(self.flink)
        start(Program(flink=self.flink))
        dropped = [] if self.working_directory else [os.getcwd()]
        ahead, behind = self.folders, self.last
        if self.copies is not None:
            ahead, behind = self.copies.found(ahead), self.copies.found(behind)
        placed = {*ahead, *behind}
        rest = [path for path in sys.path if path not in placed and os.path.abspath(path) not in dropped]
        sys.path[:] = [*ahead, *rest, *behind]


def worker_setup(
    *folders: str, behind: Sequence[str] = (), travelling: bool = False, flink: str = LATEST_FLINK
) -> WorkerSetup:
    """The setup of workers for the program of this process, whose own modules are in ``folders`` and in folders that it
    added. ``behind`` is searched last.

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
        flink,
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


def let_table_api_stand(stand_in: Callable[[str], ModuleSpec | None]) -> None:
    """From now on, imports of the Table API give the results of ``stand_in``; those for which that is None are refused."""
    for finder in sys.meta_path:
        if isinstance(finder, PyFlinkFinder):
            finder.stand_in = stand_in


def serve_pyflink(flink: str = LATEST_FLINK) -> None:
    """From now on, imports of PyFlink in this process give compat's modules for that version of Flink."""
    serve(flink)
    if not any(isinstance(finder, PyFlinkFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, PyFlinkFinder())
