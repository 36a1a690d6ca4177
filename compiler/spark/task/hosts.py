"""Processes in which functions stay open. Flink: the slots of a ``TaskManager``, whose tasks live as long as the job.

Spark gives a subtask any of its Python workers, often a different one in each epoch. So subtasks with function objects run in a
process of their slot, the host. A worker reaches it through a socket in a folder that only this user may enter: it forwards the
epoch and the buffers, and gets the outcome. A host ends with its job, with the Python daemon of the executor that started it,
or after a long time without requests. It ends even in the middle of a record, moments after that daemon or the asking worker
has ended.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from compat.compiler.datastream.common.job_id import is_job_id
from compat.compiler.gc_policy import collect_rarely
from compat.compiler.own_code import ROOT
from compat.compiler.spark.environment import NO_ENVIRONMENT, Environment, EnvironmentFailed, Shipped
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.runtime_api.elements import Buffer
from compat.compiler.spark.task.epochs import (
    EpochSpec,
    InProcessRunner,
    Ran,
    Subtasks,
    TaskFailure,
    pack,
    private_folder,
    seal,
)
from compat.compiler.spark.task.gateway import Gateway

FORGOTTEN_SECONDS = 7 * 24 * 3600
"""The seconds after which unused replicas are removed: if their job goes on, they are made again."""

IDLE_SECONDS = 3600
"""The seconds after which an unused host ends: if its job goes on, functions are opened anew."""

CLOSING_SECONDS = 60
"""The time limit for functions to close."""

GRACE_SECONDS = 2
"""The time for which a host works without a driver, so that a hanging function does not keep it."""

_LONGEST = 50
"""A socket's path has little more than a hundred bytes; so many of them may be the folder for temporary files."""
_HOME = os.getpid()
"""The process that loaded this: the Python daemon that Spark's workers are forked from. Who is asked for it later, when the
daemon was killed, would name whoever took over its orphans."""
_CLOSE = b""
_HEARD = b"heard"
_PID = ".pid"
_MODULE = "compat.compiler.spark.task.hosts"
_OURS = "compat.compiler.spark."
"""In the command line of a host: its own, or that of the daemon that it was forked below."""
_started: list[subprocess.Popen[bytes]] = []
_forked: list[int] = []


class HostLost(Exception):
    """The process with a subtask's open functions has ended."""


class HostLoad(NamedTuple):
    """The input that a host starts with, pickled: the function to call before the plan is loaded, or None, and the plan.

    If the job ships files, all of its subtasks run in hosts, in the environment made from these files. They also do if the job
    runs ``apart``, in workers that work for other programs too, and if all is ``here``, on one machine. ``outline`` is the plan
    without the program's own objects, for the workers that ask hosts. ``environment`` is the environment made on the machine.
    ``gateway`` is the driver's address, if it listens.
    """

    setup: bytes
    plan: bytes
    outline: bytes = b""
    shipped: Shipped | None = None
    environment: Environment = NO_ENVIRONMENT
    apart: bool = False
    here: bool = False
    gateway: Gateway | None = None

    @property
    def all_hosted(self) -> bool:
        """True if workers themselves run none of the program's functions."""
        return self.apart or self.here or self.shipped is not None

    @classmethod
    def of(
        cls, plan: PhysicalPlan, setup: Callable[[], None] | None, *, apart: bool = False, here: bool = False
    ) -> HostLoad:
        """The load for a plan. ``setup`` is the function to call."""
        from pyspark import cloudpickle

        dumps: Any = cloudpickle.dumps
        packed = pack(plan)
        outline = pickle.dumps(pickle.loads(packed).outline)
        return cls(dumps(setup), packed, outline, plan.shipped, apart=apart, here=here)


class _Request(NamedTuple):
    """A subtask that a worker asks a host to run."""

    spec: EpochSpec
    vertex: int
    subtask: int
    buffers: list[Buffer]


class Host:
    """The host of one slot of a job, or of a group of them, as a Spark worker sees it; ``plan_id`` names the plan.

    What is shipped with the job is laid out in ``folder``.
    """

    def __init__(self, plan_id: str, slot: int, load: HostLoad, folder: str = "") -> None:
        self._plan_id, self._slot, self._load, self._folder = plan_id, slot, load, folder

    def run(self, spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
        """Run a subtask in the host. Raises HostLost, and any error of the host itself."""
        request = pickle.dumps(_Request(spec, vertex, subtask, buffers), 5)
        try:
            connection = self._asked(request) or self._asked(request)
        except EnvironmentFailed as error:
            return [], TaskFailure("", None, None, str(error), vertex, subtask)
        if connection is None:
            raise HostLost(f"The process that is to keep the functions of subtask {subtask + 1} open does not stay.")
        with connection:
            try:
                answer = pickle.loads(connection.recv_bytes())
            except (EOFError, OSError) as error:
                raise HostLost(
                    f"The process that keeps the functions of subtask {subtask + 1} open has ended: {error!r}"
                ) from error
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]

    def _asked(self, request: bytes) -> Connection | None:
        """A connection to a host that has taken a request; None if it ended before that, busy with another one."""
        connection = self._connect()
        try:
            connection.send_bytes(request)
            if connection.recv_bytes() == _HEARD:
                return connection
        except (EOFError, OSError):
            pass
        connection.close()
        return None

    def start(self) -> None:
        """Start it where it does not run, unless what is shipped with the job is to be laid out first: it starts when asked."""
        if self._load.shipped is None:
            self._connect().close()

    @property
    def _path(self) -> str:
        """The socket that it listens at."""
        return os.path.join(_folder(), f"{_name(self._plan_id)}-{self._slot}")

    def _connect(self) -> Connection:
        path = self._path
        connection = _connected(path)
        if connection is None:
            self._start(path)
            connection = _connected(path)
        if connection is None:
            raise HostLost(f"No process listens at {path}, although one was just started.")
        return connection

    def _start(self, path: str) -> None:
        """Start a host; it is asked for its first epoch when it has loaded the plan. Raises EnvironmentFailed.

        A worker that loads nothing of the program's own makes one of itself: a new interpreter would load all modules again.
        """
        shipped = self._load.shipped
        environment = NO_ENVIRONMENT if shipped is None else shipped.settle(self._folder)
        with suppress(FileNotFoundError):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            if shipped is None and self._load.all_hosted:
                fork = _fork if self._load.apart else _fork_here
                fork(self._load._replace(outline=b""), listening, path)
                return
            process = subprocess.Popen(
                [*environment.command(_MODULE), str(listening.fileno()), str(_HOME)],
                stdin=subprocess.PIPE,
                stdout=sys.stderr.fileno(),
                pass_fds=[listening.fileno()],
                start_new_session=True,
                cwd=environment.directory or None,
                env=environment.variables([*(os.path.abspath(path) for path in sys.path if path), ROOT]),
            )
        _started[:] = [each for each in _started if each.poll() is None]
        _started.append(process)
        with open(path + _PID, "w") as file:
            file.write(str(process.pid))
        assert process.stdin is not None
        with process.stdin:
            pickle.dump(self._load._replace(outline=b"", environment=environment), process.stdin)


def _fork(load: HostLoad, listening: socket.socket, path: str) -> None:
    """Start a host as a child of a child of this worker, which has loaded all modules but the program's own."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        grandchild = os.fork()
        if grandchild:
            with open(path + _PID, "w") as file:
                file.write(str(grandchild))
            os._exit(0)
        _become_host(load, listening)
    finally:
        os._exit(1)


def _fork_here(load: HostLoad, listening: socket.socket, path: str) -> None:
    """Start a host as a child of this worker, where those are that have an interpreter of their own."""
    _forked[:] = [pid for pid in _forked if os.waitpid(pid, os.WNOHANG)[0] == 0]
    child = os.fork()
    if child:
        _forked.append(child)
        with open(path + _PID, "w") as file:
            file.write(str(child))
        return
    try:
        os.setsid()
        _become_host(load, listening)
    finally:
        os._exit(1)


def _become_host(load: HostLoad, listening: socket.socket) -> None:
    """Leave all that belongs to the worker, and be a host until it ends."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    kept = listening.fileno()
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if (
        "numpy.random" in sys.modules
    ):  # the random numbers of a process are its own; Python's module sees to that itself
        sys.modules["numpy.random"].seed()
    _serve_load(load, listening, _HOME)
    os._exit(0)


class HostedRunner(InProcessRunner):
    """Epochs without Spark, all of whose subtasks run in hosts: something is shipped with the job."""

    def __init__(self, plan: PhysicalPlan, setup: Callable[[], None] | None) -> None:
        super().__init__(plan)
        self._id = uuid.uuid4().hex
        self._load = HostLoad.of(plan, setup)

    def run_subtask(self, spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
        """Run a subtask in the host of its slot."""
        slot = self._plan.tasks[vertex].slots[subtask]
        return Host(self._id, slot, self._load, spec.folder).run(spec, vertex, subtask, buffers)

    def close(self, folder: str | None) -> None:
        clear_away(self._id, folder)


def clear_away(plan_id: str, folder: str | None) -> None:
    """Remove a plan's hosts from this machine, its replicas in the folder, and forgotten replicas beside it."""
    close_hosts(plan_id)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        remove_forgotten(os.path.dirname(folder))


def remove_forgotten(replicas: str) -> None:
    """Remove the replicas of jobs that have not been used for long: a machine that was lost for a while still has them."""
    for job in Path(replicas).glob("*"):
        marks = [mark.stat().st_mtime for mark in job.glob("*/*.in-use")]
        if is_job_id(job.name) and marks and time.time() - max(marks) > FORGOTTEN_SECONDS:
            shutil.rmtree(job, ignore_errors=True)


def close_hosts(plan_id: str) -> None:
    """Have all hosts of a plan on this machine close their functions and end, and remove what killed hosts left."""
    start = _name(plan_id) + "-"
    for name in os.listdir(_folder()):
        path = os.path.join(_folder(), name)
        if not name.endswith(_PID) and (name.startswith(start) or _forgotten(path)):
            connection = _connected(path)
            if connection is not None:
                with connection:
                    _close(connection, path)
                _reap(path)
            for left in (path, path + _PID):
                with suppress(FileNotFoundError):
                    os.unlink(left)


def kill_hosts(plan_id: str) -> None:
    """End all hosts of a plan on this machine, whose job's driver died: their work is no longer wanted."""
    start = _name(plan_id) + "-"
    for name in os.listdir(_folder()):
        if name.startswith(start) and not name.endswith(_PID):
            path = os.path.join(_folder(), name)
            _kill(path)
            for left in (path, path + _PID):
                with suppress(FileNotFoundError):
                    os.unlink(left)


def _close(connection: Connection, path: str) -> None:
    """Have a host close its functions and end. One that does not hear, because it hangs in a record, is killed."""
    with suppress(EOFError, OSError):
        connection.send_bytes(_CLOSE)
        for seconds in (3 * GRACE_SECONDS, CLOSING_SECONDS):  # until it hears, and until it has closed them
            if not connection.poll(seconds):
                _kill(path)
                return
            connection.recv_bytes()


def _reap(path: str) -> None:
    """Wait until the host at a path has ended, if this process started it."""
    with suppress(OSError, ValueError, subprocess.TimeoutExpired), open(path + _PID) as file:
        pid = int(file.read())
        for process in _started:
            if process.pid == pid:
                process.wait(GRACE_SECONDS)
        end = time.monotonic() + GRACE_SECONDS
        while pid in _forked and time.monotonic() < end:
            if os.waitpid(pid, os.WNOHANG)[0]:
                _forked.remove(pid)
            time.sleep(0.01)


def _kill(path: str) -> None:
    """Kill the host at a path, if its process is it still."""
    with suppress(OSError, ValueError), open(path + _PID) as file:
        pid = int(file.read())
        if _OURS.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


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


class Guard:
    """Ends this process if it works on although its result is no longer wanted: it may hang in a record."""

    def __init__(self, orphaned: Callable[[], bool]) -> None:
        self._orphaned = orphaned
        self._asker: Connection | None = None
        threading.Thread(target=self._watch, name="guard", daemon=True).start()

    @contextmanager
    def working_for(self, asker: Connection) -> Iterator[None]:
        """Work for the process at a connection, within the block."""
        self._asker = asker
        try:
            yield
        finally:
            self._asker = None

    def _watch(self) -> None:
        forlorn, since = None, 0.0
        while True:
            time.sleep(0.5)
            asker = self._asker
            if asker is None or not (self._hung_up(asker) or self._orphaned()):
                forlorn = None
            elif forlorn is not asker:
                forlorn, since = asker, time.monotonic()
            elif time.monotonic() - since > GRACE_SECONDS:
                os._exit(1)

    @staticmethod
    def _hung_up(asker: Connection) -> bool:
        with suppress(OSError, ValueError):
            poll = select.poll()
            poll.register(asker.fileno(), select.POLLHUP)
            return bool(poll.poll(0))
        return False


def serve(listening: socket.socket, subtasks: Subtasks, alive: Callable[[float], Any], guard: Guard) -> None:
    """Run what is asked for. ``alive`` waits for a request so many seconds; where it gives False, nothing will be asked."""
    while alive(IDLE_SECONDS):
        asked, _ = listening.accept()
        with Connection(asked.detach()) as connection:
            try:
                request = connection.recv_bytes()
                connection.send_bytes(_HEARD)
                if request == _CLOSE:
                    subtasks.close()
                    connection.send_bytes(_CLOSE)
                    return
                with guard.working_for(connection):
                    answer: Any = _answer(subtasks, request)
            except (EOFError, OSError):
                continue  # the worker was killed: nobody waits for its request
            with suppress(OSError):
                connection.send_bytes(answer)


def _answer(subtasks: Subtasks, request: bytes) -> bytes:
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    try:
        asked: _Request = pickle.loads(request)
        made, report = subtasks.run(asked.spec, asked.vertex, asked.subtask, asked.buffers)
        answer = made, seal(report)
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


def _orphaned(parent: int) -> Callable[[], bool]:
    """The function that tells whether the parent has ended."""
    if not hasattr(os, "pidfd_open"):
        return lambda: not _lives(parent)
    try:
        watched = os.pidfd_open(parent)
    except ProcessLookupError:
        return lambda: True
    return lambda: bool(select.select([watched], [], [], 0)[0])


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def main(arguments: Iterable[str]) -> None:
    """The main function of a host. Its arguments are its socket, and the process that it does not outlive."""
    number, parent = arguments
    load: HostLoad = pickle.load(sys.stdin.buffer)
    with socket.socket(fileno=int(number)) as listening:
        _serve_load(load, listening, int(parent))


def _serve_load(load: HostLoad, listening: socket.socket, parent: int) -> None:
    """Load the plan, and run what is asked for as long as the parent lives."""
    ready = pickle.loads(load.setup)
    if ready is not None:
        ready()
    sys.path[:] = [*load.environment.paths, *(path for path in sys.path if path not in load.environment.paths)]
    subtasks = Subtasks(pickle.loads(load.plan), load.environment.cached)
    if load.gateway is not None:
        subtasks.tell = load.gateway.changed
    collect_rarely()
    try:
        serve(listening, subtasks, _wait(listening, parent), Guard(_orphaned(parent)))
    finally:
        signal.alarm(CLOSING_SECONDS)  # it ends the process where a function does not close
        subtasks.close()


if __name__ == "__main__":
    # Under its real name, so that a worker's pickles find it again.
    from compat.compiler.spark.task import hosts

    hosts.main(sys.argv[1:])
