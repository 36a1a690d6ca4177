"""Programs that leave open which job is meant."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule
from compat.loader.failure import Undecidable

RULE = Rule(
    id=Undecidable.NO_JOB,
    name="no-job",
    level=Level.ERROR,
    failure=True,
    fate=Fate.UNKNOWN,
    summary="The program executes no job, or it executes several and none was named.",
    why="A check compares one job with one job. A program that never calls execute has none; if it submits several, the "
    "check cannot choose.",
    old='env.execute("counting")',
    new="# no call of execute",
    fix="Call env.execute at the end of the program, also when it runs as a script; choose one of several jobs "
    "with --job-number N.",
)
