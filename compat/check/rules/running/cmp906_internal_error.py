"""Faults of compat itself."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule
from compat.loader.failure import Undecidable

RULE = Rule(
    id=Undecidable.INTERNAL_ERROR,
    name="internal-error",
    level=Level.ERROR,
    failure=True,
    fate=Fate.UNKNOWN,
    summary="The fault is of compat itself, not of the program.",
    why="Nothing was decided. The report shows what to tell the makers of compat: versions, the command without its values, "
    "and the lines of compat that led to the fault. It holds nothing of the program.",
    old="stream.map(clean)",
    new="stream.map(clean)   # nothing is wrong here",
    fix="Report it with the lines that are shown.",
)
