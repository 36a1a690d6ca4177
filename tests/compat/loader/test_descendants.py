"""All that a program starts ends with it, however soon it leaves it and whatever the system passes over."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from compat.loader import child, descendants
from compat.loader.request import Request, requests_to_json

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]


class Forked(Exception):
    """A program would run now."""


def test_orphans_are_kept_before_any_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []

    def fork() -> int:
        assert kept == [True]
        raise Forked

    requests = requests_to_json([Request(path="job.py", shown="job.py")])
    monkeypatch.setattr(child, "keep_orphans", lambda: kept.append(True))
    monkeypatch.setattr(child, "_import_ahead", lambda programs: None)
    monkeypatch.setattr(child.os, "fork", fork)
    monkeypatch.setattr(child.os, "dup2", lambda *_: None)
    monkeypatch.setattr(child.gc, "disable", lambda: None)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(requests)))
    with pytest.raises(Forked):
        child.main(["8,9", "later"])


def test_a_process_that_the_system_passed_over_once_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux may leave a process out of its parent's list while a sibling ends."""
    left = subprocess.Popen(SLEEPS)
    answers = iter([[], [left.pid]])
    monkeypatch.setattr(descendants, "descendants", lambda pid: next(answers, []))
    try:
        descendants.end_all_below(1)
        assert left.wait(30) == -9
    finally:
        left.kill()
        left.wait()


def test_where_nothing_is_below_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descendants, "descendants", lambda pid: [])
    monkeypatch.setattr(descendants.time, "sleep", lambda seconds: pytest.fail("it waits"))
    descendants.end_all_below(1)
