"""Patterns of MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = "Keep the MATCH_RECOGNIZE clause as it was."


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.PATTERN, _KEEP)


RULE = Rule(
    id="CMP707",
    name="sql-pattern-changed",
    level=Level.ERROR,
    fate=Fate.WRONG_HANDS,
    summary="A MATCH_RECOGNIZE has another pattern, other conditions or other measures.",
    why="Flink keeps the progress of each match in the old pattern, by the names of its parts.",
    old="PATTERN (A B)",
    new="PATTERN (A+ B)",
    fix="Keep the pattern, or start without the state.",
    find=_find,
)
