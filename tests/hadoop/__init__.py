"""A Hadoop on this machine: a real HDFS and a real YARN, of Hadoop's own jars, in a JVM of their own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from tests import needs
from tests.compiler.spark.crashes import below
from tests.needs import Need

_LAUNCHER = Path(__file__).parent / "MiniHadoop.java"
_STARTING = 600.0
JARS = "spark-jars"


class MiniHadoop(Struct, frozen=True):
    """``address`` is that of HDFS, ``configuration`` the folder for ``HADOOP_CONF_DIR``, ``folder`` has logs and containers."""

    address: str
    configuration: Path
    folder: Path
    pid: int


@contextmanager
def running(folder: Path, yarn_megabytes: int | None = None, hidden: Sequence[Path] = ()) -> Iterator[MiniHadoop]:
    """Start HDFS, and YARN where it is given memory, as long as the context lasts. Skips without the jars or a compiler.

    Hadoop and all that it starts do not see the folders ``hidden``, as if on another machine; Spark's jars are below
    ``folder`` there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "hadoop.log"
    arguments = [str(folder), *([] if yarn_megabytes is None else [str(yarn_megabytes)])]
    jars, launcher = _jars(), folder / _LAUNCHER.name
    classpath = os.pathsep.join([*map(str, _minicluster(jars)), f"{folder / JARS}/*"])
    (folder / JARS).mkdir()
    shutil.copy2(_LAUNCHER, launcher)
    steps = [f"mount --bind '{jars}' '{folder / JARS}'", *(f"mount -t tmpfs tmpfs '{path}'" for path in hidden)]
    command = ["unshare", "-m", "sh", "-c", f'set -e; {"; ".join(steps)}; exec "$@"', "sh"]
    needs.mounts([*command, "true"])
    command += ["java", "-Xmx768m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classpath, str(launcher)]
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [*command, *arguments], cwd=folder, stdin=subprocess.PIPE, stdout=file, stderr=file, env=_environment()
        )
    try:
        yield MiniHadoop(_address(log, process), folder / "conf", folder, process.pid)
    finally:
        left = below(process.pid, "")
        process.kill()
        process.communicate()
        for pid in left:  # containers, which outlive their node
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + _STARTING
    while time.monotonic() < end:
        if found := re.search(r"^READY (\S+)", log.read_text(errors="replace"), re.MULTILINE):
            return found[1].rstrip("/")
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise AssertionError(f"Hadoop does not start:\n{log.read_text(errors='replace')[-4000:]}")


def _environment() -> dict[str, str]:
    left = ("HADOOP_", "YARN_", "PYTHON", "PYSPARK_", "SPARK_", "VIRTUAL_ENV")
    java = os.path.realpath(shutil.which("java") or "java")
    given = {key: value for key, value in os.environ.items() if not key.startswith(left)}
    return {"JAVA_HOME": os.path.dirname(os.path.dirname(java)), **given}


def _jars() -> Path:
    """Spark's jars, which have Hadoop's clients among them."""
    import pyspark

    if subprocess.run(["javac", "-version"], capture_output=True, check=False).returncode:
        needs.without(Need.JAVAC)
    return Path(pyspark.__file__).parent / "jars"


def _minicluster(jars: Path) -> tuple[Path, ...]:
    """Hadoop's clusters for tests, of the version that Spark has."""
    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.maven import Artifact, fetch

    (client,) = jars.glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    wanted = [
        Artifact(group="org.apache.hadoop", name="hadoop-client-minicluster", version=version, alone=True),
        Artifact(group="org.junit.jupiter", name="junit-jupiter-api", version="5.11.4"),
        Artifact(group="org.bouncycastle", name="bcprov-jdk18on", version="1.78.1"),
        Artifact(group="org.bouncycastle", name="bcpkix-jdk18on", version="1.78.1"),
    ]
    try:
        return fetch("hadoop", wanted)
    except JvmError as error:
        needs.without(Need.MAVEN, error)
