"""Files that the report names and that were not compared."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule
from compat.loader.failure import Undecidable

RULE = Rule(
    id=Undecidable.NOT_CHECKED,
    name="not-checked",
    level=Level.NOTE,
    failure=True,
    fate=Fate.EMPTY,
    summary="A file was not compared, and did not have to be.",
    why="A check against a revision reports every file that it did not compare. A new job has no state yet, and an "
    "imported module makes no job. Some files are left out by name, and with --changed most load no changed file. "
    "None of these fails the check, and none counts as compatible.",
    old="# no such file",
    new='env.execute("counting")',
    fix="Nothing, if the given reason is right. If git does not recognize a rename, the job counts as new: rename it in "
    "one commit and change it in the next.",
)
