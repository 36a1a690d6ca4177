"""Kinds, conditions and intervals of joins."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = "Keep the kind of the join and its condition; a condition in a WHERE after the join does not change the state."


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.JOIN, _KEEP)


RULE = Rule(
    id="CMP704",
    name="sql-join-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if the kept state is right for NEW, and only earlier output follows OLD",
    fate=Fate.WRONG_HANDS,
    summary="A join of a query has another kind, condition or interval.",
    why="An outer join keeps the number of partners of each row, and an interval join drops rows that can have no more "
    "partners. With another condition or a wider interval both are wrong.",
    old="FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE",
    new="FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '5' MINUTE",
    fix="Keep the join, or start without the state and rebuild it from the sources.",
    find=_find,
)
