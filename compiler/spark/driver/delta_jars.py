"""A SparkSession that reads and writes Delta tables: with Delta's jars of this machine, else with those of Maven Central.

Jobs themselves need none: their tables are written by delta-rs.
"""

from __future__ import annotations

import logging
import os
import pwd
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from compat.compiler.spark.driver.session import Spark
from compat.state.delta.errors import StoreError, in_one_line

_GROUP, _VERSION = "io.delta", version("delta-spark")
_ARTIFACTS = ("delta-spark_4.2_2.13", "delta-storage")
"""Their names have the versions of Spark and Scala that they are for."""
_PACKAGE = f"{_GROUP}:{_ARTIFACTS[0]}:{_VERSION}"
_JARS, _PACKAGES, _IVY = "spark.jars", "spark.jars.packages", "spark.jars.ivy"
_ANY_DELTA = "delta-spark_"
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_ADVICE = (
    f"Without a network, give the jars {' and '.join(f'{name}-{_VERSION}.jar' for name in _ARTIFACTS)} with jars=[…] or "
    f"--jars in PYSPARK_SUBMIT_ARGS, or put them into ~/.m2 as Maven does: mvn dependency:get -Dartifact={_PACKAGE}"
)
_log = logging.getLogger(__name__)


def delta_session(log: str, jars: Sequence[str] = (), options: Mapping[str, str] | None = None) -> Any:
    """A local SparkSession that reads and writes Delta tables, those of jobs' state too.

    Delta's ``jars`` come from ``options`` (``spark.jars``, ``spark.jars.packages``), or from ``--jars`` or ``--packages`` in
    ``PYSPARK_SUBMIT_ARGS``. If none are given there, they come from Spark, Ivy or Maven on this machine. Otherwise Spark
    fetches them from Maven Central, after a line in the log. Spark's output goes to the file ``log``. Raises StoreError if a
    jar is missing or Spark does not start, MissingJava.

    >>> spark = delta_session("spark.log")  # doctest: +SKIP
    >>> spark.read.format("delta").load(".compat/savepoints/savepoint-1a2b3c")  # doctest: +SKIP
    """
    settings = {**_DELTA, **(options or {})}
    if jars:
        _add(settings, _JARS, map(_existing, jars))
    if not _is_given(settings):
        found = _on_this_machine(settings)
        if found is None:
            _log.warning(
                "Delta's jars are not on this machine: Spark fetches %s from Maven Central. %s", _PACKAGE, _ADVICE
            )
            _add(settings, _PACKAGES, [_PACKAGE])
        elif found:
            _add(settings, _JARS, found)
    try:
        return _WithDelta(settings, log).session()
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(
            f"Spark did not start with Delta's jars: {in_one_line(error)}. {log} says why. {_ADVICE}"
        ) from error


class _WithDelta(Spark):
    """A Spark that does the work itself."""

    carries_only = False

    def __init__(self, settings: Mapping[str, str], log: str) -> None:
        super().__init__(None, None, (), log)
        self.add(settings)


def _add(settings: dict[str, str], option: str, values: Iterable[str]) -> None:
    """Give an option that is a list more values."""
    settings[option] = ",".join(filter(None, (settings.get(option), *values)))


def _existing(jar: str) -> str:
    if not os.path.isfile(jar):
        raise StoreError(f"The jar {jar} is not there. {_ADVICE}")
    return os.path.abspath(jar)


def _is_given(settings: Mapping[str, str]) -> bool:
    """True if whoever starts Spark says where Delta's classes are."""
    submitted = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    return any(_ANY_DELTA in text for text in (settings.get(_JARS, ""), settings.get(_PACKAGES, ""), *submitted))


def _on_this_machine(settings: Mapping[str, str]) -> list[str] | None:
    """Delta's jars; none if Spark has them on its class path; None if they are not to be found."""
    if any(jar for folder in _folders_of_spark() for jar in folder.glob(f"{_ANY_DELTA}*.jar")):
        return []
    return next((jars for jars in _kept(settings) if all(map(os.path.isfile, jars))), None)


def _folders_of_spark() -> Iterator[Path]:
    if home := os.environ.get("SPARK_HOME"):
        yield Path(home, "jars")
    elif (pyspark := find_spec("pyspark")) is not None and pyspark.origin:
        yield Path(pyspark.origin).parent / "jars"


def _kept(settings: Mapping[str, str]) -> Iterator[list[str]]:
    """Where Ivy, which Spark fetches with, and Maven would have the jars."""
    ivys = [settings[_IVY]] if _IVY in settings else []
    ivys += [str(home / name) for home in _homes() for name in (".ivy2.5.2", ".ivy2")]
    for ivy in ivys:
        yield [str(Path(ivy, "jars", f"{_GROUP}_{name}-{_VERSION}.jar")) for name in _ARTIFACTS]
    for home in _homes():
        maven = home / ".m2" / "repository" / _GROUP.replace(".", "/")
        yield [str(maven / name / _VERSION / f"{name}-{_VERSION}.jar") for name in _ARTIFACTS]


def _homes() -> list[Path]:
    """This user's homes: for Java it is the one that the system knows, whatever HOME says."""
    try:
        of_system = [Path(pwd.getpwuid(os.getuid()).pw_dir)]
    except KeyError:
        of_system = []
    return [*of_system, Path.home()]
