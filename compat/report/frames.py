"""A few lines of a program around the one that matters, numbered, with the line marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from compat.check.findings import SETTERS
from compat.escaping import code_line
from compat.report.context import Lines, ReportContext
from compat.state.model.source_line import SourceLine

_WIDEST = 160
_WIDEST_ADDED = 320
"""The most characters of a line with added calls: it has to be complete for pasting."""

_MARGIN = 20
"""The columns reserved for line numbers and marks."""


class FrameLine(Struct, frozen=True):
    """One line of a frame. ``mark``: it has ``^`` under the code of the line before. ``added``: it is new, or has new calls."""

    number: int | None
    text: str
    mark: bool = False
    added: bool = False


def frame(context: ReportContext, place: SourceLine | None) -> list[FrameLine]:
    """The line at ``place``, marked, with a line before and after it; empty if the source is missing."""
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
    """The part of a long line that a place is about, marked: a topology may be one line. None if the line is shown in full."""
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


class Addition(Struct, frozen=True):
    """Calls to add to the expression that ends at ``place``. ``shared``: it creates several operators, so each call
    needs an operator's own values.
    """

    place: SourceLine | None
    calls: tuple[str, ...]
    shared: bool = False

    @property
    def column(self) -> int | None:
        """The byte column of the row where the calls can be written; None if it is unknown or unsuitable."""
        if self.place is None or self.place.end is None or self.shared or not self.place.file.endswith(".py"):
            return None
        return self.place.end[1]

    @property
    def row(self) -> int:
        """The line that is shown, 0 for none."""
        return 0 if self.place is None else self.place.line if self.column is None else (self.place.end or (0,))[0]


def addition(context: ReportContext, *additions: Addition) -> list[FrameLine]:
    """A row of the program with calls added to it, as ``--fix`` writes them: it can be pasted.

    They get separate lines if the call before has one. If they cannot be written into the row, they are named below it,
    in Python and Java as comments if each operator needs its own call. Empty if the source is missing.
    """
    first = additions[0]
    lines = context.lines(first.place.file) if first.place is not None else None
    text = _line(lines, first.row) if lines is not None else None
    if first.place is None or lines is None or text is None:
        return []
    if first.place.file.endswith(".json"):
        long = _part(context, first.place, text)
        head = [FrameLine(first.row, code_line(text).strip())] if long is None else long[:1]
        return [*head, *(FrameLine(None, call, added=True) for call in first.calls)]
    written = [one for one in additions if one.column is not None]
    if len(written) == len(additions) == 1 and _has_its_line(lines, first.row, text, first.column or 0):
        return _below(lines, first, text)
    code, ends = _inserted(text, written)
    shown = list(dict.fromkeys(_cut(code, end=end) for end in ends)) or [_cut(text)]
    below = [call for one in additions if one.column is None for call in one.calls]
    return [
        *(FrameLine(first.row, part, added=bool(written)) for part in shown),
        *(FrameLine(None, _cut("    " + call, 4), added=True) for call in below),
    ]


def _below(lines: Lines, one: Addition, text: str) -> list[FrameLine]:
    """A row of a chain with the calls on separate rows; a row below that sets the same value gets another call."""
    added, replaced, number = _by_name(one.calls), [], one.row + 1
    while (found := _SETTER.match(row := (_line(lines, number) or "").strip())) is not None:
        new = added.pop(found[1], None)
        replaced.append(
            FrameLine(number, _cut(row if new is None else new + row[found.end() :]), added=new is not None)
        )
        number += 1
    while replaced and not replaced[-1].added:
        replaced.pop()
    return [
        FrameLine(one.row, _cut(text)),
        *(FrameLine(None, _cut(call), added=True) for call in added.values()),
        *replaced,
    ]


def _by_name(calls: Sequence[str]) -> dict[str, str]:
    return {call.partition("(")[0]: call for call in calls}


def _has_its_line(lines: Lines, row: int, text: str, column: int) -> bool:
    """Whether the call that ends there stands alone on a line of a chain, so that the next one can do so too."""
    before, behind = text.encode()[:column].decode(errors="replace"), text.encode()[column:].decode(errors="replace")
    continued = (_line(lines, row - 1) or "").rstrip().endswith("\\")
    return before.lstrip().startswith(".") and not continued and not _code(behind).strip()


def _inserted(text: str, additions: Sequence[Addition]) -> tuple[str, list[int]]:
    """The line with the calls inserted, and the end position of each addition's calls."""
    code, written, ends, done = text.encode(), "", [], 0
    for one in sorted(additions, key=lambda one: one.column or 0):
        written += code[done : one.column].decode(errors="replace")
        behind = code[one.column or 0 :].decode(errors="replace")
        setters = _set_already(behind)
        done = (one.column or 0) + len("".join(setters.values()).encode())
        added = _by_name(one.calls)
        kept = [added.pop(name, call) for name, call in setters.items()]
        written += "".join([*added.values(), *kept])
        ends.append(len(written))
    return written + code[done:].decode(errors="replace"), ends


_SETTER = re.compile(rf"(\.(?:{'|'.join(sorted(SETTERS))}))\((?:[^()]|\([^()]*\))*\)")


def _set_already(behind: str) -> dict[str, str]:
    """The names of the calls that already set something on the same operator: the last call of a kind counts, so it is
    replaced.
    """
    setters: dict[str, str] = {}
    place = 0
    while (found := _SETTER.match(behind, place)) is not None and found[1] not in setters:
        setters[found[1]] = found[0]
        place = found.end()
    return setters


def own_call(place: SourceLine, call: str, whose: str) -> str:
    """A comment in the language of a file, with the call for one operator of a line that creates several."""
    return f"{'#' if place.file.endswith('.py') else '//'} {whose}: {call}"


def _cut(text: str, indent: int = 0, *, end: int | None = None) -> str:
    """A line without the white space around it; for a long line, the part before ``end``, where calls are added."""
    stripped = code_line(text[:end]).lstrip()
    behind = "" if end is None else code_line(text[end:]).rstrip()
    shown = " " * indent + (stripped.rstrip() if end is None else stripped)
    if len(shown) + len(behind) <= (_WIDEST if end is None else _WIDEST_ADDED):
        return shown + behind
    kept = shown if len(shown) <= _WIDEST else f"…{shown[-_WIDEST:]}"
    return kept + (f"{behind[: max(0, _WIDEST - len(kept))]}…" if behind else "")


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
    """``text`` without a trailing comment; a string with the comment sign may be cut short, which only shortens the
    caret's line.
    """
    return re.sub(r"\s+#[^'\"]*$", "", text).rstrip() or text
