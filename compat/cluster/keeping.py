"""The process that keeps a cluster's Spark: started if there is none, ended if it hangs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from compat.cluster.layout import ClusterFolder
from compat.cluster.masters import child_environment
from compat.cluster.settings import ClusterSettings
from compat.cluster.starts import Backoff
from compat.compiler.spark.driver.masters import is_elsewhere
from compat.service.telemetry import log

_STARTS = 180.0
"""The least seconds for Spark to come up."""
_STARTS_ELSEWHERE = 900.0
"""The same where an environment is packed and sent first, and others give the machines."""


@dataclass(slots=True)
class Pulse:
    """The time of the last sign of life, by this process's clock, as the machine's clock may be changed at any time."""

    sign: float = 0.0
    heard: float = field(default_factory=time.monotonic)

    def silent(self, sign: float) -> float:
        """The seconds for which the sign, the time of a file, has been this one."""
        if sign != self.sign:
            self.sign, self.heard = sign, time.monotonic()
        return time.monotonic() - self.heard


class SparkKeeping:
    """Keeps a process for the cluster's Spark. ``lead`` raises if another dispatcher leads the cluster."""

    def __init__(self, folder: ClusterFolder, settings: ClusterSettings, lead: Callable[[], None]) -> None:
        self._folder, self._settings, self._lead = folder, settings, lead
        self._process: subprocess.Popen[bytes] | None = None
        self._backoff, self._since, self._pulse = Backoff(), 0.0, Pulse()

    def terminate(self) -> None:
        """Ask the Spark that this dispatcher started to end."""
        if self._process is not None:
            self._process.terminate()

    def look(self) -> None:
        """Start a Spark process if there is none, and end one that hangs."""
        keeper = self._folder.spark.keeper
        if keeper:
            self._end_hanging(keeper)
        if keeper is not None or (self._process is not None and self._process.poll() is None):
            return
        if self._process is not None:
            self._backoff.died(time.monotonic() - self._since)
            self._process = None
            log("spark", level="warning", message="Spark ended and is started again")
        if self._backoff.over:
            self._process, self._since = start_spark(self._folder, self._settings), time.monotonic()

    def _end_hanging(self, keeper: int) -> None:
        """End Spark where it does not answer its keeper, or that gives no sign of life itself: another one is started."""
        patience = self._settings.heartbeat_timeout
        if self._folder.spark.find() is None:
            elsewhere = is_elsewhere(self._settings.master)
            patience = max(patience, _STARTS_ELSEWHERE if elsewhere else _STARTS)
        silent = self._pulse.silent(self._folder.spark.sign_of_life())
        if silent > patience:
            self._lead()
            message = f"Spark gave no sign of life for {silent:.0f} s and is ended"
            log("spark", level="warning", message=message, pid=keeper)
            end_keeper(keeper)
            self._pulse.heard = time.monotonic()


def start_spark(folder: ClusterFolder, settings: ClusterSettings) -> subprocess.Popen[bytes]:
    """Start the process that keeps the cluster's Spark; it outlives this one."""
    folder.logs.mkdir(parents=True, exist_ok=True)
    with open(folder.logs / "spark-keeper.log", "ab") as said:
        started = subprocess.Popen(
            [sys.executable, "-m", "compat.cluster.spark", str(folder.path), settings.master],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            cwd=folder.path,
            env=child_environment(),
            start_new_session=True,
        )
    assert started.stdin is not None
    with suppress(BrokenPipeError), started.stdin as options:
        options.write(json.dumps(dict(settings.options)).encode())  # they may be secrets: everybody sees a command line
    return started


def end_keeper(keeper: int) -> None:
    """End a process that keeps Spark, at once, with its JVM: it leads a group. Masters elsewhere notice that by themselves."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(keeper, signal.SIGKILL)
