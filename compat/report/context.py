"""The context of a renderer, besides the report: where source text comes from, and for whom it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from compat.check.findings import Level
from compat.state.model.job import Plan, Refused

Lines = Sequence[str] | Mapping[int, str]
"""The lines of a file, all of them, or some by their numbers."""

Reader = Callable[[str], Lines | None]
"""Gives the lines of a file by the name that findings call it, or None where there are none to show."""

LARGEST_SOURCE = 4_000_000
"""Files beyond this many bytes are not read for the sake of a source frame."""


class Typed(Struct, frozen=True, kw_only=True):
    """What the user typed, for the commands that come next.

    ``check`` is the command line that makes the check again; where it is None, each pair has one of its own, with
    ``options``. ``push`` registers NEW where a registry was asked. ``fixable`` says that the command takes ``--fix``,
    ``fixed`` that it had it: what is left is not written by another one.
    ``definitions`` are Flink's options (quoted ``key=value``). ``recipe`` is the file for what becomes of state that NEW cannot
    restore, which a check of one OLD can write, ``recipe_written`` says that this one did.
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
    """What becomes of state that NEW cannot restore, as the text of a file, and the command that carries it out."""

    text: str
    run: str


WIDTH = 100
"""The columns of a text that goes to no terminal."""


class ReportContext(Struct, frozen=True, kw_only=True):
    """How to render.

    ``sources`` gives the lines of a file, as a mapping or a function; without it files are read from disk, relative to
    ``cwd``. ``width`` is in columns. ``verbose`` has the text tell all that is known, with source lines and the table of
    states. ``typed`` is what the user typed; without it, the command to run next names the programs. ``fail_on`` and
    ``allow_unknown`` decide which findings count as failures in formats that know pass and fail. ``plans`` are what the
    outcomes were made from, OLD's and NEW's of each, for formats that draw graphs; ``recipes`` are how the state of each
    is moved, for formats that have room for that.
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
        """The lines of ``file``, or None if they cannot be had: a report never fails for want of a source frame."""
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
        """True if a finding of this level makes the check fail. An open question fails it unless it was allowed."""
        if level is Level.UNKNOWN:
            return not self.allow_unknown
        return level.rank <= self.fail_on.rank


def _read(path: Path) -> Sequence[str] | None:
    if not path.is_file() or path.stat().st_size > LARGEST_SOURCE:
        return None
    return path.read_text(encoding="utf-8", errors="replace").splitlines()
