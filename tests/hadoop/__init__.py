"""A Hadoop on this machine: a real HDFS and a real YARN, of Hadoop's own jars, in a JVM of their own."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_LAUNCHER = Path(__file__).parent / "MiniHadoop.java"
_STARTING = 300.0


@dataclass(frozen=True, slots=True)
class MiniHadoop:
    """``address`` is that of HDFS, ``configuration`` the folder for ``HADOOP_CONF_DIR``, ``folder`` has logs and containers."""

    address: str
    configuration: Path
    folder: Path


@contextmanager
def running(folder: Path, yarn_megabytes: int | None = None) -> Iterator[MiniHadoop]:
    """Start HDFS, and YARN where it is given memory, as long as the context lasts. Skips without the jars or a compiler."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "hadoop.log"
    arguments = [str(folder), *([] if yarn_megabytes is None else [str(yarn_megabytes)])]
    command = ["java", "-Xmx768m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", _classpath(), str(_LAUNCHER)]
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [*command, *arguments], cwd=folder, stdin=subprocess.PIPE, stdout=file, stderr=file, env=_environment()
        )
    try:
        yield MiniHadoop(_address(log, process), folder / "conf", folder)
    finally:
        process.kill()
        process.communicate()


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
    return {key: value for key, value in os.environ.items() if not key.startswith(("HADOOP_", "YARN_"))}


def _classpath() -> str:
    """The jars of pyspark, with Hadoop's test clusters of the same version."""
    import pyspark

    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.maven import Artifact, fetch

    jars = Path(pyspark.__file__).parent / "jars"
    (client,) = jars.glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    wanted = Artifact(group="org.apache.hadoop", name="hadoop-client-minicluster", version=version, alone=True)
    try:
        found = fetch("hadoop", [wanted])
    except JvmError as error:
        pytest.skip(f"Hadoop {version} is not in the cache and cannot be fetched: {error}")
    if subprocess.run(["javac", "-version"], capture_output=True, check=False).returncode:
        pytest.skip("there is no Java compiler")
    return os.pathsep.join([*map(str, found), f"{jars}/*"])
