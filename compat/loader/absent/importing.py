"""The importer of a module: a line of the program, or Python and installed packages."""

from __future__ import annotations

import sys
from types import FrameType

from compat.compiler.own_code import is_library, is_machinery
from compat.loader.absent.table import TABLE_API, root_of

_SERVED = ("pyflink", "compat")


def importers_in_program(name: str, frame: FrameType | None) -> list[FrameType]:
    """The frames that wait for the import of a module, innermost first, if the innermost is a line of the program; else
    none.

    Also none for modules that never get a stand-in: those of Python, of compat, and of PyFlink except the Table API.
    """
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or (top in _SERVED and root_of(name) != TABLE_API):
        return []
    found: list[FrameType] = []
    while frame is not None:
        if not is_machinery(frame.f_code.co_filename):
            if not found and not is_programs_file(frame.f_code.co_filename):
                return []
            found.append(frame)
        frame = frame.f_back
    return found


def is_programs_file(path: str) -> bool:
    """True for a file of the program, not of compat, Python or an installed package."""
    return not (path.startswith("<") or is_machinery(path) or is_library(path))
