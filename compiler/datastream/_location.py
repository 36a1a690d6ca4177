"""Where in the user's program a call stands."""

from __future__ import annotations

import os
import sys

from compiler.errors import Location

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def here() -> Location | None:
    """File and line of the innermost frame that is not the compiler's own."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return Location(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None
