"""The Flink that builds a job: its jars, its version, and the test harness that shows states."""

from __future__ import annotations

import os
import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.versions import LATEST_FLINK, pyflink_version
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch

HOME_VARIABLE = "FLINK_HOME"
CONFIGURATION_VARIABLE = "FLINK_CONF_DIR"
FLINK = "org.apache.flink"
LOG4J = "org.apache.logging.log4j"
_CORE = "org/apache/flink/api/common/ExecutionConfig.class"
_HARNESS = "org/apache/flink/streaming/util/AbstractStreamOperatorTestHarness.class"
_NEW_HARNESS = (2, 0)
OLDEST = (1, 17)
FETCHES = f"--flink-version {pyflink_version(LATEST_FLINK)}"
_END, _SIGNATURE = struct.Struct("<4s8xI6x"), b"PK\5\6"
"""The record that ends an archive without a comment; it tells the length of the list of entries before it."""
_RELEASE = re.compile(r"\d+\.\d+\.\d+\S*")
_ARTIFACTS = (
    "flink-clients",
    "flink-streaming-java",
    "flink-statebackend-rocksdb",
    "flink-connector-datagen",
    "flink-connector-files",
    "flink-cep",
    "flink-csv",
    "flink-json",
    "flink-table-api-java-bridge",
    "flink-table-planner-loader",
    "flink-table-runtime",
)
"""The artifacts that a Flink distribution has on its class path."""
_LOG4J = ("log4j-api", "log4j-core", "log4j-1.2-api")
_LOG4J_VERSION = "2.24.3"
"""A distribution has Log4j as well, which jobs therefore leave out of their jars."""


class FlinkDistribution(Struct, frozen=True, kw_only=True):
    """The jars of a Flink, its version, and the jars of its test harness, without which states are unknown.

    ``configuration`` is the folder with the settings of an installation; ``fetched`` says that the jars were downloaded
    for a version instead.
    """

    version: str
    jars: tuple[Path, ...]
    harness_jars: tuple[Path, ...] = ()
    configuration: Path | None = None
    fetched: bool = False
    note: str = ""

    @property
    def classpath(self) -> tuple[str, ...]:
        """All jars, in the order in which classes are looked up."""
        return tuple(str(jar) for jar in (*self.jars, *self.harness_jars))


class FlinkPlaces(Struct, frozen=True, kw_only=True):
    """The user's options for the location of Flink: jars and folders, a home, a version; each may be missing."""

    classpath: tuple[str, ...] = ()
    home: str | None = None
    version: str | None = None
    fetch_harness: bool = True


def find_flink(places: FlinkPlaces) -> FlinkDistribution:
    """The Flink of the class path, else of the home (or FLINK_HOME), else the one of the version, from Maven Central.

    Jars of the class path come first in any case. Raises JvmError if there is none.
    """
    given = expand(places.classpath)
    fetched = False
    home = places.home or (None if places.version else os.environ.get(HOME_VARIABLE))
    if _first_with(given, _CORE) is not None:
        jars = given
    elif home:
        jars = (*given, *_home_jars(Path(home)))
    elif places.version:
        _refuse_other_releases(places.version)
        fetched = True
        jars = (
            *given,
            *fetch(
                f"flink-{places.version}",
                [Artifact(group=FLINK, name=name, version=places.version) for name in _ARTIFACTS],
            ),
            *fetch(
                f"log4j-{_LOG4J_VERSION}",
                [Artifact(group=LOG4J, name=name, version=_LOG4J_VERSION, alone=True) for name in _LOG4J],
            ),
        )
    else:
        raise JvmError(
            "Flink's jars are needed to build this job, and their location is not given.",
            f"Give --classpath 'DIR/*', --flink-home DIR (or FLINK_HOME), or {FETCHES}, which downloads them.",
            FETCHES,
        )
    version = flink_version(jars)
    _refuse_old(version)
    found = FlinkDistribution(version=version, jars=jars, configuration=_configuration(home), fetched=fetched)
    if _first_with(jars, _HARNESS) is not None:
        return found
    if not places.fetch_harness:
        return replace(found, note=_without_harness(version))
    try:
        return replace(found, harness_jars=fetch(f"flink-harness-{version}", harness_artifacts(version)))
    except JvmError as error:
        return replace(found, note=f"{_without_harness(version)} {error}")


def _refuse_other_releases(version: str) -> None:
    """Raises JvmError before it fetches anything, if the version is not a release of Flink that can be fetched."""
    if _RELEASE.fullmatch(version) is None:
        raise JvmError(
            f"{version!r} is not a release of Flink, which has three numbers, such as 1.20.1.",
            f"Write --flink-version {version}.0." if re.fullmatch(r"\d+\.\d+", version) else "",
        )
    _refuse_old(version)


def _refuse_old(version: str) -> None:
    """Raises JvmError for a Flink that is older than those that are known here."""
    if parsed(version) < OLDEST:
        raise JvmError(
            f"Flink {version} is too old: jobs are built with Flink 1.17 to 2.3.",
            "Name a version from 1.17 on, such as --flink-version 1.17.2.",
        )


def _configuration(home: str | None) -> Path | None:
    """The folder of an installation's settings, where Flink's own commands look for it."""
    if not home:
        return None
    folder = Path(os.environ.get(CONFIGURATION_VARIABLE) or Path(home, "conf")).absolute()
    return folder if folder.is_dir() else None


def harness_artifacts(version: str) -> tuple[Artifact, ...]:
    """The test jars that hold Flink's operator harness, and the classes that it needs."""
    names = ["flink-runtime", "flink-core"]
    if parsed(version) < _NEW_HARNESS:
        names.insert(0, "flink-streaming-java")
    tests = [Artifact(group=FLINK, name=name, version=version, classifier="tests", alone=True) for name in names]
    return (*tests, Artifact(group=FLINK, name="flink-test-utils-junit", version=version, alone=True))


def _without_harness(version: str) -> str:
    wanted = ", ".join(str(one) for one in harness_artifacts(version))
    return f"The states of this job are unknown: to find them, put Flink's test harness ({wanted}) on --classpath."


def parsed(version: str) -> tuple[int, int]:
    """Major and minor version of ``2.3.0`` or ``1.20-SNAPSHOT``."""
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0].partition("-")[0]
    return int(major), int(minor or 0)


def expand(entries: Sequence[str]) -> tuple[Path, ...]:
    """The jars and folders of a class path; ``DIR/*`` is every jar of a folder. Raises JvmError for missing entries."""
    return tuple(dict.fromkeys(path for entry in entries for part in entry.split(os.pathsep) for path in _entry(part)))


def _entry(entry: str) -> Iterator[Path]:
    if not entry:
        return
    if os.path.basename(entry) == "*":
        folder = Path(os.path.dirname(entry) or ".")
        jars = sorted(folder.glob("*.jar"))
        if not jars:
            raise JvmError(f"--classpath {entry}: there is no jar in {folder}.")
        yield from (jar.absolute() for jar in jars)
    elif os.path.exists(entry):
        yield Path(entry).absolute()
    else:
        raise JvmError(f"--classpath {entry}: there is no such file or folder.")


def _home_jars(home: Path) -> tuple[Path, ...]:
    """The jars of a Flink installation: ``lib``, as Flink's own commands take it."""
    jars = tuple(sorted((home / "lib").glob("*.jar"))) or tuple(sorted(home.glob("*.jar")))
    if not jars:
        raise JvmError(
            f"{home} is not a Flink installation: it has no jars in lib.", "Give the folder that contains bin and lib."
        )
    return tuple(jar.absolute() for jar in jars)


def flink_version(jars: Sequence[Path]) -> str:
    """The version in the manifest of the jar with Flink's core. Raises JvmError if no jar has it."""
    core = _first_with(jars, _CORE)
    if core is None:
        raise JvmError(
            "There is no flink-core (or flink-dist) among the jars.", "Name Flink's own jars with --classpath."
        )
    version = _manifest(core).get("Implementation-Version") if core.is_file() else None
    if version is None or not version[:1].isdigit():
        raise JvmError(
            f"{core} does not say which version of Flink it is.", "Take the jars that Apache Flink publishes."
        )
    return version


def _first_with(jars: Sequence[Path], entry: str) -> Path | None:
    for jar in jars:
        if jar.is_dir():
            if (jar / entry).is_file():
                return jar
        elif _has(jar, entry):
            return jar
    return None


def _has(jar: Path, entry: str) -> bool:
    try:
        with jar.open("rb") as file:
            if not _may_have(file, entry):
                return False
            zipfile.ZipFile(file).getinfo(entry)
    except (KeyError, zipfile.BadZipFile, OSError):
        return False
    return True


def _may_have(file: BinaryIO, entry: str) -> bool:
    """False if an archive's list of entries, which lies before its end, does not have the name.

    To parse the lists of a hundred jars takes half a second, to look for a few bytes in them a hundredth of that.
    """
    behind = file.seek(0, os.SEEK_END) - _END.size
    if behind < 0:
        return False
    file.seek(behind)
    signature, size = _END.unpack(file.read(_END.size))
    if signature != _SIGNATURE or size > behind:  # a comment follows, or the archive is a large one
        return True
    file.seek(behind - size)
    return entry.encode() in file.read(size)


def _manifest(jar: Path) -> dict[str, str]:
    """The main attributes of a jar's manifest; lines that begin with a space continue the one before."""
    with zipfile.ZipFile(jar) as archive:
        try:
            text = archive.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
        except KeyError:
            return {}
    main = text.replace("\r\n", "\n").partition("\n\n")[0].replace("\n ", "")
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in main.splitlines())}
