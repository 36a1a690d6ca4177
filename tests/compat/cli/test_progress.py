"""Lines about work that takes long: none where it is short, one that moves on a terminal, and elsewhere some."""

from __future__ import annotations

import sys
import time
from unittest.mock import patch

import pytest

from compat.cli import progress


@pytest.mark.parametrize("live", [True, False])
def test_work_that_takes_long_is_told(live: bool, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[int] = []

    def done() -> int:
        asked.append(1_200_000)
        return asked[-1]

    with (
        patch.object(progress, "_SHORT", 0.0),
        patch.object(progress, "_REFRESH", 0.01),
        patch.object(progress, "_QUIET", 0.01),
        patch.object(sys.stderr, "isatty", lambda: live),
        progress.shown("Writing state", 4_000_000_000, done),
    ):
        while len(asked) < 3:
            time.sleep(0.01)
    told = capsys.readouterr()
    assert told.out == ""
    line = "Writing state: 1 of about 4,000 MB"
    if live:
        assert told.err.startswith(f"\r\x1b[K{line}\r\x1b[K{line}")
        assert told.err.endswith("\r\x1b[K")
        assert "\n" not in told.err
    else:
        assert told.err.splitlines()[:2] == [line, line]


def test_work_that_is_short_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with patch.object(sys.stderr, "isatty", lambda: True), progress.shown("Writing state", 1, lambda: 0):
        pass
    assert capsys.readouterr().err.strip("\r\x1b[K") == ""
