"""Uids that count the nodes of all that was planned before."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule

_OPTION = "table.exec.uid.generation"


def _find(check: Check) -> Iterator[Finding]:
    modes = [
        (program.settings.get("table_options") or {}).get(_OPTION, "").upper() for program in (check.old, check.new)
    ]
    first = next((pair for pair in check.right_pairs if pair.new.uid is not None), None)
    if modes != ["ALWAYS", "ALWAYS"] or first is None:
        return
    yield check.finding(
        RULE,
        f"the uids of the operators have numbers that depend on what was planned before them ({first.new.uid!r})",
        consequence="They are the same here, where each script is planned as the first one of its JVM. Planned later in a "
        "session that planned anything before, the numbers are higher, and Flink refuses the restore.",
        reason=f"{_OPTION} is ALWAYS: a uid is the number and the kind of a node, and nodes are counted in the JVM.",
        new=first.new,
        fixes=(
            Fix(
                text="Compile the plan once, keep the file, and run it from then on: its numbers stay.",
                code="COMPILE PLAN 'job.json' FOR INSERT INTO …; EXECUTE PLAN 'job.json';",
            ),
            Fix(text="Or submit the script in a session of its own, as its first statements."),
        ),
        subject=_OPTION,
    )


RULE = Rule(
    id="CMP711",
    name="sql-uids-count",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="The uids of a job in SQL contain numbers from a counter of the JVM.",
    why="With table.exec.uid.generation = ALWAYS every operator has a uid such as 6_group-aggregate. The JVM that plans "
    "counts these numbers: the same script gives other uids if that JVM planned something before.",
    old="SET 'table.exec.uid.generation' = 'ALWAYS';",
    new="SET 'table.exec.uid.generation' = 'ALWAYS';",
    fix="Compile the plan once with COMPILE PLAN and run the file with EXECUTE PLAN.",
    find=_find,
)
