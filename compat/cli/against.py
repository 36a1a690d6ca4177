"""``compat check --against REF FILE…``: checks each job against its version at a git revision, for hooks and actions.

No job is skipped silently: a job that is not compared is an outcome too, and fails the check unless nothing had to be
compared.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

import compat
from compat.check.undecided import Unchecked, Undecided
from compat.cli.options import split
from compat.comparison import Comparison, Outcomes, passed_over
from compat.loader.concerned import Concerns
from compat.loader.discovery import Sources, may_be_deployed
from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.flink_version import may_pin
from compat.loader.history import Changes, changes_since
from compat.loader.revisions import PREFIX, NoRevision, files_at, is_unborn, places, text_at, why_unknown
from compat.loader.scripts import is_program
from compat.settings import Settings, SettingsError, load_text, matcher

if TYPE_CHECKING:
    from compat.cli.command import CheckCommand


class ProjectJobs:
    """The jobs of a project whose working tree has its root at ``top``, and how they are compared with a revision."""

    def __init__(self, command: CheckCommand, reference: str, top: str) -> None:
        self._command = command
        self._settings = command.settings
        self._reference = reference
        self._top = top

    def found(self) -> list[str]:
        """The jobs that the settings name, or those found where the settings name none."""
        try:
            named = self._settings.job_files()
        except SettingsError as error:
            raise click.UsageError(str(error)) from error
        if self._settings.jobs is not None:
            return named
        return list(dict.fromkeys([*named, *map(self._shown, Sources(self._top).jobs())]))

    def loading(self, paths: Sequence[Path]) -> list[str]:
        """The jobs that load one of these files, as recorded at their last build, or else by their imports."""
        changed = {self.from_top(str(path)) for path in paths}
        concerns, sources = Concerns(self._top), Sources(self._top)
        named = self._settings.jobs is not None
        return [
            job
            for job in self.found()
            if os.path.isfile(job)
            and concerns.are(self.from_top(job), self.how(job), changed)
            and (named or concerns.knows(self.from_top(job)) or sources.reaches(self.from_top(job), changed))
        ]

    def against(self, file: str, comparison: Callable[[str, str], Comparison]) -> Comparison:
        """The check of a job; settings fill in what the command line leaves out."""
        one = comparison(f"{PREFIX}{self._reference}:{os.path.relpath(file)}", file)
        one = replace(one, load=replace(one.load, watched=self._top))
        entry = self._settings.entry(file)
        if entry is not None and entry.settings is not None:
            new, old = self._command.loads(file)
            one = replace(one, load=replace(new, watched=self._top), load_old=old)
        if entry is None or not entry.args:
            return one
        given = split(entry.args)
        return replace(one, new_arguments=one.new_arguments or given, old_arguments=one.old_arguments or given)

    def how(self, file: str) -> str:
        """A digest of how a job is built."""
        arguments = self._command.new_arguments
        return how(
            self.against(file, lambda old, new: Comparison(old, new, self._command.load, new_arguments=arguments))
        )

    def from_top(self, file: str) -> str:
        """A path from the root of the working tree."""
        folder, name = os.path.split(os.path.abspath(file))
        return os.path.relpath(os.path.join(os.path.realpath(folder), name), os.path.realpath(self._top))

    def _shown(self, path: str) -> str:
        """A path from the working directory."""
        return os.path.relpath(os.path.join(self._top, path))


class Against(ProjectJobs):
    """The jobs that a command names, or that its project has, and their versions at the revision.

    Raises a usage error for a revision or a folder that git does not know, and for a file that exists on neither side.
    """

    def __init__(self, command: CheckCommand) -> None:
        assert command.against is not None
        self._then: dict[str, str] = {}
        self._changes: Changes | None = None
        try:
            why = why_unknown(command.against)
            self._unborn = bool(why) and command.against == "HEAD" and is_unborn()
            if why and not self._unborn:
                raise click.UsageError(f"--against: {why}")
            super().__init__(command, command.against, places()[0])
            self._whole = command.of_project or command.changed or any(map(_is_pattern, command.files))
            if not self._unborn:
                self._then = files_at(self._reference)
                self._changes = changes_since(self._reference) if self._whole else None
        except NoRevision as error:
            raise click.UsageError(f"--against: {error}") from error
        self.passed: list[Undecided] = []

    def comparisons(self, comparison: Callable[[str, str], Comparison]) -> list[Comparison]:
        """The checks to make; :attr:`passed` has an outcome for each job that is not checked."""
        files = [file for file in self._files() if not self._is_left_out(file)]
        if self._unborn:
            told = ((file, f"{file} is new: there is no commit yet.") for file in files)
            self.passed += [self._passed(Unchecked.NEW, file, message) for file, message in told]
            return []
        if self._whole:
            self.passed += self._removed(files)
        if self._command.of_project:
            self._not_named(files)
        if self._command.changed:
            files = self._concerned(files)
        found = []
        for file in files:
            path = os.path.relpath(file)
            if os.path.exists(file):
                found.append(self.against(file, comparison))
            elif self.from_top(file) in self._then:
                self.passed.append(self._gone(path))
            else:
                raise click.UsageError(f"There is no file {file!r}, neither here nor at {self._reference}.")
        return found

    def remember(self, comparisons: Sequence[Comparison], results: Sequence[Outcomes]) -> None:
        """Remember which files the jobs looked at, for the next check of a change."""
        if not self._top:
            return
        concerns = Concerns(self._top)
        for comparison, result in zip(comparisons, results, strict=False):
            if comparison.direction == "forward":
                concerns.remember(self.from_top(comparison.new), how(comparison), result.loads)
        concerns.keep()

    def _files(self) -> list[str]:
        """The named files, patterns expanded, here and at the revision."""
        if self._command.changed:
            return self._of_project()
        files: list[str] = []
        for file in self._command.files:
            if not _is_pattern(file):
                files.append(file)
                continue
            matches = matcher(self.from_top(file))
            found = sorted(str(path) for path in Path().glob(file) if path.is_file())
            if not found and not any(map(matches, self._then)):
                raise click.UsageError(f"There is no file {file!r}, neither here nor at {self._reference}.")
            files += found
        # A shell names the packages' own files with a pattern, too.
        return [file for file in dict.fromkeys(files) if os.path.basename(file) != "__init__.py"] or files

    def _of_project(self) -> list[str]:
        files = self.found()
        if not files:
            raise click.UsageError(
                f"No job was found in {self._top}: no program there makes an execution environment. Name the jobs in "
                'pyproject.toml, as in jobs = ["src/shop/jobs/*.py"] below [tool.compat].'
            )
        return files

    def _is_left_out(self, file: str) -> bool:
        """Whether a job is left out by name; the report then names it."""
        path = os.path.relpath(file)
        entry = self._settings.entry(file)
        if path not in {os.path.relpath(one) for one in self._command.skips} and (entry is None or entry.check):
            return False
        by = "--skip" if entry is None or entry.check else "the settings"
        self.passed.append(self._passed(Unchecked.LEFT_OUT, path, f"{path} is left out by {by}."))
        return True

    def _removed(self, files: Iterable[str]) -> Iterator[Undecided]:
        """The jobs of the revision that are gone, except those renamed to a file that is checked."""
        assert self._changes is not None
        now = {self.from_top(file) for file in files}
        moved = {before: name for name, before in self._changes.renamed.items()}
        gone = self._changes.removed | moved.keys()
        for path in sorted(gone):
            if path in now or moved.get(path) in now or not self._was_job(path):
                continue
            shown = os.path.relpath(os.path.join(self._top, path))
            if not self._is_left_out(shown):
                to = moved.get(path)
                yield self._gone(shown, to and os.path.relpath(os.path.join(self._top, to)))

    def _was_job(self, path: str) -> bool:
        """Whether a file at the revision was one of the checked jobs."""
        text = text_at(self._reference, path) if path.endswith(".py") else b""
        if path.endswith(".py") and not is_program(text):
            return False
        settings = [self._settings, *self._former_settings()]
        if self._command.changed and all(one.jobs is None for one in settings):
            return path.endswith(".py") and may_be_deployed(path) and Sources(self._top).makes_job(text)
        patterns = [] if self._command.of_project or self._command.changed else list(self._command.files)
        matches = [matcher(self.from_top(one)) for one in patterns]
        if not patterns:
            for one in settings:
                folder = Path() if self._settings.path is None else self._settings.path.parent
                named = [*(one.jobs or ()), *(entry.path for entry in one.entries if entry.check)]
                matches += [matcher(self.from_top(str(folder / pattern))) for pattern in named]
        return any(match(path) for match in matches)

    def _former_settings(self) -> list[Settings]:
        """The settings as they were at the revision: a job that they named is still a job, whether or not today's
        settings name it.
        """
        if self._settings.path is None:
            return []
        try:
            text = text_at(self._reference, self.from_top(str(self._settings.path)))
            return [load_text(self._settings.path, text)]
        except (NoRevision, SettingsError):
            return []

    def _concerned(self, files: Sequence[str]) -> list[str]:
        """The jobs that the change concerns; the others are reported as a count."""
        assert self._changes is not None
        changed = {self.from_top(file) for file in self._command.files} or self._changes.paths
        concerns = Concerns(self._top)
        command = self._command
        # What is not the same for both sides concerns every job, whatever the files are.
        apart = command.load != command.load_old or command.old_arguments != command.new_arguments
        apart = apart or (command.deployment or command.old_deployment) is not None
        apart = apart or (command.load.flink_assumed and any(map(may_pin, changed)))
        kept: list[str] = []
        others: list[str] = []
        for file in files:
            path = self.from_top(file)
            there = os.path.exists(file) and path in self._then
            if apart or not there or concerns.are(path, self.how(file), changed):
                kept.append(file)
            else:
                others.append(file)
        self._pass_over(others, Unchecked.NOT_CONCERNED, "uses no file that changed")
        return kept

    def _not_named(self, files: Sequence[str]) -> None:
        """Report the jobs below the settings' folder that the settings do not name: they are not checked."""
        folder = self.from_top(str(self._settings.folder))
        below = "" if folder == "." else f"{folder}/"
        known = {self.from_top(file) for file in files}
        others = [path for path in Sources(self._top).jobs() if path.startswith(below) and path not in known]
        shown = [path for path in map(self._shown, others) if self._settings.entry(path) is None]
        self._pass_over(shown, Unchecked.NOT_NAMED, "is not among the jobs that the settings name")

    def _pass_over(self, files: Sequence[str], unchecked: Unchecked, why: str) -> None:
        """Report files that are not checked in one outcome, if there are any."""
        if files:
            told = (Failure(rule=Undecidable.NOT_CHECKED, message=f"{file} {why}.", name=file) for file in files)
            self.passed.append(Undecided(failures=tuple(told), unchecked=unchecked))

    def _gone(self, path: str, to: str | None = None) -> Undecided:
        named = f"{PREFIX}{self._reference}:{path}"
        where = f": it is {to} now, which is none of the jobs" if to else ""
        failure = Failure(
            rule=Undecidable.REMOVED_JOB,
            message=f"{path} is a job at {self._reference}, and is gone{where}.",
            name=path,
            side=Side.NEW,
            hint=f"If its state is given up on purpose, say --skip {path}, or in the settings [[tool.compat.job]] with path "
            "and check = false.",
        )
        return Undecided(failures=(failure,), old=named, new=path)

    def _passed(self, unchecked: Unchecked, path: str, message: str) -> Undecided:
        return passed_over(unchecked, message, path, f"{PREFIX}{self._reference}:{path}", path)


def how(comparison: Comparison) -> str:
    """A digest of how NEW is built."""
    load = comparison.load
    built = (load.flink, load.call_open, load.exact, load.pyfiles, load.strict_imports, repr(load.jars))
    around = (sorted(load.options.items()), sorted(load.environment.items()))
    said = (compat.__version__, sys.version, comparison.new_arguments, *built, *around)
    return hashlib.sha256(repr(said).encode()).hexdigest()


def _is_pattern(file: str) -> bool:
    return any(sign in file for sign in "*?[") and not os.path.exists(file)
