"""Kinds, conditions and intervals of joins."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = (
    "Keep the kind of the join and its condition; a condition in a WHERE behind the join changes nothing that is kept."
)


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.JOIN, _KEEP)


RULE = Rule(
    id="CMP704",
    name="sql-join-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning where what is kept is right for NEW, and only what was put out before is as OLD had it",
    fate=Fate.WRONG_HANDS,
    summary="A join of a query is of another kind, on another condition or over another interval.",
    why="An outer join keeps for each row how many partners it found, and a join over an interval drops the "
    "rows that no partner can meet any more. Under another condition or a wider interval both are wrong.",
    old="FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MINUTE",
    new="FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '5' MINUTE",
    fix="Keep the join, or start without the state and let it be rebuilt from the sources.",
    find=_find,
)
