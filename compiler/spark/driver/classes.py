"""The classes of Spark's JVM in an archive, which a JVM maps: else it loads and proves some ten thousand, one by one.

Java: class data sharing (AppCDS). An archive is for one Java runtime and one set of jars, which its name shows. A JVM ignores
an archive that is damaged or from another JVM. The first program that runs Spark on a machine leaves a process behind that
makes the archive; ``python -m compat.compiler.spark.driver.classes`` makes it at once.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from compat.compiler.own_code import ROOT
from compat.compiler.spark.driver.java import class_archive, drop_old_archives
from compat.state.delta.errors import StoreError

SWITCH = "COMPAT_CLASS_ARCHIVE"
"""The environment variable that, set to ``off``, has Spark start without an archive, and no archive made unless asked for."""
_KEPT = 4
"""The number of archives that are kept, those of the latest Java and Spark versions."""
_PATIENCE = 600.0
"""Seconds that a JVM has to write an archive."""
_LATER = "--later"
"""The argument of the process that makes it in the background."""
_LAST = 19
"""The scheduling priority of that process, below all others."""
_started: list[subprocess.Popen[bytes]] = []


class NoArchive(Exception):
    """The JVM made no archive of its classes."""


def archive_path() -> Path:
    """The path of the archive for the present Java runtime and Spark, even if it does not exist yet."""
    from pyspark.find_spark_home import _find_spark_home

    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java") or "java"
    jars = sorted(Path(_find_spark_home(), "jars").glob("*.jar"))
    return class_archive("spark-classes", "", (os.path.realpath(java), *jars))


def sharing() -> str:
    """The JVM options for using the archive; an empty string if there is no archive, or it is switched off."""
    if _is_off():
        return ""
    try:
        path = archive_path()
        status = path.stat()
    except OSError:
        return ""
    trusted = status.st_uid in (0, os.getuid()) and not status.st_mode & 0o022
    return f"-Xshare:auto {_option('SharedArchiveFile', path)}" if trusted else ""


def _option(name: str, path: Path) -> str:
    """An option of the JVM that names a file, as Spark takes it apart: blanks divide options, except within quotes."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"-XX:{name}={text}"'


def _is_off() -> bool:
    return os.environ.get(SWITCH, "").lower() == "off"


def make_later() -> bool:
    """Start a separate process that makes the archive, if there is none; True if one was started.

    The process outlives this one, uses only idle processor time, and does not start again after a failure. Its temporary files
    are beside the archive, as this process's own folder for them may be removed with the run.
    """
    try:
        path = archive_path()
        if _is_off() or path.exists() or _failure(path).exists():
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        _started.append(
            subprocess.Popen(
                [sys.executable, "-m", "compat.compiler.spark.driver.classes", _LATER],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd=path.parent,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join((ROOT, os.environ.get("PYTHONPATH", ""))),
                    "TMPDIR": str(path.parent),
                },
            )
        )
    except OSError:
        return False
    return True


def make_archive() -> Path:
    """Start Spark, run the common work of all jobs, and have the JVM write its classes when it ends. It takes ten seconds.

    Raises NoArchive, MissingJava.
    """
    from compat.compiler.spark.driver.session import DRIVER_JVM, Spark, find_java

    find_java()
    path = archive_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh, log = path.with_suffix(f".{os.getpid()}"), path.with_suffix(f".{os.getpid()}.log")
    spark = Spark("local[2]", None, (), str(log))
    spark.patience = _PATIENCE
    spark.add({DRIVER_JVM: f"{spark.settings()[DRIVER_JVM]} {_option('ArchiveClassesAtExit', fresh)}"})
    try:
        process = _run_a_job(spark)
        spark.stop()
        if process.returncode != 0 or not fresh.exists():
            raise NoArchive(f"Java made no archive of Spark's classes (its log: {_failure(path)}).")
        fresh.chmod(0o600)
        os.replace(fresh, path)
    except Exception:
        with suppress(FileNotFoundError):
            os.replace(log, _failure(path))
        raise
    finally:
        spark.stop()
        for left in (fresh, log):
            left.unlink(missing_ok=True)
    _failure(path).unlink(missing_ok=True)
    drop_old_archives(path.parent, _KEPT)
    return path


def _failure(path: Path) -> Path:
    """The log of the JVM that did not make an archive."""
    return path.with_suffix(".log")


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Whether nobody else makes an archive in a folder, and nobody does within the block."""
    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        yield alone
    finally:
        os.close(held)


def _run_a_job(spark: Any) -> Any:
    """Have Spark do what an epoch does; gives the process of its JVM."""
    context = spark.context
    context.setJobGroup("archive", "an epoch", interruptOnCancel=True)
    known = context.broadcast(b"known")
    pairs = context.parallelize([(0, b"first"), (1, b"second")], 2)
    first = pairs.mapPartitionsWithIndex(lambda number, own: ((1 - at, (data, known.value)) for at, data in own))
    first.partitionBy(2, lambda number: number).mapPartitionsWithIndex(lambda number, own: own).values().collect()
    known.destroy()
    return context._gateway.proc


def _make_behind_all() -> None:
    """Make it in the background, unless another process does or has done so."""
    os.nice(_LAST)
    path = archive_path()
    with _alone(path.parent) as alone:
        if alone and not path.exists():
            make_archive()


def main(arguments: list[str]) -> int:
    """Make the archive, and print its path."""
    try:
        if arguments == [_LATER]:
            _make_behind_all()
        else:
            print(make_archive())
    except (NoArchive, StoreError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
