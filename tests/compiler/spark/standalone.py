"""A standalone Spark master with two workers on this machine, from the pyspark package."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

import pyspark


class StandaloneCluster:
    """Starts the processes; ``url`` is the master's. They listen on the loopback address only.

    Workers do not see the folders ``hidden``, as if they were on other machines, whose addresses are ``hosts``. Where ``spark``
    is given, they have an installation of Spark of their own, in that empty folder, and no other package.
    """

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        hidden: Sequence[Path] = (),
        hosts: Sequence[str] = ("127.0.0.1",),
        spark: Path | None = None,
    ) -> None:
        self._folder, self._hosts, self._spark = folder, hosts, spark
        self._elsewhere: tuple[str, ...] = ()
        if hidden:
            own = [] if spark is None else [f"mount --bind '{os.path.dirname(pyspark.__file__)}' '{spark}'"]
            mounts = "; ".join([*own, *(f"mount -t tmpfs tmpfs '{path}'" for path in hidden)])
            self._elsewhere = ("unshare", "-m", "sh", "-c", f'set -e; {mounts}; exec "$@"', "sh")
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start_all(workers)
        except BaseException:
            self.close()
            raise

    def _start_all(self, workers: int) -> None:
        main = "org.apache.spark.deploy.master.Master"
        self._start("master", main, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.url = self._find("master", r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            arguments = (
                "--host",
                self._hosts[number % len(self._hosts)],
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
                self.url,
            )
            work = ("--work-dir", str(self._folder / f"work-{number}"))
            self._start(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *work, *arguments)
        for number in range(workers):
            self._find(f"worker-{number}", r"(Successfully registered) with master")

    @property
    def workers(self) -> list[int]:
        """The workers' processes; executors are below them."""
        return [process.pid for process in self._processes[1:]]

    def _start(self, name: str, main: str, *arguments: str) -> None:
        script = os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-class")
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_LOG_LEVEL": "INFO",
            "SPARK_DAEMON_JAVA_OPTS": "-Dlog4j2.rootLogger.level=info",
        }
        if name != "master" and self._spark is not None:
            script = str(self._spark / "bin" / "spark-class")
            left = ("PYTHON", "PYSPARK", "VIRTUAL_ENV")
            environment = {key: text for key, text in environment.items() if not key.startswith(left)}
            environment["SPARK_HOME"] = str(self._spark)
        command = [*(self._elsewhere if name != "master" else ()), script, main, *arguments]
        with open(self._folder / f"{name}.log", "wb") as log:
            self._processes.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
            )

    def _find(self, name: str, pattern: str, timeout: float = 300) -> str:
        end = time.monotonic() + timeout
        log = self._folder / f"{name}.log"
        while time.monotonic() < end:
            if match := re.search(pattern, log.read_text()):
                return match.group(1)
            time.sleep(0.1)
        raise AssertionError(f"{name} did not start:\n{log.read_text()}")

    def close(self) -> None:
        """End the processes that were started here."""
        for process in self._processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()


def installation() -> list[Path]:
    """Where this package, its dependencies and the interpreter are."""
    places = {Path(__file__).parents[3], Path(sys.prefix), Path(sysconfig.get_path("purelib"))}
    places |= {Path(path).resolve() for path in sys.path if path.endswith("site-packages")}
    places |= set() if sys.base_prefix in ("/usr", "/usr/local") else {Path(sys.base_prefix)}
    return [
        path for path in sorted(places) if not any(path != other and path.is_relative_to(other) for other in places)
    ]
