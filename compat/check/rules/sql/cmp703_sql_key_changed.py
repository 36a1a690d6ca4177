"""Keys of GROUP BY, PARTITION BY and joins that are other columns."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = "Keep the columns of the key, and their order."


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.KEYS, _KEEP)


RULE = Rule(
    id="CMP703",
    name="sql-key-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning for sessions whose begin and end are not read: their rows still come out",
    fate=Fate.WRONG_HANDS,
    summary="An operator of a query keeps its state by another key.",
    why="A key is kept as its value. The state of customer 7 becomes that of product 7, if both are numbers; otherwise "
    "the operator fails when it starts.",
    old="SELECT customer, COUNT(*) FROM t GROUP BY customer",
    new="SELECT product, COUNT(*) FROM t GROUP BY product",
    fix="Keep the key, or start without the state and rebuild it from the sources.",
    find=_find,
)
