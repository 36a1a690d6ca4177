"""Options of the planner that make another plan of the same query."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule

_PLAN = (
    "table.optimizer.",
    "table.exec.mini-batch.enabled",
    "table.exec.uid.",
    "table.exec.sink.",
    "table.exec.source.",
)
_ZONE = "table.local-time-zone"


def _find(check: Check) -> Iterator[Finding]:
    before, after = (program.settings.get("table_options") for program in (check.old, check.new))
    if before is None or after is None:
        return
    moved = bool(check.mapping.lost)
    for option in sorted(before.keys() | after.keys()):
        was, now = before.get(option), after.get(option)
        if was == now or not (option == _ZONE or (moved and option.startswith(_PLAN))):
            continue
        yield check.finding(
            RULE,
            f"the option {option} was {was or 'not set'} and is {now or 'not set'}",
            consequence="Windows and dates follow another time zone: what was kept for the open ones is of the old one."
            if option == _ZONE
            else "The planner makes other operators of the same query, and their ids move.",
            reason="Ids of operators come from the plan.",
            subject=option,
            fixes=(
                Fix(
                    text=f"Set {option} as it was.",
                    code=f"RESET '{option}';" if was is None else f"SET '{option}' = '{was}';",
                ),
            ),
        )


RULE = Rule(
    id="CMP712",
    name="sql-option-changed",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="An option of the planner differs between OLD and NEW, and ids have moved.",
    why="Mini-batches, aggregation in two phases and the generation of uids put other operators into the plan, or name them "
    "otherwise. Ids of operators behind them move.",
    old="SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE';",
    new="SET 'table.optimizer.agg-phase-strategy' = 'TWO_PHASE';",
    fix="Set the option as it was when the state was written.",
    find=_find,
)
