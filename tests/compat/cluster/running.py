"""A cluster as processes of its own, whose processes can be killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from compat.cluster.client import Cluster, JobSummary
from compat.cluster.layout import ClusterFolder
from compat.cluster.leadership import dispatcher_process
from tests.compiler.spark.crashes import below, processes, write_program

PATIENCE = 300.0


class RunningCluster:
    """A cluster in a folder. ``client`` talks to it. ``patience`` are the seconds that anything may take."""

    def __init__(self, folder: Path, slots: int = 2, patience: float = PATIENCE) -> None:
        self.folder, self._slots, self._patience = folder, slots, patience
        folder.mkdir(parents=True, exist_ok=True)
        self.place = ClusterFolder(folder / "cluster")
        self.url = ""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str) -> None:
        """Start a dispatcher, at the address that it had."""
        self._arguments = arguments
        port = self.url.rpartition(":")[2] or "0"
        with open(self.folder / "dispatcher.log", "ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "compat", "cluster", "start", "--dir", str(self.place.path)),
                    *("--slots", str(self._slots), "--port", port, "--lease", "3", *arguments),
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "TMPDIR": str(self.folder)},
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url, self.said()

    @property
    def client(self) -> Cluster:
        return Cluster(self.url, patience=self._patience)

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A command of ours, which is told the cluster."""
        return subprocess.run(
            [sys.executable, "-m", "compat", *arguments],
            cwd=cwd or self.folder,
            env={**os.environ, "COMPAT_CLUSTER": self.url},
            capture_output=True,
            text=True,
            timeout=self._patience,
        )

    def begin(self, *arguments: str, cwd: Path) -> subprocess.Popen[str]:
        """The same, which is not waited for."""
        return subprocess.Popen(
            [sys.executable, "-m", "compat", *arguments],
            cwd=cwd,
            env={**os.environ, "COMPAT_CLUSTER": self.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def submit(self, end: int, name: str, *arguments: str) -> str:
        """Submit the job that counts to ``end``, which writes into a folder of that name; gives its id."""
        folder = self.folder / name
        folder.mkdir()
        done = self.run("run", str(write_program(folder, end, interval=5_000)), "-d", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def wait(self, job: str, wanted: Callable[[JobSummary], bool]) -> JobSummary:
        """A job, once it is as wanted."""
        end = time.monotonic() + self._patience
        while not wanted(found := self.client.find(job)):
            assert time.monotonic() < end, f"{found} {self.said()}"
            time.sleep(0.05)
        return found

    def at(self, job: str, checkpoint: int) -> JobSummary:
        """A job that has reached a checkpoint, or its end."""
        return self.wait(job, lambda found: found.checkpoint >= checkpoint or found.over)

    def victim(self, what: str, job: str = "") -> int | None:
        """The process to kill."""
        gateway = self.place.spark.find()
        match what:
            case "dispatcher":
                return dispatcher_process(self.place)
            case "template":
                pid = dispatcher_process(self.place)
                return next(iter(below(pid, "compat.cluster.template")), None) if pid else None
            case "master":
                return self.place.store.driver(job)
            case "keeper":
                return gateway.pid if gateway else None
            case "spark":
                return next(iter(below(gateway.pid, "SparkSubmit")), None) if gateway else None
            case "host":
                return next(filter(self._is_mine, _hosts(self.folder)), None)
        daemon = next(iter(below(gateway.pid, "driver.daemon pyspark.worker")), None) if gateway else None
        return (
            next(iter(below(daemon, "driver.daemon pyspark.worker")), None) if daemon and what == "worker" else daemon
        )

    def pause(self, what: str, job: str = "") -> int:
        """Stop a process for a while, but no dispatcher in the midst of a write: that would be killed. Gives it."""
        pid = self.victim(what, job)
        assert pid
        os.kill(pid, signal.SIGSTOP)
        while what == "dispatcher" and self._is_written():
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.05)
            os.kill(pid, signal.SIGSTOP)
        return pid

    def _is_written(self) -> bool:
        """True if somebody is in the midst of a write to the cluster's database."""
        with closing(sqlite3.connect(self.place.path / "cluster.db", timeout=0.2, isolation_level=None)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            return False

    def kill(self, what: str, job: str = "") -> bool:
        """kill -9; False if there was nobody. A dispatcher is started again."""
        pid = self.victim(what, job)
        if not pid:
            return False
        os.kill(pid, signal.SIGKILL)
        if what == "dispatcher":
            assert self.process is not None
            self._reap()
            self.start(*self._arguments)
        return True

    def restart(self, *arguments: str) -> None:
        """Kill the dispatcher, and start another with other options; jobs and Spark go on."""
        self._arguments = arguments
        assert self.kill("dispatcher")

    def _is_mine(self, pid: int) -> bool:
        try:
            return f"TMPDIR={self.folder}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False

    def take_over(self, *arguments: str) -> tuple[subprocess.Popen[bytes], str]:
        """Start another dispatcher beside the one that there is; gives that one, and its address."""
        former, url = self.process, self.url
        assert former is not None
        self.url = ""
        self.start("--standby", *arguments)
        return former, url

    def said(self) -> str:
        """What the dispatcher said last."""
        return (self.folder / "dispatcher.log").read_text()[-3000:]

    def stop(self) -> None:
        """End it, with all its processes."""
        self.run("cluster", "stop", "--dir", str(self.place.path))
        self._reap()

    def _reap(self) -> None:
        if self.process is not None:
            self.process.wait(60)
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


def _hosts(folder: Path) -> Iterator[int]:
    """The processes that keep functions open, by the files that name them; where a path would be too long, they are in /tmp."""
    for place in (folder, Path("/tmp")):
        for file in place.glob("compat-hosts-*/*.pid"):
            with suppress(FileNotFoundError, ValueError):
                yield int(file.read_text())


def wait_for_the_end(pid: int) -> None:
    """Until a process that is not this one's child has ended."""
    end = time.monotonic() + PATIENCE
    while pid in processes() and time.monotonic() < end:
        time.sleep(0.1)
    assert pid not in processes()
