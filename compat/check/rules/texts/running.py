"""Family 9: the check itself."""

from __future__ import annotations

from compat.check.findings import Level
from compat.check.rules.texts.model import RuleInfo

RULES = (
    RuleInfo(
        id="CMP901",
        name="program-failed",
        level=Level.ERROR,
        failure=True,
        summary="The program raised an error before its job was complete.",
        why="Without the job there is nothing to check. The report shows the program's own traceback, cut to its own "
        "frames.",
        old="stream.map(clean)",
        new="stream.map(claen)   # NameError",
        fix="Repair the program; compat plan PROGRAM shows the same error without a second program.",
    ),
    RuleInfo(
        id="CMP902",
        name="program-timeout",
        level=Level.ERROR,
        failure=True,
        summary="The program did not submit its job within the time allowed.",
        why="A program builds its graph in moments, unless it waits for something outside, computes, or loops.",
        old="rows = [1, 2, 3]",
        new="rows = requests.get(url).json()   # waits for a service",
        fix="Take slow work out of the program's main path, or allow more time with --timeout SECONDS.",
    ),
    RuleInfo(
        id="CMP903",
        name="no-job",
        level=Level.ERROR,
        failure=True,
        summary="The program executes no job, or several and none was named.",
        why="A check compares one job with one job. A program that never calls execute has none; one that submits "
        "several leaves open which is meant.",
        old='env.execute("counting")',
        new="# no call of execute",
        fix="Call env.execute at the end of the program, also when it runs as a script; choose one of several jobs "
        "with --job N.",
    ),
    RuleInfo(
        id="CMP904",
        name="unused-ignore",
        level=Level.WARNING,
        summary="An ignore comment in NEW suppresses nothing.",
        why="The finding it was written for is gone. Left in place, the comment would hide the next one of that rule.",
        old="keyed.process(Count())  # compat: ignore[CMP402] renamed on purpose",
        new="keyed.process(Count())",
        fix="Remove the rule's id from the comment, or the whole comment.",
    ),
    RuleInfo(
        id="CMP905",
        name="invalid-ignore",
        level=Level.WARNING,
        summary="An ignore comment names no rule, or one that does not exist.",
        why="An ignore without ids would hide everything, also what nobody has seen yet. It has no effect.",
        old="keyed.process(Count())  # compat: ignore",
        new="keyed.process(Count())  # compat: ignore[CMP402] renamed on purpose",
        fix="Name the rules in brackets: # compat: ignore[CMP402] reason.",
    ),
)
