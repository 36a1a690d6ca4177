"""Processes in which functions stay open. Flink: the slots of a ``TaskManager``, whose tasks live as long as the job.

Spark gives a subtask any of its Python workers, often a different one in each epoch. The subtasks with function
objects therefore run in a process of their slot's, which a worker reaches through a socket in a folder that only this user
may enter: it forwards the epoch and the buffers, and gets back the outcome. A host ends with its job, with the Python daemon of
the executor that started it, or when nobody asked it for anything for long.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from compat.compiler.garbage import collect_rarely
from compat.compiler.ours import ROOT
from compat.compiler.spark.task.elements import Buffer
from compat.compiler.spark.task.epochs import EpochSpec, Ran, Subtasks, private_folder

IDLE_SECONDS = 3600
"""A host that was not asked for so long ends: if its job goes on, functions are opened anew."""

CLOSING_SECONDS = 60
"""So long is waited for functions that close."""

_LONGEST = 50
"""A socket's path has little more than a hundred bytes; so many of them may be the folder for temporary files."""
_HOME = os.getpid()
"""The process that loaded this: the Python daemon that Spark's workers are forked from. Who is asked for it later, when the
daemon was killed, would name whoever took over its orphans."""
_CLOSE = b""
_started: list[subprocess.Popen[bytes]] = []


class HostLost(Exception):
    """The process that a subtask's functions were open in has ended."""


class HostLoad(NamedTuple):
    """The input that a host starts with, pickled: the function to call before the plan is loaded, or None, and the plan."""

    setup: bytes
    plan: bytes


class _Request(NamedTuple):
    """A subtask that a worker asks a host to run."""

    spec: EpochSpec
    vertex: int
    subtask: int
    buffers: list[Buffer]


class Host:
    """The host of one slot of a job, as a Spark worker sees it; ``plan_id`` names the plan."""

    def __init__(self, plan_id: str, slot: int, load: HostLoad) -> None:
        self._plan_id, self._slot, self._load = plan_id, slot, load

    def run(self, spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
        """Run a subtask there. Raises HostLost, and whatever of the host's own failed."""
        place = (vertex, subtask)
        own = replace(spec, runtimes=_only(place, spec.runtimes), work=_only(place, spec.work))
        with self._connect() as connection:
            try:
                connection.send_bytes(pickle.dumps(_Request(own, vertex, subtask, buffers), 5))
                answer = pickle.loads(connection.recv_bytes())
            except (EOFError, OSError) as error:
                raise HostLost(
                    f"The process that keeps the functions of subtask {subtask + 1} open has ended: {error!r}"
                ) from error
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]

    def _connect(self) -> Connection:
        path = os.path.join(_folder(), f"{_name(self._plan_id)}-{self._slot}")
        connection = _connected(path)
        if connection is None:
            self._start(path)
            connection = _connected(path)
        if connection is None:
            raise HostLost(f"No process listens at {path}, although one was just started.")
        return connection

    def _start(self, path: str) -> None:
        """Start a host; it is asked for its first epoch when it has loaded the plan."""
        with suppress(FileNotFoundError):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            command = [sys.executable, "-m", "compat.compiler.spark.task.hosts", str(listening.fileno()), str(_HOME)]
            paths = os.pathsep.join([*(path for path in sys.path if path), ROOT])
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=sys.stderr.fileno(),
                pass_fds=[listening.fileno()],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": paths},
            )
        _started[:] = [each for each in _started if each.poll() is None]
        _started.append(process)
        assert process.stdin is not None
        with process.stdin:
            pickle.dump(self._load, process.stdin)


def _only(place: tuple[int, int], of: Mapping[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
    return {place: of[place]} if place in of else {}


def close_hosts(plan_id: str) -> None:
    """Have all hosts of a plan on this machine close their functions and end, and remove what hosts left that were killed."""
    start = _name(plan_id) + "-"
    for name in os.listdir(_folder()):
        path = os.path.join(_folder(), name)
        if name.startswith(start) or _forgotten(path):
            connection = _connected(path)
            if connection is not None:
                with connection, suppress(EOFError, OSError):
                    connection.send_bytes(_CLOSE)
                    connection.poll(CLOSING_SECONDS)
            with suppress(FileNotFoundError):
                os.unlink(path)


def _forgotten(path: str) -> bool:
    """True for a socket that nobody listens at any more; a new one may not be listened at yet."""
    with suppress(FileNotFoundError):
        if time.time() - os.stat(path).st_mtime > IDLE_SECONDS:
            connection = _connected(path)
            if connection is None:
                return True
            connection.close()
    return False


def _connected(path: str) -> Connection | None:
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        return Connection(asking.detach())


def _folder() -> str:
    long = len(tempfile.gettempdir()) > _LONGEST
    return private_folder("hosts", "/tmp" if long else None)


def _name(plan_id: str) -> str:
    return hashlib.blake2b(plan_id.encode(), digest_size=8).hexdigest()


def serve(listening: socket.socket, subtasks: Subtasks, alive: Callable[[float], Any]) -> None:
    """Run what is asked for. ``alive`` waits for a request so many seconds; where it gives False, nothing will be asked."""
    while alive(IDLE_SECONDS):
        asked, _ = listening.accept()
        with Connection(asked.detach()) as connection:
            try:
                request = connection.recv_bytes()
                if request == _CLOSE:
                    subtasks.close()
                    connection.send_bytes(_CLOSE)
                    return
                answer: Any = _answer(subtasks, request)
            except (EOFError, OSError):
                continue  # the worker was killed: what it asked for is nobody's any more
            with suppress(OSError):
                connection.send_bytes(answer)


def _answer(subtasks: Subtasks, request: bytes) -> bytes:
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    try:
        asked: _Request = pickle.loads(request)
        answer = subtasks.run(asked.spec, asked.vertex, asked.subtask, asked.buffers)
        try:
            return pickle.dumps(answer, 5)
        except Exception:
            return bytes(dumps(answer))
    except Exception as error:
        return bytes(dumps(RuntimeError(f"{type(error).__name__}: {error}")))


def _wait(listening: socket.socket, parent: int) -> Callable[[float], bool]:
    """The function that waits for a request: False after the given seconds, or when the parent has ended."""
    watched: list[Any] = [listening]
    if hasattr(os, "pidfd_open"):
        try:
            watched.append(os.pidfd_open(parent))
        except ProcessLookupError:
            return lambda seconds: False
        return lambda seconds: select.select(watched, [], [], seconds)[0] == [listening]

    def poll(seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end and _lives(parent):
            if select.select(watched, [], [], 1)[0]:
                return True
        return False

    return poll


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def main(arguments: Iterable[str]) -> None:
    """A host. Its arguments are the socket that it listens at, and the process that it does not outlive."""
    number, parent = arguments
    load: HostLoad = pickle.load(sys.stdin.buffer)
    ready = pickle.loads(load.setup)
    if ready is not None:
        ready()
    subtasks = Subtasks(pickle.loads(load.plan))
    collect_rarely()
    with socket.socket(fileno=int(number)) as listening:
        try:
            serve(listening, subtasks, _wait(listening, int(parent)))
        finally:
            subtasks.close()


if __name__ == "__main__":
    # Under its real name, so that what a worker pickled is found again.
    from compat.compiler.spark.task import hosts

    hosts.main(sys.argv[1:])
