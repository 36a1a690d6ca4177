"""A few lines of a program around the one that matters, numbered, with the line marked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from compat.escaping import code_line
from compat.report.context import Lines, ReportContext
from compat.state.model.source_line import SourceLine

_WIDEST = 160


class FrameLine(Struct, frozen=True):
    """One line of a frame. ``marker`` is the number, ``^`` under the marked line's code or ``+`` for a line to add."""

    number: int | None
    text: str
    mark: bool = False
    added: bool = False


def frame(context: ReportContext, place: SourceLine | None, added: str | None = None) -> list[FrameLine]:
    """The line at ``place`` with a line before and after it; empty where the source is not to be had.

    With ``added``, the place is where that code goes: it is shown as a new line below, and takes the caret's place.
    """
    lines = context.lines(place.file) if place is not None else None
    if place is None or lines is None:
        return []
    texts = {
        number: code_line(text)[:_WIDEST]
        for number in range(place.line - 1, place.line + 2)
        if (text := _line(lines, number)) is not None
    }
    if place.line not in texts:
        return []
    shared = min((_indent(text) for text in texts.values() if text.strip()), default=0)
    frame_lines = []
    for number, text in texts.items():
        text = text[shared:].rstrip()
        if added is not None and number != place.line:
            continue
        frame_lines.append(FrameLine(number, text))
        if number != place.line:
            continue
        start = _indent(text)
        if added is not None:
            frame_lines.append(FrameLine(None, " " * (start + 4) + code_line(added), added=True))
        elif text.strip():
            frame_lines.append(FrameLine(None, " " * start + "^" * max(1, len(_code(text)) - start), mark=True))
    return frame_lines


def plain(lines: list[FrameLine]) -> list[str]:
    """The frame as lines of plain text, numbers to the right of a common margin."""
    width = max((len(str(line.number)) for line in lines if line.number is not None), default=1)
    texts = []
    for line in lines:
        margin = "+" if line.added else "" if line.number is None else str(line.number)
        texts.append(f"{margin:>{width}} | {line.text}".rstrip())
    return texts


def _line(lines: Lines, number: int) -> str | None:
    if isinstance(lines, Mapping):
        return lines.get(number)
    return lines[number - 1] if 1 <= number <= len(lines) else None


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _code(text: str) -> str:
    """``text`` without a comment at its end; one in a string may be cut short, which only shortens the caret's line."""
    return re.sub(r"\s+#[^'\"]*$", "", text).rstrip() or text
