"""Environments that have PyFlink: those that ``compat setup pyflink`` makes in this user's cache, and others by their files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from compat.compiler.spark.driver.java import cache_folder
from compat.loader.jvm.distribution import parsed
from compat.loader.jvm.errors import JvmError

COMMAND = "compat setup pyflink"
_OLDEST_FLINK = (1, 17)
_OLDEST_PYTHON = (3, 9)
_NEWEST_PYTHONS = (((2, 1), (3, 12)), ((1, 19), (3, 11)), (_OLDEST_FLINK, (3, 10)))
"""The newest Python that releases of PyFlink have packages for, from a version of Flink on."""
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_PACKAGES = ("lib/python*/site-packages", "Lib/site-packages")
_ABOUT = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
_ASKING = 20.0


class Environment(Struct, frozen=True, kw_only=True):
    """A folder with a Python that has PyFlink, and PyFlink's version."""

    folder: Path
    version: str


def pyflink_in(folder: Path) -> Environment | None:
    """The environment in a folder, by its files alone; None if it has no PyFlink."""
    for packages in (found for pattern in _PACKAGES for found in sorted(folder.glob(pattern))):
        about = next(packages.glob("apache_flink-[0-9]*.dist-info"), None)
        if about is not None and (packages / "pyflink" / "__init__.py").is_file():
            return Environment(folder=folder, version=about.name.removesuffix(".dist-info").partition("-")[2])
    return None


def made() -> tuple[Environment, ...]:
    """The environments made by ``compat setup pyflink``, the newest version first."""
    folders = (one for one in _home().glob("[0-9]*.[0-9]*") if one.is_dir())
    found = [one for folder in folders if (one := pyflink_in(folder)) is not None]
    return tuple(sorted(found, key=lambda one: parsed(one.version), reverse=True))


def fitting(found: Iterable[Environment], flink: str, assumed: bool = False) -> list[Environment]:
    """Those that build programs for a version of Flink, the best first: those of this version, then those of its API.

    Where nobody named the version (``assumed``), all others follow.
    """
    known = list(found)
    exact = [one for one in known if parsed(one.version) == parsed(flink)]
    alike = [one for one in known if assumed or parsed(one.version)[0] == parsed(flink)[0]]
    return [*exact, *(one for one in alike if one not in exact)]


def make(
    version: str, python: str | None = None, say: Callable[[str], None] = lambda _: None
) -> tuple[Environment, bool]:
    """The environment with PyFlink of a version, such as ``1.20`` or ``1.20.1``, and whether it was made just now.

    It is made aside and takes its place when it is whole. Raises JvmError if that cannot be.
    """
    if _VERSION.fullmatch(version) is None or parsed(version) < _OLDEST_FLINK:
        raise JvmError(f"{version!r} is not a supported PyFlink: that is 1.17 or later, such as 1.20 or 2.3.0.")
    place = _home() / "{}.{}".format(*parsed(version))
    there = pyflink_in(place)
    if there is not None and (there.version == version or version.count(".") == 1):
        return there, False
    interpreter = _fitting(version, python)
    place.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(place.parent)
    with tempfile.TemporaryDirectory(prefix=f".{os.getpid()}-", dir=place.parent, ignore_cleanup_errors=True) as aside:
        fresh = Path(aside, place.name)
        say(f"PyFlink {version} is installed into {place}, with {interpreter or 'a Python that uv brings'}.")
        _install(fresh, version, interpreter)
        found = pyflink_in(fresh)
        if found is None:
            raise JvmError(f"The installation has no PyFlink {version}.")
        if there is not None:
            os.replace(place, Path(aside, "before"))
        with suppress(OSError):  # another one was faster
            os.replace(fresh, place)
    return Environment(folder=place, version=found.version), True


def _home() -> Path:
    return cache_folder() / "pyflink"


def _install(folder: Path, version: str, interpreter: str | None) -> None:
    """Make an environment in a folder, and install PyFlink into it. Raises JvmError with the end of what was said."""
    wanted = f"apache-flink=={version}" if version.count(".") > 1 else f"apache-flink=={version}.*"
    python = str(folder / "bin" / "python")
    uv = shutil.which("uv")
    if uv is not None:
        newest = "{}.{}".format(*_newest_python(version))
        _run([uv, "venv", "--quiet", "--python", interpreter or newest, str(folder)])
        _run([uv, "pip", "install", "--quiet", "--python", python, wanted])
    else:
        assert interpreter is not None
        _run([interpreter, "-m", "venv", str(folder)])
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted])


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise JvmError(f"{command[0]} does not run: {error}.") from error
    if done.returncode:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise JvmError(
            f"PyFlink cannot be installed: {said[-1] if said else f'{command[0]} ended with {done.returncode}'}",
            "Check the connection and the settings of pip, or give an interpreter that has PyFlink with --pyflink.",
        )


def _fitting(version: str, python: str | None) -> str | None:
    """An interpreter that a version of PyFlink has packages for; None if uv is to bring one. Raises JvmError."""
    newest = _newest_python(version)
    span = f"Python {_OLDEST_PYTHON[0]}.{_OLDEST_PYTHON[1]} to {newest[0]}.{newest[1]}"
    if python is not None:
        about = _asked(python)
        if about is None:
            raise JvmError(
                f"{python} is not a Python that can make environments: it lacks venv or pip, or does not run."
            )
        if not _OLDEST_PYTHON <= about <= newest:
            raise JvmError(f"PyFlink {version} is for {span}, and {python} is Python {about[0]}.{about[1]}.")
        return python
    for one in _interpreters(newest):
        about = _asked(one)
        if about is not None and _OLDEST_PYTHON <= about <= newest:
            return one
    if shutil.which("uv") is not None:
        return None
    raise JvmError(
        f"PyFlink {version} is for {span}, and none of these is on this machine.",
        f"Install one (uv python install {newest[0]}.{newest[1]}, pyenv install {newest[0]}.{newest[1]}), or name one: "
        f"{COMMAND} {version} --python PYTHON.",
    )


def _newest_python(version: str) -> tuple[int, int]:
    return next(python for since, python in _NEWEST_PYTHONS if parsed(version) >= since)


def _interpreters(newest: tuple[int, int]) -> Iterator[str]:
    """The Pythons of this machine that may fit: this one, those on the path, and pyenv's."""
    if sys.version_info[:2] <= newest:
        yield sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    for minor in range(newest[1], _OLDEST_PYTHON[1] - 1, -1):
        if (found := shutil.which(f"python3.{minor}")) is not None:
            yield found
        yield from (str(one) for one in sorted(pyenv.glob(f"3.{minor}.*/bin/python")))


def _asked(python: str) -> tuple[int, int] | None:
    """The version of an interpreter that can make environments; None for any other."""
    try:
        done = subprocess.run([python, "-c", _ABOUT], capture_output=True, text=True, check=True, timeout=_ASKING)
        major, minor = done.stdout.split()
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return int(major), int(minor)


def _remove_abandoned(home: Path) -> None:
    """Remove what processes that are gone have left half made."""
    for folder in home.glob(".[0-9]*-*"):
        owner = folder.name[1:].partition("-")[0]
        if owner.isdigit() and not _lives(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
