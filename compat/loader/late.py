"""What to do about a program whose time is up: one that computes needs more of it, one that waits does not."""

from __future__ import annotations

import os
import re

from compat.loader.request import Frame

MOST_SECONDS = 1_000_000
"""The longest time that a program can be given; the clock takes no infinite one."""
_WAITING_CALL = re.compile(
    r"\b(?:sleep|wait|join|recv|connect|create_connection|accept|select|poll|urlopen|input)\(|\brequests\.\w+\("
)
_WAITING_CODE = frozenset({"socket", "ssl", "selectors", "threading", "subprocess", "queue", "client"})
"""Modules of Python in which a program stands that waits."""
_STACK = re.compile(r"^(?:Current thread|Thread) ", re.MULTILINE)
_STACK_LINE = re.compile(r'\s+File "(.+)", line (\d+) in (.+)')
COMPUTES = (
    "Give it more time with --timeout SECONDS, or keep endless work out of building the job. A loop that waits for its job "
    "to end never ends here: a planned job stays CREATED."
)
WAITS = (
    "It waits there, and more time does not help where nothing answers. Make what it waits for reachable from here, or wait "
    "in open() of a function instead of while building the job. Where it waits for its own job: a planned job stays CREATED."
)


def more_time(seconds: float) -> str:
    """The option that gives a program four times as long as it had."""
    return f"--timeout {min(4 * seconds, MOST_SECONDS):g}"


def advice(seconds: float, waits: bool) -> tuple[str, str | None]:
    """What to do about a program that did not end, and the option that does it."""
    return (WAITS, None) if waits else (COMPUTES, more_time(seconds))


def is_waiting_call(line: str) -> bool:
    """Whether the text of a line calls something that waits."""
    return _WAITING_CALL.search(line) is not None


def waits(frame: Frame | None, innermost: str) -> bool:
    """Whether a program waits at a frame of its own, in a call that has come as far as the file ``innermost``."""
    module = os.path.splitext(os.path.basename(innermost))[0]
    return frame is not None and (is_waiting_call(frame.text) or module in _WAITING_CODE)


def stacks(printed: str) -> list[list[tuple[str, int, str]]]:
    """The stacks that Python prints of its threads: file, line and function, innermost first."""
    blocks = _STACK.split(printed)
    found = ([(file, int(line), function) for file, line, function in _STACK_LINE.findall(one)] for one in blocks)
    return [one for one in found if one]
