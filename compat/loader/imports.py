"""Serving a program's ``import pyflink…`` with our own modules, whether or not PyFlink is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType

from compat.compiler.datastream.program import Program, start
from compat.compiler.datastream.served import serve
from compat.compiler.errors import NeedsPyFlink
from compat.compiler.ours import hide_checkout
from compat.compiler.versions import LATEST_FLINK

_TABLE = (
    "{name} is a part of the Table API: its operators are made by Flink's planner, which only a JVM has. compat check and "
    "compat plan build such programs by PyFlink itself: write pip install 'stream-compat[pyflink]'."
)


class PyFlinkFinder:
    """Refuses what is asked for of PyFlink and not among the modules that are served."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for any module that is not PyFlink's. Raises for all others."""
        package, _, rest = name.partition(".")
        if package != "pyflink":
            return None
        tree = rest.partition(".")[0]
        if tree == "table":
            raise NeedsPyFlink(_TABLE.format(name=name))
        if tree not in ("common", "datastream", "metrics"):
            raise NeedsPyFlink(
                f"{name} is an inner part of PyFlink that compat does not have: only PyFlink itself builds programs "
                "that need it."
            )
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def prepare_for_programs(flink: str = LATEST_FLINK) -> None:
    """Make this process one that programs can run in: PyFlink is ours, and nothing else of ours is found by a short name.

    ``flink`` is the version of Flink whose PyFlink the programs find.
    """
    serve_pyflink(flink)
    hide_checkout()


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """Prepares a Python worker for the functions of a program: it finds the modules that the program found.

    ``folders`` come first in its search path, as they did in the program's. Python puts the working directory before all
    else in a worker; where ``working_directory`` is False, the program did not search it, and it is taken off. ``flink`` is
    the version of Flink whose PyFlink the functions find.
    """

    folders: tuple[str, ...]
    working_directory: bool
    flink: str = LATEST_FLINK

    def __call__(self) -> None:
        """Prepare this process."""
        prepare_for_programs(self.flink)
        start(Program(flink=self.flink))
        dropped = [] if self.working_directory else [os.getcwd()]
        rest = [path for path in sys.path if path not in self.folders and os.path.abspath(path) not in dropped]
        sys.path[:] = [*self.folders, *rest]


def worker_setup(*folders: str, flink: str = LATEST_FLINK) -> WorkerSetup:
    """The setup of workers for a program of this process whose own modules are in ``folders``."""
    here = os.getcwd()
    return WorkerSetup(folders, here in folders or any(os.path.abspath(path) == here for path in sys.path), flink)


def serve_pyflink(flink: str = LATEST_FLINK) -> None:
    """From now on, imports of PyFlink in this process give our modules, as that version of Flink has them."""
    serve(flink)
    if not any(isinstance(finder, PyFlinkFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, PyFlinkFinder())
