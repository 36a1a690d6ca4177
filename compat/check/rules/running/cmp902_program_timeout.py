"""Programs that do not submit their job in time."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule
from compat.loader.failure import Undecidable

RULE = Rule(
    id=Undecidable.PROGRAM_TIMEOUT,
    name="program-timeout",
    level=Level.ERROR,
    failure=True,
    fate=Fate.UNKNOWN,
    summary="The program did not submit its job within the time allowed.",
    why="A program builds its graph quickly, unless it waits for another system, computes, or loops. A planned job "
    "stays CREATED, so a loop that waits for FINISHED never ends.",
    old="rows = [1, 2, 3]",
    new="rows = requests.get(url).json()   # waits for a service",
    fix="Take slow work out of the program's main path, or allow more time with --timeout SECONDS.",
)
