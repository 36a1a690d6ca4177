"""The input and the result of rewriting a file, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from compat.fix.edits import Refusal, Settings
from compat.state.model.source_line import End


class Rewritten(Struct, frozen=True):
    """A file's new bytes (the old ones if nothing changed), and the fixes that could not be written into it."""

    source: bytes
    refused: tuple[Refusal, ...] = ()


class Unfit(Exception):
    """A setting that cannot be written into a file, and why."""


def refused_all(settings: Iterable[Settings], reason: str) -> tuple[Refusal, ...]:
    """All fixes for a file, refused for the same reason."""
    return tuple(Refusal(fix, reason) for each in settings for _, fix in each.values())


class Lines:
    """The lines of a text, to turn byte columns into the character columns of a concrete syntax tree."""

    def __init__(self, text: str) -> None:
        self._lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def character(self, end: End) -> End:
        """The same place with a character column; -1 if the text has no such line."""
        line, column = end
        if not 1 <= line <= len(self._lines):
            return (line, -1)
        before = self._lines[line - 1].encode("utf-8", "surrogatepass")[:column]
        return (line, len(before.decode("utf-8", "ignore")))
