"""Moments of a driver at which it stands still, so that something can be killed: steps of a savepoint and of a restore.

A driver calls :func:`stand_still_in` before anything else. Whoever wants it to stand still writes which step of what with
:func:`choose`, waits until it is :func:`reached`, kills, and lets it go on with :func:`let_go`.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORK = ("savepoint", "stop", "restore", "first epoch")
"""In what of a driver's work there are such steps."""
_CHOSEN, _REACHED = "moment.json", "moment-reached"
_LOOKS = 0.005
_PATIENCE = 120.0
_BESIDE = ("watch-", "lease-")
"""The threads that write by the clock, and not at steps."""


def choose(folder: Path, work: str, step: int) -> None:
    """Have the driver of a folder stand still once, at a step of some work, or at its end where that comes before."""
    (folder / _CHOSEN).write_text(json.dumps([work, step]))


def reached(folder: Path) -> str | None:
    """The step at which the driver stands still; None while it does not."""
    try:
        return (folder / _REACHED).read_text() or None
    except FileNotFoundError:
        return None


def let_go(folder: Path) -> None:
    """Have the driver go on, and those after it not stand still there."""
    (folder / _CHOSEN).unlink(missing_ok=True)
    (folder / _REACHED).unlink(missing_ok=True)


class _Steps:
    """The steps of a driver's present work."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._work: str | None = None
        self._left = 0

    def during(self, work: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Some work, whose steps count where it was chosen."""

        @functools.wraps(real)
        def working(*arguments: Any, **named: Any) -> Any:
            if self._work is not None or not self._begin(work):
                return real(*arguments, **named)
            try:
                result = real(*arguments, **named)
                self._stand_still(f"the end of {work}")
                return result
            finally:
                self._work = None

        return working

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is two steps: what is before it, and what is behind it."""

        @functools.wraps(real)
        def stepping(*arguments: Any, **named: Any) -> Any:
            self._step(f"before {name}", arguments)
            result = real(*arguments, **named)
            self._step(f"behind {name}", arguments)
            return result

        return stepping

    def _begin(self, work: str) -> bool:
        try:
            chosen, self._left = json.loads((self._folder / _CHOSEN).read_text())
        except (FileNotFoundError, ValueError):
            return False
        self._work = work if chosen == work else None
        return self._work is not None

    def _step(self, name: str, arguments: tuple[Any, ...]) -> None:
        if self._work is None or threading.current_thread().name.startswith(_BESIDE):
            return
        self._left -= 1
        if self._left == 0:
            self._stand_still(" ".join([name, *(each for each in arguments if isinstance(each, str))]))

    def _stand_still(self, step: str) -> None:
        if not (self._folder / _CHOSEN).exists():
            return
        place, end = self._folder / _REACHED, time.monotonic() + _PATIENCE
        place.with_suffix(".new").write_text(step)
        place.with_suffix(".new").rename(place)
        while place.exists() and time.monotonic() < end:
            time.sleep(_LOOKS)


def stand_still_in(folder: str, *, large: bool) -> None:
    """Have this driver stand still where it is wanted. ``large``: its state counts as such, so that tasks work on it."""
    from compat.compiler.spark.driver import savepoints
    from compat.compiler.spark.driver.epoch_loop import EpochLoop
    from compat.compiler.spark.driver.master import JobMaster
    from compat.compiler.spark.driver.requests import Requests
    from compat.compiler.spark.driver.workers import SparkWorkers
    from compat.state.delta import work
    from compat.state.delta.log import SnapshotLog
    from compat.state.stores.local import LocalFiles

    steps = _Steps(Path(folder))
    owners: list[tuple[Any, str, str]] = [
        (savepoints, "write_savepoint", "savepoint"),
        (Requests, "stop_now", "stop"),
        (JobMaster, "prepare", "restore"),
        (EpochLoop, "run", "first epoch"),
    ]
    for owner, name, what in owners:
        setattr(owner, name, steps.during(what, getattr(owner, name)))
    for name in ("write", "create", "copy", "move", "delete", "remove"):
        setattr(LocalFiles, name, steps.around(name, getattr(LocalFiles, name)))
    setattr(SnapshotLog, "_transact", steps.around("commit", SnapshotLog._transact))  # noqa: B010
    setattr(SparkWorkers, "_job", steps.around("tasks", SparkWorkers._job))  # noqa: B010
    if large:
        work.LARGE = 1
