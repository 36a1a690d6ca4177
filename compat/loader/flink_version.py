"""The Flink version of a Python program, if it is not given: the one that it or its project pins."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from compat.compiler.versions import standing_for
from compat.loader.layout import folders_of_project
from compat.state.safe_open import open_regular

_FILES = re.compile(
    r"requirements[\w.-]*\.(?:txt|in)|pyproject\.toml|setup\.(?:py|cfg)|Pipfile|environment\.ya?ml|pom\.xml|Dockerfile[\w.-]*"
    r"|(?:docker-)?compose[\w.-]*\.ya?ml"
)
_PINS = re.compile(
    r"""apache[-_]flink(?:\[[\w,-]+\])?["']?\s*(?:===?|~=|=|:)\s*["']?\s*[\^~=]*\s*(\d+)\.(\d+)"""
    r"""|<flink\.version>\s*(\d+)\.(\d+)|^(?:FROM|\s*image:)\s+["']?(?:\S+/)?flink:(\d+)\.(\d+)"""
    r"""|\bflink-(?:sql-)?connector-[a-z\d-]+?(?:_2\.1\d)?-(?:\d[\w.]*-(\d+)\.(\d+)|(1)\.(\d+)\.\d+)\.jar\b""",
    re.IGNORECASE | re.MULTILINE,
)
"""A requirement, a Maven property, an image, or the jar of a connector, whose name contains its Flink version."""
_OUTPUTS = frozenset({"target", "build", "libs"})
"""The folders into which Maven, Gradle and sbt put jars."""
_BUILDS = ("pom.xml", "gradle.properties", "build.gradle", "build.gradle.kts", "build.sbt")
_RELEASE = re.compile(
    r"""<flink\.version>\s*(\d+\.\d+\.\d+)\s*<|\bflink\.?_?version["']?\s*:?=\s*["']?(\d+\.\d+\.\d+)\b""", re.IGNORECASE
)
"""The release of Flink as builds name it: a property of Maven or Gradle, or a value of sbt."""
_LARGEST = 200_000
_IN_FOLDER, _FOLDERS = 1000, 50


class Pin(Struct, frozen=True):
    """The version in a project's file, and the supported version that corresponds to it."""

    named: str
    file: str
    flink: str

    def __str__(self) -> str:
        return f"{self.file} names Flink {self.named}"


def pin_of(program: str, root: str | None = None) -> Pin | None:
    """The version that a program or its project pins: in the nearest file that names one, up to the project's root.

    Where none does, the folders directly below the root are looked at, which have images and the like; those that pin
    several versions tell nothing.
    """
    for folder, names in _looked_at(program, root):
        for name in names:
            if (found := _pinned(os.path.join(folder, name))) is not None:
                return _pin(found, name)
    outermost = list(folders_of_project(program, root))[-1]
    pins = [_pin(found, os.path.join(*place)) for place, found in _below(outermost)]
    return pins[0] if len({None if one is None else one.flink for one in pins}) == 1 else None


def _pin(version: tuple[str, str], file: str) -> Pin | None:
    major, minor = version
    stands_for = standing_for(major)
    return None if stands_for is None else Pin(f"{major}.{minor}", file, stands_for)


def _below(root: str) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """The files in the folders directly below one that pin a version, by folder and name, with that version."""
    try:
        with os.scandir(root) as entries:
            folders = sorted(one.name for one in entries if one.is_dir() and not one.name.startswith("."))
    except OSError:
        return
    for folder in folders[:_FOLDERS]:
        for name in sorted(_names(os.path.join(root, folder)), key=_order):
            if (found := _pinned(os.path.join(root, folder, name))) is not None:
                yield (folder, name), found


def release_of(job: str, root: str | None = None) -> tuple[str, str] | None:
    """The release of Flink that the build of a jar, or what is beside a script, names, and the nearest file that does."""
    for folder in built_in(job, root):
        for name in _BUILDS:
            if (found := _RELEASE.search(_text(os.path.join(folder, name)))) is not None:
                return found[1] or found[2], name
    return None


def built_in(job: str, root: str | None = None) -> Iterator[str]:
    """The folders of the project of a job, of a jar also those above the folder that a build put it into, the nearest first."""
    folder, above = os.path.dirname(os.path.abspath(job)), []
    while os.path.basename(folder) in _OUTPUTS or os.path.basename(folder).startswith("scala-"):
        folder = os.path.dirname(folder)
        above.append(folder)
    yield from dict.fromkeys([*folders_of_project(job, root), *above])


def _looked_at(program: str, root: str | None) -> Iterator[tuple[str, list[str]]]:
    """The folders and files that may name a version, the nearest first; files of Docker Compose come behind the others."""
    yield os.path.split(program)[0], [os.path.basename(program)]
    for folder in folders_of_project(program, root):
        yield folder, sorted(_names(folder), key=_order)


def _order(name: str) -> tuple[bool, str]:
    return "compose" in name, name


def may_pin(path: str) -> bool:
    """Whether files of this name pin versions."""
    return _FILES.fullmatch(os.path.basename(path)) is not None


def _names(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            for number, entry in enumerate(found):
                if number > _IN_FOLDER:
                    return
                if may_pin(entry.name):
                    yield entry.name
    except OSError:
        return


def _text(path: str) -> str:
    try:
        with open_regular(path) as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _pinned(path: str) -> tuple[str, str] | None:
    found = _PINS.search(_text(path))
    if found is None:
        return None
    major, minor = filter(None, found.groups())
    return major, minor
