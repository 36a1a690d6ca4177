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
    summary="A job of the revision is gone, and nothing says that it was removed on purpose.",
    why="The job that runs has state which nothing takes over. It may have been renamed beyond what git recognizes, or moved "
    "to where the settings of the project name no jobs.",
    old='env.execute("counting")',
    new="# no such file",
    fix="Say that the state is given up: --skip jobs/counting.py, or in the settings [[tool.compat.job]] with path = "
    '"jobs/counting.py" and check = false. If it was renamed, rename it in one commit and change it in the next.',
)
