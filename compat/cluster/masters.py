"""The template that JobMasters are forked from, as the dispatcher uses it: restarted when it dies."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress

import msgspec

from compat.cluster.layout import ClusterFolder
from compat.cluster.template import Ended, Start
from compat.compiler.own_code import ROOT


class Masters:
    """Starts JobMasters, and learns how they ended."""

    def __init__(self, folder: ClusterFolder, master: str) -> None:
        """``master`` is that of the cluster's Spark."""
        self._folder, self._master = folder, master
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._running: set[tuple[str, int]] = set()
        self._ended: dict[tuple[str, int], int] = {}

    def ready(self) -> None:
        """Start the template unless it is running: it takes a second until it can fork."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()

    def start(self, job: str, fence: int, pool: int) -> None:
        """Start an attempt to run a job. Raises OSError if the template has just died."""
        self.ready()
        start = Start(folder=str(self._folder.path), master=self._master, job=job, fence=fence, pool=f"pool-{pool}")
        with self._lock:
            self._running.add((job, fence))
            assert self._process is not None
            assert self._process.stdin is not None
            self._process.stdin.write(msgspec.json.encode(start) + b"\n")
            self._process.stdin.flush()

    def ended(self, job: str, fence: int) -> int | None:
        """The exit code of an attempt that this dispatcher started; reported once."""
        with self._lock:
            return self._ended.pop((job, fence), None)

    def waits_for(self, job: str, fence: int) -> bool:
        """True for an attempt that was requested from the present template."""
        with self._lock:
            return (job, fence) in self._running

    def forget(self, job: str) -> None:
        """Forget an ended job: its attempts no longer matter."""
        with self._lock:
            self._running = {each for each in self._running if each[0] != job}
            self._ended = {each: code for each, code in self._ended.items() if each[0] != job}

    def replace(self) -> None:
        """Replace the template, which does not start what it was told to. Attempts that it started go on."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            self._running.clear()

    def close(self) -> None:
        """End the template; its forks go on."""
        process = self._process
        if process is not None:
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)

    def _start(self) -> None:
        self._folder.logs.mkdir(parents=True, exist_ok=True)
        with open(self._folder.logs / "template.log", "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "compat.cluster.template"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder.path,
                env=child_environment(),
                start_new_session=True,
            )
        threading.Thread(target=self._listen, args=(self._process,), name="masters", daemon=True).start()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with suppress(msgspec.DecodeError):
                ended = msgspec.json.decode(line, type=Ended)
                with self._lock:
                    if (ended.job, ended.fence) in self._running:
                        self._ended[(ended.job, ended.fence)] = ended.code


def child_environment() -> dict[str, str]:
    """The environment of a process of the cluster, which finds this package wherever it is started."""
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys([*given, ROOT]))}
