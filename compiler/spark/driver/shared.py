"""One Spark application for the jobs of many processes: the one that starts it keeps it, the others attach to it.

PySpark talks to the JVM through a socket of the JVM. Another process that knows the port and the secret can talk to the same
JVM, and use its SparkContext. So a job starts without waiting for Spark's start.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingMixIn, UnixStreamServer
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from compat.compiler.spark.driver.session import PYTHON_OF_TASKS, Spark, module_paths, ships, silence_py4j
from compat.compiler.spark.task.epochs import EpochLost

_PATIENCE = 180.0
"""Seconds that are waited for somebody to start Spark, and for one that is up."""
_LOOKS, _AFTER_A_FAILURE = 0.05, 1.0
_LOST = 75
"""The exit code of an application's driver that lost Spark: it may be started again."""
_FAIR = {"spark.scheduler.mode": "FAIR"}


class Gateway(Struct, frozen=True, kw_only=True):
    """The address of a Spark application on this machine. ``pid`` is the process that keeps it.

    ``accumulator`` is the number of the one to which Spark's scheduler adds what Python tasks tell.
    """

    port: int
    secret: str
    pid: int
    master: str
    log: str
    accumulator: int


class SharedSpark(Spark):
    """The application itself, in the process that keeps it: jobs of others get their share by fair pools."""

    extra = _FAIR

    def __init__(self, master: str, options: Mapping[str, str], log: str) -> None:
        super().__init__(master, None, (), log, ship=ships(master, options, None))
        self._given = dict(options)
        self._accumulators = _Accumulators()
        self._accumulator: Any = None

    def gateway(self) -> Gateway:
        """The address for other processes; starts the application."""
        context = self.context
        parameters = context._gateway.gateway_parameters
        # One for all jobs: the JVM keeps the connection of each for as long as it lives itself.
        self._accumulator = context._jvm.PythonAccumulatorV2(self._accumulators.address)
        context._jsc.sc().register(self._accumulator)
        return Gateway(
            port=parameters.port,
            secret=parameters.auth_token,
            pid=os.getpid(),
            master=self._master,
            log=self.log,
            accumulator=self._accumulator.id(),
        )

    def forget(self) -> None:
        """Remove its files."""
        self._accumulators.close()

    @property
    def process(self) -> Any:
        """The process of the JVM."""
        return self.context._gateway.proc


class _Accumulators:
    """Says yes to whatever Spark's scheduler tells of accumulators: our tasks have none.

    PySpark's own server speaks to one at a time, and in the process of a job it would have all wait for that process.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="compat-")  # only this user may enter it
        self.address = os.path.join(self._folder.name, "accumulators")
        server = _Server(self.address, _SayYes)
        threading.Thread(target=server.serve_forever, name="accumulators", daemon=True).start()

    def close(self) -> None:
        """Remove its socket."""
        self._folder.cleanup()


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


class _SayYes(StreamRequestHandler):
    def handle(self) -> None:
        while len(head := self.rfile.read(4)) == 4:
            for _ in range(int.from_bytes(head, "big")):
                self.rfile.read(int.from_bytes(self.rfile.read(4), "big"))
            self.wfile.write(b"\x01")
            self.wfile.flush()


class SparkPlace:
    """The folder in which the application of a cluster is found: locked by its keeper, with the gateway in a private file."""

    def __init__(self, folder: str | Path) -> None:
        self._file = Path(folder) / "spark.json"
        self._held = Path(folder) / "spark.lock"

    def keep(self) -> Any:
        """Become the keeper: gives a file that is locked until this process ends; None if there is a keeper."""
        file = open(self._held, "a+")  # noqa: SIM115 - held on purpose
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file.unlink(missing_ok=True)
        return file

    @staticmethod
    def beat(held: Any) -> None:
        """Give a sign of life as the keeper, by the time of its locked file."""
        os.utime(held.fileno())

    def sign_of_life(self) -> float:
        """The keeper's last sign of life, in seconds since 1970; 0 if there was none."""
        try:
            return os.stat(self._held).st_mtime
        except OSError:
            return 0.0

    def publish(self, gateway: Gateway) -> None:
        """Write the gateway for other processes. Only this user may read the file: it contains the secret."""
        fresh = self._file.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        with open(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            json.dump(asdict(gateway), file)
        os.replace(fresh, self._file)

    @property
    def kept(self) -> bool:
        """True while a keeper lives, even if Spark is not up yet."""
        return self.keeper is not None

    @property
    def keeper(self) -> int | None:
        """The keeper's process, or None."""
        try:
            with open(self._held) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    text = file.read()
                    return int(text) if text.isdigit() else 0
        except OSError:
            return None
        return None

    def find(self) -> Gateway | None:
        """The gateway of the running application; None if there is none."""
        try:
            found = Gateway(**json.loads(self._file.read_text()))
        except (OSError, ValueError, TypeError):
            return None
        return found if self.kept else None


class AttachedSpark(Spark):
    """The application of a cluster, as the process of a job uses it. If it is lost, this waits for the next one."""

    def __init__(self, place: SparkPlace, pool: str) -> None:
        super().__init__(None, None, (), "")
        self._place = place
        self._interrupted = threading.Event()
        self.pool = pool

    def stop(self) -> None:
        """Detach from it; the application goes on."""
        context, self._context = self._context, None
        if context is not None:
            _detach(context)

    def interrupt(self) -> None:
        """Stop waiting for it: the job is no longer wanted."""
        self._interrupted.set()

    def _start(self) -> None:
        self.stop()
        reason = ""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and not self._interrupted.is_set():
            gateway = self._place.find()
            if gateway is not None:
                self.log, self._master = gateway.log, gateway.master
                try:
                    self._context = _attach(gateway)
                    return
                except Exception as error:  # it ended just now
                    reason = f": {type(error).__name__}: {error}"
                    _forget_gateway()
                    time.sleep(_AFTER_A_FAILURE)
            elif self._place.kept:  # it is being started: the dispatcher ends one that hangs in that
                end = time.monotonic() + _PATIENCE
            time.sleep(_LOOKS)
        raise EpochLost(f"The cluster's Spark is not up after {_PATIENCE:g} s{reason or '.'}")


class ApplicationSpark(Spark):
    """The Spark of the application that this process drives in a cluster, as it was configured when it was submitted."""

    def __init__(self, master: str) -> None:
        super().__init__(master, None, (), "the application's own")
        self._was_started = False

    def _start(self) -> None:
        if self._was_started:  # an application has one context: whoever started this driver starts another
            print("The application's SparkContext is lost, and the driver ends with it.", file=sys.stderr, flush=True)
            os._exit(_LOST)
        self._was_started = True
        from pyspark import SparkConf, SparkContext

        silence_py4j()
        self._context = SparkContext(conf=SparkConf())


def _attach(gateway: Gateway) -> Any:
    """A SparkContext over the one that the JVM has."""
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(gateway.port), gateway.secret
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    silence_py4j()
    launch: Any = launch_gateway
    try:
        java = launch()
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    found = getattr(getattr(java.jvm, "org.apache.spark.SparkContext$"), "MODULE$").getActive()
    existing = java.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(found.get())
    conf = SparkConf(_jvm=java.jvm, _jconf=existing.getConf())
    os.environ["PYSPARK_PYTHON"] = conf.get(PYTHON_OF_TASKS, sys.executable)  # where tasks run, it may have been sent
    context = SparkContext(conf=conf, gateway=java, jsc=existing)
    if not conf.contains(PYTHON_OF_TASKS):  # its keeper may have another version, whose modules stay for its jobs
        context.environment["PYTHONPATH"] = module_paths(())
    _leave_accumulators(context, gateway)
    return context


def _leave_accumulators(context: Any, gateway: Gateway) -> None:
    """Have the keeper hear of accumulators, of which our tasks have none, in place of this process.

    Spark's one scheduler waits for the answer after each task: a process that hangs would hold up the jobs of all others.
    """
    context._accumulatorServer.shutdown()
    known = getattr(getattr(context._jvm, "org.apache.spark.util.AccumulatorContext$"), "MODULE$")
    context._javaAccumulator = known.get(gateway.accumulator).get()


def _detach(context: Any) -> None:
    """Leave nothing of this process in the application."""
    with suppress(Exception):
        shutil.rmtree(context._temp_dir, ignore_errors=True)
        if not context._jsc.sc().isStopped():
            _let_go(context._gateway)
    _forget_gateway()


def _let_go(gateway: Any) -> None:
    """Have the JVM forget all objects of its that this process has names for: it would keep them until it ends.

    What was collected here is told to the JVM by a thread of py4j's, later: after the end of this process, that is never.
    """
    from py4j.finalizer import ThreadSafeFinalizer

    for reference in list(ThreadSafeFinalizer.finalizers.values()):
        held = reference()
        if held is not None and held._gateway_client is gateway._gateway_client:
            gateway.detach(held)
    untold = gateway._gateway_client.finalizer_deque
    while untold:
        with suppress(IndexError):  # that thread was faster
            client, id = untold.pop()
            client.garbage_collect_object(id, False)


def _forget_gateway() -> None:
    from pyspark import SparkContext

    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
