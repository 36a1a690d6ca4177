"""Options of the planner that make another plan of the same query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.plan.queries import of_query
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    before, after = (program.settings.get("table_options") for program in (check.old, check.new))
    if before is None or after is None or before == after:
        return
    from compat.check.sql.options import Touches, touches

    kept = [pair.old for pair in check.right_pairs if of_query(pair.old) and pair.old.inputs]
    for option in sorted(before.keys() | after.keys()):
        if before.get(option) == after.get(option):
            continue
        what = touches(option)
        if what is Touches.MEANING and kept:
            yield from _of_meaning(check, option, before, after)
        elif what is Touches.PLAN and check.mapping.lost:
            consequence = "The planner makes other operators of the same query, and their ids move."
            yield _finding(check, option, consequence, "Ids of operators come from the plan.")
        elif what is None and kept:
            consequence = "The kept state may mean something else."
            reason = "This version of the check does not know this option."
            yield _finding(check, option, consequence, reason, Level.UNKNOWN)


def _of_meaning(check: Check, option: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Finding]:
    """What is kept by another meaning is found operator by operator; here is why, and what cannot be found there."""
    from compat.check.sql.options import value

    values = value(before, option), value(after, option)
    touched = [one for one in check.old.operators if _is_touched(one, option)]
    if values[0] == values[1] or not touched:
        return
    untold = None in values or any(one.exec_node is None for one in touched)
    consequence = "Expressions mean something else: kept keys and values have the old meaning."
    reason = "Kept values were computed with the old option; new values are computed with the new one."
    if None in values:
        reason = "If it is not set, it is the cluster's time zone, which may be the same."
    yield _finding(check, option, consequence, reason, Level.UNKNOWN if untold else None)


def _is_touched(operator: Operator, option: str) -> bool:
    """True if an operator of a query has an expression whose meaning the option changes, or if that is unknown."""
    from compat.check.sql.options import is_touched

    if operator.exec_node is None:
        return of_query(operator)
    return is_touched(operator.exec_node, option)


def _finding(check: Check, option: str, consequence: str, reason: str, level: Level | None = None) -> Finding:
    was, now = ((program.settings.get("table_options") or {}).get(option) for program in (check.old, check.new))
    return check.finding(
        RULE,
        f"the option {option} was {was or 'not set'} and is {now or 'not set'}",
        level=level,
        consequence=consequence,
        reason=reason,
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
    other_levels=(Level.UNKNOWN,),
    when="unknown if a time zone is that of the cluster, if no plan shows which expressions depend on the option, and "
    "for unknown options",
    fate=Fate.UNKNOWN,
    summary="An option of the planner differs between OLD and NEW: ids have moved, or expressions mean something else.",
    why="Mini-batches, aggregation in two phases and the generation of uids add or rename operators in the plan. The "
    "ids of the operators after them move.",
    old="SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE';",
    new="SET 'table.optimizer.agg-phase-strategy' = 'TWO_PHASE';",
    fix="Set the option as it was when the state was written.",
    find=_find,
)
