"""Jobs of a revision that are gone."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule
from compat.loader.failure import Undecidable

RULE = Rule(
    id=Undecidable.REMOVED_JOB,
    name="removed-job",
    level=Level.ERROR,
    failure=True,
    fate=Fate.UNKNOWN,
    summary="A job of the revision is gone, and the settings do not say that it was removed on purpose.",
    why="No new job takes over the state of the running one. The file may have been renamed in a way that git does not "
    "recognize, or moved to a place where the project's settings name no jobs.",
    old='env.execute("counting")',
    new="# no such file",
    fix="To give up the state, use --skip jobs/counting.py, or in the settings [[tool.compat.job]] with path = "
    '"jobs/counting.py" and check = false. If it was renamed, rename it in one commit and change it in the next.',
)
