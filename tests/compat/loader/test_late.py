"""Programs whose time is up: those that wait are told from those that compute."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from compat.loader.late import COMPUTES, WAITS, advice, is_waiting_call, stacks
from compat.loader.process import TimedOut, load_one
from compat.loader.request import Request

WAITING = """
import time

def wait_for_broker():
    while True:
        time.sleep(0.1)

wait_for_broker()
"""
IN_A_LIBRARY = """
import socket
here = socket.socket()
here.bind(("127.0.0.1", 0))
here.listen()
one = here.accept()
"""
COMPUTING = """
def count():
    number = 0
    while True:
        number += 1

count()
"""


@pytest.mark.parametrize(
    ("program", "waits", "lines"), [(WAITING, True, {6}), (IN_A_LIBRARY, True, {6}), (COMPUTING, False, {4, 5})]
)
def test_what_waits_is_told_with_its_line(tmp_path: Path, program: str, waits: bool, lines: set[int]) -> None:
    job = tmp_path / "job.py"
    job.write_text(program)
    outcome = load_one(Request(path=str(job), shown="job.py"), timeout=4)
    assert isinstance(outcome, TimedOut)
    assert outcome.waits == waits
    assert outcome.frame is not None
    assert outcome.frame.file == "job.py"
    assert outcome.frame.line in lines


def test_only_what_computes_is_given_more_time() -> None:
    assert advice(30, waits=False) == (COMPUTES, "--timeout 120")
    assert advice(30, waits=True) == (WAITS, None)


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        ("time.sleep(1)", True),
        ("requests.get(url)", True),
        ("Thread.sleep()", True),
        ("rows = sleepers(1)", False),
        ("total += 1", False),
    ],
)
def test_calls_that_wait(line: str, waits: bool) -> None:
    assert is_waiting_call(line) == waits


def test_the_stacks_of_threads_are_told_apart() -> None:
    printed = textwrap.dedent("""\
        Timeout (0:00:03)!
        Thread 0x01 (most recent call first):
          File "/a/lib.py", line 3 in run
        Thread 0x02 (most recent call first):
          File "/usr/lib/socket.py", line 294 in accept
          File "/a/job.py", line 7 in <module>
        """)
    assert stacks(printed) == [
        [("/a/lib.py", 3, "run")],
        [("/usr/lib/socket.py", 294, "accept"), ("/a/job.py", 7, "<module>")],
    ]
