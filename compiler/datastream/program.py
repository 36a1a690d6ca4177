"""The program that is being built: the common parts of its environments, and the executor of its jobs.

PyFlink's API has no object for a program: ``get_execution_environment()`` takes none. So the code that runs a program names it,
with :func:`running` or :func:`start`, and each environment keeps the program that it was made in. Ids, options and jobs of two
programs in one process do not mix: not one after the other, not one within the other, and not in two threads. A thread that a
program starts belongs to the program that was started last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import count

from compat.compiler.configuration import normal_key
from compat.compiler.errors import Location, ProgramError
from compat.compiler.job import Executor
from compat.compiler.transformations.pipeline import IdCounter
from compat.compiler.versions import LATEST_FLINK


@cache
def processors() -> int:
    """The number of this machine's processors, the default parallelism; cached, as programs ask for it again and again."""
    return os.cpu_count() or 1


class Program:
    """One program: the counters that its environments share, and what is given from outside.

    ``executor`` takes the jobs; without one they are refused. Every environment starts with ``options``, as with ``-D`` on a
    command line. ``parallelism`` applies if the program and its options set none; None means the number of processors.
    ``flink`` is the version of Flink whose PyFlink the program is written for.
    ``planning`` says that the executor runs no jobs: then listeners are not called.
    ``beyond`` are the names that the program used and PyFlink lacks, with the line; ``on_spark`` says that it is written for
    jobs on Spark, which have them.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        *,
        options: Mapping[str, str] | None = None,
        parallelism: int | None = None,
        flink: str = LATEST_FLINK,
        planning: bool = False,
    ) -> None:
        self.executor = executor
        self.flink = flink
        self.planning = planning
        self.on_spark = False
        self.beyond: dict[str, Location | None] = {}
        self.counter = IdCounter()
        self.options = {normal_key(key): text for key, text in (options or {}).items()}
        self._parallelism = parallelism
        self._selectors = count(1)

    @property
    def parallelism(self) -> int:
        """The parallelism if the program and its options set none."""
        return self._parallelism or processors()

    def set_local_parallelism(self, parallelism: int) -> None:
        """Set the default parallelism, as the program asks for."""
        self._parallelism = parallelism

    def new_selector(self) -> int:
        """A number that no other key selector of the program has."""
        return next(self._selectors)

    def require_executor(self) -> Executor:
        """The executor of the jobs. Raises ProgramError if there is none."""
        if self.executor is None:
            raise ProgramError(
                "Nothing takes the job that this program submits. Plan it with 'compat plan', or run it with 'compat "
                "job run' or, "
                "after 'import compat.pyflink' as its first line, with python itself: both need the 'spark' extra, "
                "pip install 'stream-compat[spark]'."
            )
        return self.executor


_here: ContextVar[Program | None] = ContextVar("program", default=None)
_started = [Program()]
"""The program that was started last, for threads; at first one that nobody takes jobs of."""


def current_program() -> Program:
    """The program that runs in this context."""
    return _here.get() or _started[-1]


def start(program: Program) -> None:
    """From now on the process runs ``program``, and no other one after it."""
    _here.set(program)
    _started[:] = [program]


@contextmanager
def running(program: Program) -> Iterator[Program]:
    """Run ``program`` within the block; what ran before goes on behind it."""
    token = _here.set(program)
    _started.append(program)
    try:
        yield program
    finally:
        _started.remove(program)
        _here.reset(token)
