"""Order and bounds of top-N queries, and which row a deduplication keeps."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = (
    "Keep the ORDER BY and the bound of the ranks; a condition on the rank behind it (in a query around "
    "it) may ask for fewer."
)


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.RANK, _KEEP)


RULE = Rule(
    id="CMP705",
    name="sql-rank-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if the kept rows are enough for NEW",
    fate=Fate.WRONG_HANDS,
    summary="A top-N or a deduplication of a query has another order or another bound.",
    why="Only the first N rows by the old order are kept. Dropped rows are missing if N grows or the order changes.",
    old="WHERE rn <= 3",
    new="WHERE rn <= 5",
    fix="Keep the order and the bound, or start without the state and rebuild it from the sources.",
    find=_find,
)
