"""The interpreter that has PyFlink, and the Flink that PyFlink brings along."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from compat.loader.jvm.distribution import FlinkDistribution, FlinkPlaces, find_flink
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.pyflink.environments import COMMAND

HINT = (
    f"Write {COMMAND}, which makes an environment for it, or pip install 'stream-compat[pyflink]', or name an interpreter that "
    'has PyFlink with --pyflink PYTHON (or pyflink = "PYTHON" in the settings).'
)
VARIABLE = "COMPAT_PYFLINK"
"""Names an interpreter that has PyFlink, or its environment, where no option does."""

_ASK = """
import importlib.util, json, sys
spec = importlib.util.find_spec("pyflink")
found = list(spec.submodule_search_locations or []) if spec is not None else []
print(json.dumps([found[0] if found else None, list(sys.version_info[:2])]))
"""
_TIME = 30.0


class PyFlink(Struct, frozen=True, kw_only=True):
    """PyFlink on this machine: the interpreter that has it, that interpreter's version, and PyFlink's folder."""

    python: str
    python_version: tuple[int, int]
    folder: Path

    @property
    def jars(self) -> tuple[str, ...]:
        """The jars that PyFlink's own gateway starts with: Flink's, of FLINK_HOME if that is set, and PyFlink's."""
        home = Path(os.environ.get("FLINK_HOME") or self.folder)
        found = [*sorted((home / "lib").glob("*.jar")), *sorted((home / "opt").glob("flink-python*.jar"))]
        return tuple(str(jar) for jar in found)


def find_pyflink(python: str | None = None) -> PyFlink:
    """The PyFlink of an interpreter: the one named, else that of COMPAT_PYFLINK, else this one. Raises JvmError if it has
    none."""
    python = named(python)
    command = _interpreter(python)
    try:
        asked = subprocess.run([command, "-c", _ASK], capture_output=True, text=True, check=True, timeout=_TIME)
        folder, version = json.loads(asked.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise JvmError(f"{python} is not a working Python interpreter: {error}.", HINT) from None
    if folder is None:
        where = "this environment" if python is None else python
        raise JvmError(f"The program needs PyFlink itself, which is not installed in {where}.", HINT)
    found = PyFlink(python=command, python_version=(version[0], version[1]), folder=Path(folder))
    if not found.jars:
        raise JvmError(f"The PyFlink in {folder} has no jars of Flink.", HINT)
    return found


def named(python: str | None) -> str | None:
    """The interpreter that an option names, or that COMPAT_PYFLINK does; None if neither does."""
    return python or os.environ.get(VARIABLE) or None


def _interpreter(python: str | None) -> str:
    """An interpreter by its path, its name, or the folder of its virtual environment."""
    if python is None:
        return sys.executable
    for below in ("bin/python", "Scripts/python.exe"):
        if os.path.isfile(os.path.join(python, below)):
            return os.path.join(python, below)
    return shutil.which(python) or python


def flink_of(pyflink: PyFlink, places: FlinkPlaces) -> FlinkDistribution:
    """The Flink of PyFlink, with the user's jars before it and the test harness of its version. Raises JvmError."""
    return find_flink(replace(places, classpath=(*places.classpath, *pyflink.jars), home=None, version=None))
