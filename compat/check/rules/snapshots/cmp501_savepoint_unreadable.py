"""Savepoints that cannot be read."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule
from compat.loader.failure import Undecidable

RULE = Rule(
    id=Undecidable.SAVEPOINT_UNREADABLE,
    name="savepoint-unreadable",
    level=Level.ERROR,
    failure=True,
    fate=Fate.UNKNOWN,
    summary="The savepoint or checkpoint cannot be read.",
    why="Its _metadata is cut short, damaged, or of an unknown version. The report names the byte.",
    old="savepoint-6b54af-2f1c/_metadata   (complete)",
    new="savepoint-6b54af-2f1c/_metadata   (cut short while it was copied)",
    fix="Copy it again completely; take another savepoint; or name the folder that holds _metadata.",
)
