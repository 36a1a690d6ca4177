"""Operators of a query that changed in a way that is not told apart."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = "Keep this part of the query as it was, or accept it with --allow-unknown after comparing both by hand."


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.UNKNOWN, _KEEP)


RULE = Rule(
    id="CMP713",
    name="sql-not-judged",
    level=Level.UNKNOWN,
    fate=Fate.UNKNOWN,
    summary="An operator of a query changed, and what that means for its state is not known.",
    why="The node of the compiled plan is of a sort that is not told apart, or there is none and only Flink's "
    "descriptions can be compared. What is not known is not called compatible.",
    old="SELECT f(v) FROM t",
    new="SELECT g(v) FROM t",
    fix="Compare both with EXPLAIN. With Flink's planner on the class path, a job in SQL has a compiled plan, "
    "which tells more.",
    find=_find,
)
