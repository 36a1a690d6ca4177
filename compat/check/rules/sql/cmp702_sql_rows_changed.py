"""Conditions and columns of the rows that an operator of a query keeps or adds up."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = (
    "Keep the WHERE and the columns before this operator as they were; a condition or an expression after it does not "
    "change the state."
)


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.ROWS, _KEEP)


RULE = Rule(
    id="CMP702",
    name="sql-rows-changed",
    level=Level.ERROR,
    fate=Fate.WRONG_HANDS,
    summary="A stateful operator reads other rows: another WHERE, other columns, another branch.",
    why="The kept sums and rows come from the rows that met the old condition. After the restore, they count as those "
    "of the new condition.",
    old="SELECT k, SUM(v) FROM t WHERE v > 100 GROUP BY k",
    new="SELECT k, SUM(v) FROM t WHERE v > 300 GROUP BY k",
    fix="Keep the condition before the operator, or start without the state and rebuild it from the sources.",
    find=_find,
)
