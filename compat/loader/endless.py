"""Ends a program that waits without end behind its last job: in Flink it waits until the job ends, which here never runs.

A wait between two jobs is passed over quickly, so that the second is reached. Interpreters that may lack compat load this
module too: it imports only the standard library, in the syntax of Python 3.8.
"""

from __future__ import annotations

import linecache
import re
import sys
import threading
import time
import typing

MOST = 500
"""After so many waits on a line, without a new job, no end is to be expected."""
_SHORT = 0.001
_SUBMITS = re.compile(r"\.execute\w*\(")


class Endless(BaseException):
    """Raised where a program waits without end: no ``except Exception`` of the program catches it."""


def end_behind_jobs(
    jobs: typing.Callable[[], int], is_own: typing.Callable[[str], bool]
) -> typing.List[typing.Tuple[str, int]]:  # noqa: UP006 - for Python 3.8
    """Have ``time.sleep`` end the program once it waits behind its last job; gives a list which gets the line of that.

    ``jobs`` gives how many were submitted so far; only waits in files that ``is_own`` takes for the program's count.
    """
    asleep = time.sleep
    waits: typing.Dict[typing.Any, int] = {}  # noqa: UP006 - for Python 3.8
    ended: typing.List[typing.Tuple[str, int]] = []  # noqa: UP006 - for Python 3.8

    def sleep(seconds: typing.Any) -> None:
        frame, submitted = sys._getframe(1), jobs()
        main = threading.current_thread() is threading.main_thread()
        if not submitted or not main or not is_own(frame.f_code.co_filename):
            asleep(seconds)
            return
        place = (frame.f_code.co_filename, frame.f_lineno)
        waits[submitted, place] = waits.get((submitted, place), 0) + 1
        if waits[submitted, place] > MOST and not _submits_behind(*place):
            ended[:] = [place]
            raise Endless()
        asleep(min(seconds, _SHORT) if waits[submitted, place] <= MOST else seconds)

    time.sleep = sleep
    return ended


def _submits_behind(file: str, line: int) -> bool:
    """Whether a program has calls behind a line that may submit another job: then the wait may be for the one before it."""
    return any(_SUBMITS.search(one) for one in linecache.getlines(file)[line:])
