"""Who takes the jobs that a program submits.

The loader sets an executor before it runs a program: one that records the jobs in order to plan them, or one that runs
them.
"""

from __future__ import annotations

from compat.compiler.errors import ProgramError
from compat.compiler.job import Executor

_current: Executor | None = None


def set_executor(executor: Executor | None) -> Executor | None:
    """Give all further jobs to ``executor``; gives the one before."""
    global _current
    before, _current = _current, executor
    return before


def has_executor() -> bool:
    """True if someone takes the jobs of this process."""
    return _current is not None


def current_executor() -> Executor:
    """The executor of this process; refuses if there is none."""
    if _current is None:
        raise ProgramError(
            "Nothing takes the job that this program submits. Plan it with 'compat plan', or run it with 'compat run' or, "
            "after 'import compat.pyflink' as its first line, with python itself: both need the 'spark' extra, "
            "pip install 'stream-compat[spark]'."
        )
    return _current
