"""The settings of a project, and how the command line overrides them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from compat.check.findings import Level
from compat.loader.inputs import FlinkJars, LoadOptions

if TYPE_CHECKING:
    from compat.check.ignores import IgnoredRule


class SettingsError(ValueError):
    """A settings file that cannot be read, or an invalid key in it; the message names both."""


class Output(Struct, frozen=True):
    """Where a report goes: a format, and a file or None for standard output."""

    format: str
    path: Path | None = None


def matcher(pattern: str) -> Callable[[str], bool]:
    """A test whether paths match a pattern of the shell, ``**`` included."""
    parts = []
    for part in pattern.split("/"):
        parts.append(
            "(?:[^/]+/)*" if part == "**" else translate(part).replace(".*", "[^/]*").removesuffix("\\Z") + "/"
        )
    compiled = re.compile("".join(parts))
    return lambda path: compiled.fullmatch(f"{path}/") is not None


class JobEntry(Struct, frozen=True, kw_only=True):
    """The settings of one job, at ``path`` below their folder, or of all jobs that match this pattern.

    ``args`` are its arguments, ``settings`` override the build settings of all jobs. The file of a job that is not
    checked may be missing.
    """

    path: str
    args: str = ""
    check: bool = True
    settings: Settings | None = None

    def is_of(self, file: str, folder: Path) -> bool:
        """Whether the entry is for a file, which may be gone; ``folder`` is that of the settings."""
        path = os.path.relpath(os.path.abspath(file), folder)
        return path == os.path.normpath(self.path) or matcher(self.path)(path)

    def files(self, folder: Path) -> list[str]:
        """Its files below the folder of the settings; for a path without a pattern, that one, whether it exists or not."""
        if not any(mark in self.path for mark in "*?["):
            return [os.path.abspath(folder / self.path)]
        return sorted(os.path.abspath(path) for path in folder.glob(self.path) if path.is_file())


class Settings(Struct, frozen=True, kw_only=True):
    """The settings; None for those that are not given. ``options`` are Flink options, as given by ``-D``.

    ``jobs`` are patterns of files below the folder of the settings, ``against`` is the revision that they are compared
    with, and ``entries`` are the settings of single jobs.
    """

    fail_on: Level | None = None
    allow_unknown: bool | None = None
    allow_non_restored_state: bool | None = None
    flink: str | None = None
    timeout: float | None = None
    baseline: Path | None = None
    output: tuple[Output, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[IgnoredRule, ...] = ()
    no_open: bool | None = None
    jars: FlinkJars = field(default_factory=FlinkJars)
    exact: bool | None = None
    jobs: tuple[str, ...] | None = None
    against: str | None = None
    entries: tuple[JobEntry, ...] = ()
    pyfiles: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    strict_imports: bool | None = None
    path: Path | None = None

    def under(self, command_line: Settings) -> Settings:
        """These settings overridden by those of the command line: options key by key, ignored rules added."""
        said = {name: value for name, value in asdict(command_line).items() if value is not None}
        said["options"] = MappingProxyType({**self.options, **command_line.options})
        said["environment"] = MappingProxyType({**self.environment, **command_line.environment})
        said["ignore"] = (*self.ignore, *command_line.ignore)
        said["entries"] = (*self.entries, *command_line.entries)
        said["jars"] = command_line.jars.over(self.jars)
        return replace(self, **said)

    def job_files(self) -> list[str]:
        """The files of the project's jobs, relative to the working directory. Raises SettingsError if there are none."""
        files: list[str] = []
        folder = self.folder
        for pattern in self.jobs or ():
            found = sorted(path for path in folder.glob(pattern) if path.is_file() and path.name != "__init__.py")
            if not found:
                raise SettingsError(f"{self.path}: jobs: there is no file {pattern!r} in {folder}")
            files += [os.path.relpath(path) for path in found]
        files += [os.path.relpath(file) for one in self.entries if one.check for file in one.files(folder)]
        return list(dict.fromkeys(files))

    def entry(self, file: str) -> JobEntry | None:
        """The entry for the job in a file."""
        return next((one for one in self.entries if one.is_of(file, self.folder)), None)

    def arguments(self, file: str) -> str:
        """The arguments of the job in a file."""
        entry = self.entry(file)
        return "" if entry is None else entry.args

    def of_job(self, file: str) -> Settings:
        """The settings overridden by those of the job in a file."""
        entry = self.entry(file)
        return self if entry is None or entry.settings is None else self.under(entry.settings)

    @property
    def folder(self) -> Path:
        """The folder that paths in the settings are relative to."""
        return Path() if self.path is None else self.path.absolute().parent

    def load_options(self) -> LoadOptions:
        """The load options of programs under these settings."""
        return LoadOptions.given(
            self.options,
            flink=self.flink,
            timeout=self.timeout,
            no_open=self.no_open,
            jars=self.jars,
            exact=self.exact,
            pyfiles=self.pyfiles,
            environment=self.environment,
            strict_imports=self.strict_imports,
        )
