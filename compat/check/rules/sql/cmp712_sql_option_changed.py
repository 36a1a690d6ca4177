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
_MEANING = {
    "table.local-time-zone": ("LOCAL TIME ZONE", "LOCALTIME", "CURRENT_", "DATE_FORMAT", "UNIXTIME"),
    "table.exec.legacy-cast-behaviour": ("CAST",),
}
"""Options that change what expressions mean, with words of expressions for which they do."""


def _find(check: Check) -> Iterator[Finding]:
    before, after = (program.settings.get("table_options") for program in (check.old, check.new))
    if before is None or after is None:
        return
    moved = bool(check.mapping.lost)
    for option in sorted(before.keys() | after.keys()):
        was, now = before.get(option), after.get(option)
        if was == now or not (option in _MEANING or (moved and option.startswith(_PLAN))):
            continue
        yield check.finding(
            RULE,
            f"the option {option} was {was or 'not set'} and is {now or 'not set'}",
            level=Level.UNKNOWN if _concerns(check, option) else None,
            consequence="Expressions mean something else: keys and values that were kept are of the old meaning."
            if option in _MEANING
            else "The planner makes other operators of the same query, and their ids move.",
            reason="What is kept was computed under the old option, and what comes is computed under the new one."
            if option in _MEANING
            else "Ids of operators come from the plan.",
            subject=option,
            fixes=(
                Fix(
                    text=f"Set {option} as it was.",
                    code=f"RESET '{option}';" if was is None else f"SET '{option}' = '{was}';",
                ),
            ),
        )


def _concerns(check: Check, option: str) -> bool:
    """True if a query of which something is kept has expressions whose meaning the option changes."""
    words = _MEANING.get(option, ())
    nodes = [operator.exec_node for operator in check.old.operators if operator.exec_node is not None]
    keeps = any(pair.old.exec_node is not None for pair in check.right_pairs)
    return keeps and any(word in node for node in nodes for word in words)


RULE = Rule(
    id="CMP712",
    name="sql-option-changed",
    level=Level.WARNING,
    other_levels=(Level.UNKNOWN,),
    when="unknown where the option changes what expressions of a query mean that keeps something (time zone, casts)",
    fate=Fate.UNKNOWN,
    summary="An option of the planner differs between OLD and NEW: ids have moved, or expressions mean something else.",
    why="Mini-batches, aggregation in two phases and the generation of uids put other operators into the plan, or name them "
    "otherwise. Ids of operators behind them move.",
    old="SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE';",
    new="SET 'table.optimizer.agg-phase-strategy' = 'TWO_PHASE';",
    fix="Set the option as it was when the state was written.",
    find=_find,
)
