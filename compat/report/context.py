"""The context of a renderer besides the report: the source text and the reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from compat.check.findings import Level
from compat.state.model.job import Plan, Refused

Lines = Sequence[str] | Mapping[int, str]
"""The lines of a file, all of them, or some by number."""

Reader = Callable[[str], Lines | None]
"""Gives the lines of a file by its name in findings, or None if there are none to show."""

LARGEST_SOURCE = 4_000_000
"""Files larger than this, in bytes, are not read for source frames."""


class Typed(Struct, frozen=True, kw_only=True):
    """The user's command line, for the commands that the report suggests.

    ``check`` is the command line that repeats the check; if it is None, each pair has its own, with ``options``.
    ``push`` registers NEW if a registry was asked. ``fixable`` says that the command can have ``--fix``, ``fixed`` that
    it had: the remaining findings are not fixed by a second one.
    ``definitions`` are Flink's options (quoted ``key=value``). ``recipe`` is the file for the recipe for state that NEW
    cannot restore, which a check of one OLD can write; ``recipe_written`` says that this check wrote it.
    """

    check: str | None = None
    options: str = ""
    push: str | None = None
    fixable: bool = False
    fixed: bool = False
    definitions: tuple[str, ...] = ()
    recipe: str | None = None
    recipe_written: bool = False


class OfferedRecipe(Struct, frozen=True):
    """A recipe for state that NEW cannot restore, as the text of a file, with the command that applies it."""

    text: str
    run: str


WIDTH = 100
"""The width of a text that does not go to a terminal, in columns."""


class ReportContext(Struct, frozen=True, kw_only=True):
    """How to render.

    ``sources`` gives the lines of a file, as a mapping or a function; without it files are read from disk, relative to
    ``cwd``. ``width`` is in columns. ``verbose`` makes the text complete, with source lines and the table of states.
    ``typed`` is the user's command line; without it, the command to run next names the programs. ``fail_on`` and
    ``allow_unknown`` decide which findings count as failures in formats that know pass and fail. ``plans`` are the
    plans of OLD and NEW for each outcome, for formats that draw graphs; ``recipes`` are the recipes that move the state
    of each, for formats that have room for them.
    """

    sources: Mapping[str, Lines] | Reader | None = None
    color: bool = False
    width: int = WIDTH
    verbose: bool = False
    cwd: Path = field(default_factory=Path.cwd)
    fail_on: Level = Level.ERROR
    allow_unknown: bool = False
    typed: Typed | None = None
    plans: Sequence[tuple[Plan | Refused | None, Plan | Refused | None]] = ()
    recipes: Sequence[OfferedRecipe | None] = ()

    def lines(self, file: str) -> Lines | None:
        """The lines of ``file``, or None if they are missing: a missing source never makes a report fail."""
        try:
            if self.sources is None:
                return _read(self.cwd / file)
            if isinstance(self.sources, Mapping):
                return self.sources.get(file)
            return self.sources(file)
        except (OSError, ValueError, KeyError):
            return None

    def relative(self, file: str) -> str:
        """``file`` relative to the working directory if it lies below it, with forward slashes."""
        path = Path(file)
        if path.is_absolute() and path.is_relative_to(self.cwd):
            path = path.relative_to(self.cwd)
        return path.as_posix()

    def fails(self, level: Level) -> bool:
        """True if a finding of this level makes the check fail. Open questions make it fail unless they are allowed."""
        if level is Level.UNKNOWN:
            return not self.allow_unknown
        return level.rank <= self.fail_on.rank


def _read(path: Path) -> Sequence[str] | None:
    if not path.is_file() or path.stat().st_size > LARGEST_SOURCE:
        return None
    return path.read_text(encoding="utf-8", errors="replace").splitlines()
