"""The lines of one side's program: from its plan, if it contains them, else from the report's context."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from compat.escaping import code_line, visible
from compat.plan.lines import lines_of
from compat.report.context import Lines, ReportContext
from compat.report.frames import Addition, FrameLine, addition, frame
from compat.state.model.source_line import SourceLine
from compat.view.layers import Side

Json = dict[str, Any]

LONGEST_STATEMENT = 14
"""The maximum lines of a SQL statement that are shown."""


class Sources:
    """The known facts about places in a side's program: the lines there, the statement of SQL, the method of Java."""

    def __init__(self, side: Side, context: ReportContext) -> None:
        carried = {} if side.plan is None else lines_of(side.plan)

        def read(file: str) -> Lines | None:
            return carried.get(file) or context.lines(file)

        self._context = replace(context, sources=read)
        self._statements = {(one.file, one.line): one.text for one in side.program.statements}
        places = (operator.source for operator in side.program.operators)
        self._methods = {place: place for place in places if place is not None and place.method is not None}

    def at(self, place: SourceLine | None, added: str | None = None) -> Json | None:
        """A place, in which method it is, and the lines around it, or the statement that begins there; with ``added``, that
        code below it. None for no place."""
        if place is None:
            return None
        if added is not None:
            frame_lines = addition(self._context, Addition(place, (added,)))
        else:
            frame_lines = self._statement(place) or frame(self._context, place)
        return {
            "place": visible(str(place)),
            "method": _method(self._methods.get(place, place)),
            "lines": [
                {"number": line.number, "text": line.text, "mark": line.mark, "added": line.added}
                for line in frame_lines
            ],
        }

    def _statement(self, place: SourceLine) -> list[FrameLine]:
        lines = self._statements.get((place.file, place.line), "").splitlines()
        shown = [FrameLine(place.line + index, code_line(text)) for index, text in enumerate(lines[:LONGEST_STATEMENT])]
        return shown + ([FrameLine(None, "…")] if len(lines) > LONGEST_STATEMENT else [])


def _method(place: SourceLine) -> str | None:
    """Where a line of Java is: the class and the method."""
    if place.method is None:
        return None
    return visible(place.method if place.class_name is None else f"{place.class_name}.{place.method}")
