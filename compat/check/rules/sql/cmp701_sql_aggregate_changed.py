"""Aggregate functions of a query over other things, or in other places."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = (
    "Keep the aggregates of the operator as they were, in their order; a query around it may give the "
    "columns in another order or under other names."
)


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.AGGREGATES, _KEEP)


RULE = Rule(
    id="CMP701",
    name="sql-aggregate-changed",
    level=Level.ERROR,
    fate=Fate.WRONG_HANDS,
    summary="An aggregate of a query changed its function or its argument.",
    why="Flink keeps an aggregate as a number without a name. If SUM(v) becomes SUM(w) or MAX(v), it goes on from the "
    "old number if the types are equal. Aggregates that exchange places take each other's numbers.",
    old="SELECT k, SUM(v) FROM t GROUP BY k",
    new="SELECT k, SUM(w) FROM t GROUP BY k",
    fix="Keep the aggregates and their order, or start without the state and rebuild it from the sources.",
    find=_find,
)
