"""The dependencies that a program's functions find in their tasks: files, archives, requirements, an interpreter,
cached files.

Flink: ``PythonDependencyUtils``, ``PythonDependencyInfo``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.datastream.stream_execution_environment import (
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
)
from compat.compiler.errors import Location, ProgramError
from compat.compiler.jobgraph.artifacts import CACHED_FILES, cached_files, executables
from compat.compiler.spark.environment import PACKED, Archive, CachedFile, Shipped
from compat.state.delta.errors import unwritable
from compat.state.stores.paths import Place
from compat.state.stores.schemes import why_not_local, without_scheme

_BETWEEN = ","
_PARAMETER = "#"


class Ships(Protocol):
    """The dependencies sent with a job."""

    def ship(self, folder: Place) -> Shipped:
        """Copy them into a folder that all machines of the job see. Raises StoreError."""


class Dependencies(Struct, frozen=True, kw_only=True):
    """The dependencies of a job; the paths are absolute, of this machine."""

    files: tuple[Path, ...] = ()
    archives: tuple[tuple[Path, str], ...] = ()
    requirements: Path | None = None
    packages: Path | None = None
    executable: str | None = None
    cached: Mapping[str, tuple[Path, bool]]

    def ship(self, folder: Place) -> Shipped:
        """Copy them into a folder that all machines of the job see. Raises StoreError."""
        return placed(self._shipped, folder)

    def _shipped(self, folder: Path) -> Shipped:
        shutil.rmtree(folder, ignore_errors=True)
        digest = hashlib.sha256(repr((self.executable, sys.version_info[:2])).encode())

        def sent(path: Path, kind: str) -> str:
            name = f"{kind}/{path.name}"
            target = folder / name
            target.parent.mkdir(parents=True)
            if path.is_dir():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copy2(path, target)
            for file in sorted(target.rglob("*")) if path.is_dir() else [target]:
                if file.is_file():
                    digest.update(f"{name}/{file.relative_to(target)}\0{file.stat().st_mode}\0".encode())
                    with open(file, "rb") as opened:
                        digest.update(hashlib.file_digest(opened, "sha256").digest())
            return name

        archives = (
            Archive(sent(path, f"archive-{number}"), target) for number, (path, target) in enumerate(self.archives)
        )
        shipped = {
            "files": tuple(sent(path, f"file-{number}") for number, path in enumerate(self.files)),
            "archives": tuple(archives),
            "requirements": None if self.requirements is None else sent(self.requirements, "requirements"),
            "packages": None if self.packages is None else sent(self.packages, "packages"),
            "cached": {
                name: CachedFile(sent(path, f"cached-{number}"), runs)
                for number, (name, (path, runs)) in enumerate(self.cached.items())
            },
        }
        digest.update(repr((shipped["archives"], shipped["cached"])).encode())
        return Shipped(
            folder=str(folder),
            digest=digest.hexdigest()[:16],
            version=sys.version_info[:2],
            executable=self.executable,
            **shipped,  # type: ignore[arg-type]
        )


def placed(lay_out: Callable[[Path], Shipped], folder: Place) -> Shipped:
    """Put the files that ``lay_out`` makes in a folder of this machine into ``folder``, on any storage, where all machines of
    the job see them. Raises StoreError.
    """
    try:
        return lay_out(Path(folder)) if folder.local else _uploaded(lay_out, folder)
    except OSError as error:
        raise unwritable("The store", folder, error, "give another with --store") from error


def _uploaded(lay_out: Callable[[Path], Shipped], folder: Place) -> Shipped:
    """The same for storage whose files cannot be opened as those of a machine can: one archive has all."""
    target = folder / PACKED
    with tempfile.TemporaryDirectory(prefix="compat-shipped-") as made:
        shipped = lay_out(Path(made, "shipped"))
        with tempfile.TemporaryFile(dir=made) as file:
            with tarfile.open(fileobj=file, mode="w:gz") as packed:
                packed.add(Path(made, "shipped"), ".")
            target.upload(file)
    return replace(shipped, folder=str(target))


def find_dependencies(options: Mapping[str, str], location: Location | None, *, here: bool) -> Dependencies | None:
    """The dependencies that options name; None if they name none. ``here`` is True if tasks run on this machine only.

    Raises a ProgramError, with the line that submits the job, for what is not there.
    """
    finding = _Finding(location)
    found = Dependencies(
        files=tuple(finding.path(PYTHON_FILES, each) for each in _listed(options, PYTHON_FILES)),
        archives=tuple(finding.archive(each) for each in _listed(options, PYTHON_ARCHIVES)),
        requirements=finding.optional(
            PYTHON_REQUIREMENTS, options.get(PYTHON_REQUIREMENTS, "").partition(_PARAMETER)[0]
        ),
        packages=finding.optional(PYTHON_REQUIREMENTS, options.get(PYTHON_REQUIREMENTS, "").partition(_PARAMETER)[2]),
        executable=options.get(PYTHON_EXECUTABLE) or None,
        cached={
            name: (finding.path(CACHED_FILES, path), name in executables(options))
            for name, path in cached_files(options).items()
        },
    )
    if here:
        finding.executable(found)
    return None if found == Dependencies(cached={}) else found


def _listed(options: Mapping[str, str], key: str) -> list[str]:
    return [each.strip() for each in options.get(key, "").split(_BETWEEN) if each.strip()]


class _Finding:
    def __init__(self, location: Location | None) -> None:
        self._location = location

    def path(self, option: str, text: str) -> Path:
        problem = why_not_local(text)
        path = Path(os.path.abspath(without_scheme(text)))
        if problem is None and not path.exists():
            problem = f"{path} does not exist"
        elif problem is None and not os.access(path, os.R_OK):
            problem = f"{path} cannot be read"
        if problem is not None:
            raise self._refused(f"{option}: {problem}.")
        return path

    def optional(self, option: str, text: str) -> Path | None:
        return self.path(option, text) if text else None

    def archive(self, text: str) -> tuple[Path, str]:
        given, _, target = text.partition(_PARAMETER)
        path = self.path(PYTHON_ARCHIVES, given)
        target = target or path.name
        if os.path.isabs(target) or ".." in Path(target).parts:
            raise self._refused(
                f"{PYTHON_ARCHIVES}: {text} is to be unpacked in {target}: name a folder below the tasks' working directory."
            )
        return path, target

    def executable(self, found: Dependencies) -> None:
        """Refuse an interpreter that is nowhere: not in an archive, as a path, or on the search path for programs."""
        name = found.executable
        if name is None or any(Path(name).is_relative_to(target) for _, target in found.archives):
            return
        if shutil.which(name) is None:
            raise self._refused(f"{PYTHON_EXECUTABLE}: there is no interpreter {name}.")

    def _refused(self, message: str) -> ProgramError:
        return ProgramError(f"What the job ships cannot be had. {message}", location=self._location)
