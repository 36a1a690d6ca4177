"""A place in a program."""

from __future__ import annotations

from msgspec import Struct, field

from compat.state.model.fields import Index

End = tuple[Index, Index]
"""The end of a call: line from 1, column from 0 in bytes of UTF-8."""

Call = tuple[str, Index, End | None]
"""A call in a file, as far as it is known: its end distinguishes it from others on its line."""


class SourceLine(Struct, frozen=True, omit_defaults=True, gc=False, eq=False):
    """A place in a program: the file as the user named it, the line from 1; line 0 means a file as a whole.

    ``end`` is the end of the call at that place (in a topology file, the entry's ``id``); None if unknown. A line of Java has
    its class and method. Two places on one line are equal.
    """

    file: str
    line: Index
    end: End | None = None
    class_name: str | None = field(name="class", default=None)
    method: str | None = None

    @property
    def call(self) -> Call:
        """The call at this place."""
        return self.file, self.line, self.end

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourceLine) and (self.file, self.line) == (other.file, other.line)

    def __hash__(self) -> int:
        return hash((self.file, self.line))
