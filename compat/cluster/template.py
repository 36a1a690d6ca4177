"""The process that JobMasters are forked from: it has loaded the modules that each needs, so that none has to.

It reads a line of JSON for each attempt to run a job, and writes a line for each ended one. It ends with the dispatcher that
started it; its forked processes go on.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from importlib import import_module
from typing import Any, NoReturn

import msgspec

from compat.cluster.layout import ClusterFolder
from compat.cluster.master import main as run_master
from compat.compiler.gc_policy import collect_rarely

_LATER = (
    "compat.compiler.spark.driver.runner",
    "compat.execution.snapshots",
    "compat.loader.imports",
    "pyarrow.parquet",
    "pyspark.cloudpickle",
    "pyspark.java_gateway",
)
_SECONDS = 0.25
"""How often it is looked whether a JobMaster has ended."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to start."""

    folder: str
    master: str
    job: str
    fence: int
    pool: str


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that ended: with an exit code, or minus the number of a signal."""

    job: str
    fence: int
    code: int


def main() -> None:
    """Fork until the input ends."""
    _load()
    running: dict[int, Start] = {}
    print(json.dumps({"ready": os.getpid()}), flush=True)
    buffer = b""
    while True:
        readable, _, _ = select.select([0], [], [], _SECONDS)
        if readable:
            data = os.read(0, 65536)
            if not data:
                return
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                start = msgspec.json.decode(line, type=Start)
                running[_forked(start)] = start
        _tell_of_the_ended(running)


def _load() -> None:
    """Load what is loaded by name only later."""
    for module in _LATER:
        import_module(module)
    collect_rarely()


def _tell_of_the_ended(running: dict[int, Start]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        start = running.pop(pid, None)
        if start is not None:
            ended = Ended(job=start.job, fence=start.fence, code=os.waitstatus_to_exitcode(status))
            os.write(1, msgspec.json.encode(ended) + b"\n")


def _forked(start: Start) -> int:
    pid = os.fork()
    return pid if pid else _become_master(start)


def _become_master(start: Start) -> NoReturn:
    """Run the job in this process, in a session of its own."""
    code: Any = 1
    try:
        os.setsid()
        folder = ClusterFolder(start.folder, start.master)
        log = folder.log_of(start.job)
        null = os.open(os.devnull, os.O_RDONLY)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for descriptor, source in ((0, null), (1, output), (2, output)):
            os.dup2(source, descriptor)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        code = run_master(folder, start.job, start.fence, start.pool)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
