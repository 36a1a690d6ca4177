"""Programs that fail before their job is complete."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule
from compat.loader.failure import Undecidable

RULE = Rule(
    id=Undecidable.PROGRAM_FAILED,
    name="program-failed",
    level=Level.ERROR,
    failure=True,
    fate=Fate.UNKNOWN,
    summary="The program raised an error before its job was complete.",
    why="Without the job there is nothing to check. The report shows the program's own traceback, cut to its own "
    "frames.",
    old="stream.map(clean)",
    new="stream.map(claen)   # NameError",
    fix="Repair the program; compat plan PROGRAM shows the same error without a second program.",
)
