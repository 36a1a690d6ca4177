"""A page for a terminal: paragraphs between its margins, lines that stay whole, lines of programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from compat.escaping import visible
from compat.loader.revisions import short_revisions
from compat.report.context import ReportContext
from compat.report.frames import FrameLine


def broken(text: Text, width: int) -> Iterator[Text]:
    """The lines of a paragraph, each at most ``width`` columns wide, or a single word."""
    breaks, used = [], 0
    for word in re.finditer(r"\s*\S+\s*", text.plain):
        if used and used + cell_len(word[0].rstrip()) > width:
            breaks.append(word.start())
            used = 0
        used += cell_len(word[0])
    for line in text.divide(breaks):
        line.rstrip()
        yield line


class Page:
    """Writes text to a console."""

    def __init__(self, console: Console, context: ReportContext) -> None:
        self.console = console
        self.context = context
        self.sides: Mapping[str, str] = {}

    def shown(self, text: str) -> str:
        """``text``, made visible; a revision that the first line names is called OLD or NEW from then on."""
        for prefix, side in self.sides.items():
            for before in (f"{side} ", f"{side[:-1]}, "):
                text = text.replace(f"{before}{prefix}", before)
            text = text.replace(prefix, side)
        return visible(short_revisions(text))

    def line(self, text: str = "", indent: int = 0, style: str = "") -> None:
        """One paragraph, wrapped, every line of it indented."""
        if not text:
            self.console.print()
            return
        self.wrapped(Text(self.shown(text), style=style), indent)

    def wrapped(self, text: Text, indent: int = 0) -> None:
        """Text, broken between words only: a path that is longer than a line can still be copied."""
        for line in broken(text, self.console.width - indent):
            self.console.print(Text(" " * indent).append_text(line), soft_wrap=True)

    def whole(self, text: str, style: str) -> None:
        """One line, however long: scripts read the first and last lines of a report, and people copy them."""
        self.console.print(Text(visible(text), style=style), soft_wrap=True)

    def labelled(self, title: str, text: str, style: str = "bold") -> None:
        if not text:
            return
        line = Text(f"{title}: ", style=style)
        first, *more = text.splitlines()
        line.append(self.shown(first), style="not bold default")
        self.wrapped(line, 2)
        for other in more:
            self.line(other, 4)

    def numbered(self, lines: Sequence[FrameLine]) -> None:
        """Lines of a program behind their numbers."""
        margin = max((len(str(line.number)) for line in lines if line.number is not None), default=1)
        for line in lines:
            number = str(line.number) if line.number is not None else "+" if line.added else ""
            text = Text(f"    {number:>{margin}} | ", style="dim")
            text.append(line.text, style="green" if line.added else "bold red" if line.mark else "not dim")
            # What is added can be pasted: a terminal breaks it, and nothing is cut off.
            if line.added:
                self.console.print(text, soft_wrap=True)
            else:
                self.console.print(text, overflow="ellipsis", no_wrap=True)
