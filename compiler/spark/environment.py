"""The files that travel with a job, and the environment for the job's functions that a machine makes of them.

Flink: ``PythonDependencyInfo``, ``PythonEnvironmentManager``, ``DistributedCache``.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from compat.state.stores.paths import place_of
from compat.state.stores.schemes import is_remote
from compat.state.tar import tarfile

PACKED = "shipped.tar.gz"
"""The archive of all that travels, for storage whose files cannot be opened like those of a machine."""
_COMPLETE = "complete"
_TARRED = (".tar", ".tar.gz", ".tgz")
_PACKAGES = ("lib*/python*/*-packages", "local/lib*/python*/*-packages")
"""The folder below a prefix where pip installs; Debian's adds ``local``."""
_OURS = "COMPAT_SEARCHES"
"""The variable with what an interpreter of the job's searches last."""
_SHOWN = 20
"""The number of pip's last lines that are shown."""


class EnvironmentFailed(Exception):
    """A machine cannot make the environment that a job's functions need; the message gives the reason."""


class Archive(NamedTuple):
    """An archive in the folder that travels, and the folder below the working directory that it is unpacked in."""

    file: str
    target: str


class CachedFile(NamedTuple):
    """A file or folder in the folder that travels, to be found under a name."""

    file: str
    executable: bool


class Shipped(Struct, frozen=True, kw_only=True):
    """The files sent with a job, in ``folder``, which all its machines see, or an archive there; names are relative to it.

    ``files`` go onto the search path of modules. ``executable`` is the interpreter: a path, a name, or a path inside an
    archive. The program runs with Python ``version``. ``digest`` covers everything.
    """

    folder: str
    digest: str
    version: tuple[int, int]
    files: tuple[str, ...] = ()
    archives: tuple[Archive, ...] = ()
    requirements: str | None = None
    packages: str | None = None
    executable: str | None = None
    cached: Mapping[str, CachedFile] | None = None

    def settle(self, folder: str) -> Environment:
        """The environment, made in ``folder`` of this machine unless it exists. Raises EnvironmentFailed."""
        place = Path(folder, f"shipped-{self.digest}")
        place.mkdir(parents=True, exist_ok=True)
        try:
            with _alone(place / "shipped.in-use"):
                if not (place / _COMPLETE).exists():
                    _Settling(self, place).run()
                    (place / _COMPLETE).touch()
        except (OSError, ValueError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise EnvironmentFailed(f"What the job ships cannot be laid out in {place}: {error}") from error
        return self._found(place)

    def _found(self, place: Path) -> Environment:
        home = place / "working"
        # Python's modules and unpacked files are in the folder of a file
        files = [place / "files" / name for name in self.files]
        paths = [str(f.parent if f.name.endswith((".py", ".zip")) and not f.is_dir() else f) for f in files]
        for pattern in _PACKAGES if self.requirements is not None else ():
            paths = [*map(str, sorted((place / "requirements").glob(pattern))), *paths]
        cached = {name: str(place / "cached" / each.file) for name, each in (self.cached or {}).items()}
        tools = (str(place / "requirements" / "bin"),) if self.requirements is not None else ()
        return Environment(interpreter_in(home, self.executable), tuple(paths), tools, str(home), cached)


class Environment(NamedTuple):
    """The environment of a job's functions: the interpreter, its search paths for modules and tools, and its working
    directory.

    ``cached`` are the paths of cached files by name. ``interpreter`` is None for the running one.
    """

    interpreter: str | None
    paths: tuple[str, ...]
    tools: tuple[str, ...]
    directory: str
    cached: Mapping[str, str]

    def command(self, module: str) -> list[str]:
        """The command that runs one of our modules in the environment."""
        if self.interpreter is None:
            return [sys.executable, "-m", module]
        # Its own packages go before ours, which it need not have.
        start = f"import os, sys; sys.path += os.environ[{_OURS!r}].split(os.pathsep); import {module} as it; "
        return [self.interpreter, "-c", f"{start}it.main(sys.argv[1:])"]

    def variables(self, ours: Sequence[str]) -> dict[str, str]:
        """The environment variables, where we ourselves search ``ours`` for modules."""
        given = dict(os.environ)
        if self.tools:
            given["PATH"] = os.pathsep.join([*self.tools, given.get("PATH", os.defpath)])
        if self.interpreter is None:
            return {**given, "PYTHONPATH": os.pathsep.join([*self.paths, *ours])}
        given.pop("PYTHONHOME", None)
        return {**given, "PYTHONPATH": os.pathsep.join(self.paths), _OURS: os.pathsep.join(ours)}


NO_ENVIRONMENT = Environment(None, (), (), "", {})
"""The environment of a job that ships nothing."""


class DistributedCache:
    """The files that a program registered with ``register_cached_file``. Flink: ``DistributedCache``."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def get_file(self, name: str) -> str:
        """The path of a file on this machine. Raises ValueError for a name that was not registered."""
        if name not in self._files:
            raise ValueError(
                f"File with name '{name}' is not available. Did you forget to register the file? Registered are: "
                f"{', '.join(map(repr, sorted(self._files))) or 'none'}."
            )
        return self._files[name]


def interpreter_in(directory: Path, executable: str | None) -> str | None:
    """The interpreter: one that an archive brought into the working directory, else the one of that name."""
    if executable is None:
        return None
    inside = directory / executable
    return str(inside) if not os.path.isabs(executable) and inside.exists() else executable


class _Settling:
    def __init__(self, shipped: Shipped, place: Path) -> None:
        self._shipped, self._place, self._source = shipped, place, Path(shipped.folder)

    def run(self) -> None:
        """Lay everything out anew."""
        shipped, home = self._shipped, self._place / "working"
        for name in ("working", "files", "cached", "requirements", "fetched"):
            shutil.rmtree(self._place / name, ignore_errors=True)
        if is_remote(shipped.folder):
            self._source = self._place / "fetched"
            with place_of(shipped.folder).open() as file, tarfile.open(fileobj=file, mode="r:gz") as packed:
                packed.extractall(self._source, filter="tar")
        home.mkdir()
        for name in shipped.files:
            target = self._place / "files" / name
            if name.endswith(".zip") and (self._source / name).is_file():
                _unpack(self._source / name, target.parent)  # not all that is in one can be imported out of it
            else:
                self._copy(name, target)
        for archive in shipped.archives:
            _unpack(self._source / archive.file, home / archive.target)
        for each in (shipped.cached or {}).values():
            target = self._place / "cached" / each.file
            self._copy(each.file, target)
            if each.executable and target.is_file():
                target.chmod(target.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP)
        if shipped.executable is not None:
            self._ask(str(interpreter_in(home, shipped.executable)))
        if shipped.requirements is not None:
            self._install(interpreter_in(home, shipped.executable) or sys.executable)

    def _copy(self, name: str, target: Path) -> None:
        source = self._source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)

    def _ask(self, interpreter: str) -> None:
        """Raises EnvironmentFailed for an interpreter that cannot run the functions: they are pickled for one version."""
        code = "import sys; print(*sys.version_info[:2])"
        try:
            done = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=True, timeout=60)
            found = tuple(map(int, done.stdout.split()))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise EnvironmentFailed(
                f"python.executable names {interpreter}, which does not run on this machine: {error}"
            ) from error
        if found != self._shipped.version:
            own, other = (".".join(map(str, version)) for version in (self._shipped.version, found))
            raise EnvironmentFailed(
                f"python.executable names {interpreter}, which is Python {other}, and the program runs with Python {own}: "
                f"functions can be sent to the same version only. Give one of Python {own}, or run the program with {other}."
            )

    def _install(self, interpreter: str) -> None:
        assert self._shipped.requirements is not None
        prefix = self._place / "requirements"
        command = [interpreter, "-m", "pip", "install", "--ignore-installed", "--disable-pip-version-check"]
        command += ["-r", str(self._source / self._shipped.requirements), "--prefix", str(prefix)]
        if self._shipped.packages is not None:
            command += ["--no-index", "--find-links", str(self._source / self._shipped.packages)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            said = "\n".join(done.stdout.splitlines()[-_SHOWN:])
            raise EnvironmentFailed(
                f"The requirements of the job cannot be installed ({' '.join(command)}; exit code {done.returncode}):\n{said}"
            )


def _unpack(archive: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    if archive.name.endswith(_TARRED):
        with tarfile.open(archive) as tarred:
            tarred.extractall(target, filter="tar")
        return
    with zipfile.ZipFile(archive) as zipped:
        for info in zipped.infolist():
            mode = info.external_attr >> 16
            made = Path(zipped.extract(info, target))
            if stat.S_ISLNK(mode):  # as zip -y writes them
                link = made.read_text(encoding="utf-8")
                made.unlink()
                made.symlink_to(link)
            elif mode and not info.is_dir():
                made.chmod(stat.S_IMODE(mode) | stat.S_IRUSR | stat.S_IWUSR)


@contextmanager
def _alone(mark: Path) -> Iterator[None]:
    """Let one process at a time into the block; the mark's age tells when the folder was used last."""
    with open(mark, "a") as file:
        os.utime(mark)
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
