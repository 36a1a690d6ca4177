"""The settings that a project can make, and the command line over them."""

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
    """A settings file that cannot be read, or a key of it that cannot be used; the message names both."""


class Output(Struct, frozen=True):
    """Where a report goes: a format, and a file or None for standard output."""

    format: str
    path: Path | None = None


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path matches a pattern of the shell, ``**`` included."""
    parts = []
    for part in pattern.split("/"):
        parts.append(
            "(?:[^/]+/)*" if part == "**" else translate(part).replace(".*", "[^/]*").removesuffix("\\Z") + "/"
        )
    compiled = re.compile("".join(parts))
    return lambda path: compiled.fullmatch(f"{path}/") is not None


class JobEntry(Struct, frozen=True, kw_only=True):
    """What the settings say of one job, at ``path`` below their folder, or of all that this pattern finds.

    ``args`` are those that it is started with, ``settings`` how it is built where that is another way than for all jobs. One
    that is not to be checked may be gone, too.
    """

    path: str
    args: str = ""
    check: bool = True
    settings: Settings | None = None

    def is_of(self, file: str, folder: Path) -> bool:
        """Whether it says something of a file, which may be gone; ``folder`` is that of the settings."""
        path = os.path.relpath(os.path.abspath(file), folder)
        return path == os.path.normpath(self.path) or matcher(self.path)(path)

    def files(self, folder: Path) -> list[str]:
        """Its files below the folder of the settings; of a path without a pattern that one, be it there or not."""
        if not any(mark in self.path for mark in "*?["):
            return [os.path.abspath(folder / self.path)]
        return sorted(os.path.abspath(path) for path in folder.glob(self.path) if path.is_file())


class Settings(Struct, frozen=True, kw_only=True):
    """The settings that can be made; None where nothing was said. ``options`` are Flink options, as ``-D`` gives them.

    ``jobs`` are patterns of files below the folder of the settings, ``against`` is the revision that they are held against, and
    ``entries`` are jobs that more is said of.
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
        """These settings with those of the command line over them: options key by key, ignored rules added."""
        said = {name: value for name, value in asdict(command_line).items() if value is not None}
        said["options"] = MappingProxyType({**self.options, **command_line.options})
        said["environment"] = MappingProxyType({**self.environment, **command_line.environment})
        said["ignore"] = (*self.ignore, *command_line.ignore)
        said["entries"] = (*self.entries, *command_line.entries)
        said["jars"] = command_line.jars.over(self.jars)
        return replace(self, **said)

    def job_files(self) -> list[str]:
        """The files of the project's jobs, by their paths from the working directory. Raises SettingsError for none."""
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
        """What is said of the job in a file."""
        return next((one for one in self.entries if one.is_of(file, self.folder)), None)

    def arguments(self, file: str) -> str:
        """The arguments that the job in a file is started with."""
        entry = self.entry(file)
        return "" if entry is None else entry.args

    def of_job(self, file: str) -> Settings:
        """The settings with those of the job in a file over them."""
        entry = self.entry(file)
        return self if entry is None or entry.settings is None else self.under(entry.settings)

    @property
    def folder(self) -> Path:
        """The folder that its paths are below."""
        return Path() if self.path is None else self.path.absolute().parent

    def load_options(self) -> LoadOptions:
        """How programs are loaded by these settings."""
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
