"""A few lines of a program around the one that matters, numbered, with the line marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from compat.escaping import code_line
from compat.report.context import Lines, ReportContext
from compat.state.model.source_line import SourceLine

_WIDEST = 160
_MARGIN = 20
"""Columns that are kept free for line numbers and marks."""


class FrameLine(Struct, frozen=True):
    """One line of a frame. ``mark``: it has ``^`` under the code of the line before. ``added``: it is new, or has new calls."""

    number: int | None
    text: str
    mark: bool = False
    added: bool = False


def frame(context: ReportContext, place: SourceLine | None) -> list[FrameLine]:
    """The line at ``place``, marked, with a line before and after it; empty where the source is missing."""
    lines = context.lines(place.file) if place is not None else None
    if place is None or lines is None or _line(lines, place.line) is None:
        return []
    long = _part(context, place, _line(lines, place.line) or "")
    if long is not None:
        return long
    texts = {
        number: code_line(text)[:_WIDEST]
        for number in range(place.line - 1, place.line + 2)
        if (text := _line(lines, number)) is not None
    }
    shared = min((_indent(text) for text in texts.values() if text.strip()), default=0)
    frame_lines = []
    for number, text in texts.items():
        text = text[shared:].rstrip()
        frame_lines.append(FrameLine(number, text))
        if number == place.line and text.strip():
            start = _indent(text)
            frame_lines.append(FrameLine(None, " " * start + "^" * max(1, len(_code(text)) - start), mark=True))
    return frame_lines


def _part(context: ReportContext, place: SourceLine, text: str) -> list[FrameLine] | None:
    """The part of a long line that a place is about, marked: a topology may be one line. None where a line is shown whole."""
    if len(text) <= _WIDEST or place.end is None or place.end[0] != place.line:
        return None
    widest = min(_WIDEST, max(40, context.width - _MARGIN))
    end = len(text.encode()[: place.end[1]].decode(errors="replace"))
    begin = text.rfind("{", 0, end) if place.file.endswith(".json") else 0
    begin = max(begin, end - widest * 2 // 3)
    before, behind = "…" if begin else "", "…" if begin + widest < len(text) else ""
    shown = code_line(text[begin : begin + widest])
    marks = " " * len(before) + "^" * len(code_line(text[begin:end]))
    return [FrameLine(place.line, f"{before}{shown}{behind}"), FrameLine(None, marks, mark=True)]


def addition(context: ReportContext, place: SourceLine | None, calls: Sequence[str]) -> list[FrameLine]:
    """The program with these calls behind the one that ends at ``place``, as ``--fix`` writes them: it can be pasted.

    They have lines of their own where the call before has one. Where its end is not known, they are named below its line.
    Empty where the source is missing.
    """
    lines = context.lines(place.file) if place is not None else None
    if place is None or lines is None:
        return []
    several = any(mark in call for call in calls for mark in _COMMENTS)
    row, column = place.end if place.end is not None and place.file.endswith(".py") and not several else (place.line, 0)
    text = _line(lines, row)
    if text is None:
        return []
    before, behind = (part.decode(errors="replace") for part in (text.encode()[:column], text.encode()[column:]))
    continued = (_line(lines, row - 1) or "").rstrip().endswith("\\")
    if column and (continued or not before.lstrip().startswith(".") or _code(behind).strip()):
        return [FrameLine(row, _cut(f"{before}{''.join(calls)}{behind}"), added=True)]
    if place is not None and place.file.endswith(".json"):
        long = _part(context, place, text)
        return [
            *(([FrameLine(row, code_line(text).strip())]) if long is None else [] if several else long[:1]),
            *(FrameLine(None, one, added=True) for one in calls),
        ]
    indent = 0 if column else 4
    return [
        FrameLine(row, _cut(text)),
        *(FrameLine(None, _cut(" " * indent + one, indent), added=True) for one in calls),
    ]


_COMMENTS = _PYTHON, _JAVA = "  # ", "  // "


def comment(place: SourceLine, text: str) -> str:
    """A comment behind a call, in the language of its file: whose the call is, where a line makes several operators."""
    return f"{_PYTHON if place.file.endswith('.py') else _JAVA}{text}"


def _cut(text: str, indent: int = 0) -> str:
    """A line without the white space around it; of a long one its end, where calls are added."""
    shown = " " * indent + code_line(text).strip()
    return shown if len(shown) <= _WIDEST else f"…{shown[-_WIDEST:]}"


def plain(lines: list[FrameLine]) -> list[str]:
    """The frame as lines of plain text, numbers to the right of a common margin."""
    width = max((len(str(line.number)) for line in lines if line.number is not None), default=1)
    texts = []
    for line in lines:
        margin = str(line.number) if line.number is not None else "+" if line.added else ""
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
