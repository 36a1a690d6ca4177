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
    summary="The fault is in compat itself, not in the program.",
    why="Nothing was decided. The report shows what to send to the makers of compat: versions, the command without its "
    "values, and the lines of compat that led to the fault. It has nothing of the program.",
    old="stream.map(clean)",
    new="stream.map(clean)   # nothing is wrong here",
    fix="Report it with the shown lines.",
)
