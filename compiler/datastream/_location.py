"""The place of a call in the user's program."""

from __future__ import annotations

import sys
from types import CodeType

from compat.compiler.errors import Location
from compat.compiler.own_code import is_our_file

_Ends = list[tuple[int | None, int | None]]
_ends: dict[int, tuple[CodeType, _Ends]] = {}
"""The end positions of each instruction's source, by the code object's identity; the object is kept alive for that."""


def here() -> Location | None:
    """File, line and end of the call, in the innermost frame that is not ours."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_our_file(code.co_filename):
            line, column = _ends_of(code)[frame.f_lasti // 2]
            end = None if line is None or column is None else (line, column)
            return Location(code.co_filename, frame.f_lineno, end)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _ends_of(code: CodeType) -> _Ends:
    """Read once a code object: a program builds many operators in one function."""
    kept = _ends.get(id(code))
    if kept is None:
        kept = _ends[id(code)] = (code, [(position[1], position[3]) for position in code.co_positions()])
    return kept[1]
