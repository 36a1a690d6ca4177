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
    summary="A file was not compared with anything, and did not have to be.",
    why="A check against a revision reports every file that it did not compare: a job that is new has no state yet, a module "
    "that others import makes no job, some are left out by name, and with --changed most load no file that changed. None of "
    "these fails the check, and none is counted as compatible.",
    old="# no such file",
    new='env.execute("counting")',
    fix="Nothing, if the reason that is given is right. A job that was renamed beyond what git recognizes is new to the check: "
    "rename it in one commit and change it in the next.",
)
