"""Operators of a query that changed in a way that is not told apart."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.code_suggestions import OLD_PROGRAM
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.similarity import recorded
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings
from compat.plan.queries import of_query

_KEEP = "Keep this part of the query as it was, or accept it with --allow-unknown after comparing both by hand."


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.UNKNOWN, _KEEP)
    pair = next((pair for pair in check.right_pairs if recorded(pair.old) and of_query(pair.new)), None)
    if pair is not None:
        yield check.finding(
            RULE,
            f"{check.old.name} does not record what its queries computed",
            consequence="Operators of NEW take its state. It does not show whether they still compute the same.",
            reason="A savepoint has the bytes of sums and rows, but not the query behind them.",
            new=pair.new,
            fixes=(
                Fix(
                    text="Name the program that wrote it, or its plan, with --names: then the queries are compared, too.",
                    code=OLD_PROGRAM,
                ),
            ),
            subject="savepoint",
        )


RULE = Rule(
    id="CMP713",
    name="sql-not-judged",
    level=Level.UNKNOWN,
    fate=Fate.UNKNOWN,
    summary="An operator of a query changed, and it is unknown what that means for its state.",
    why="The check does not analyse this kind of node in the compiled plan; or there is no compiled plan, and it can "
    "compare only Flink's descriptions; or OLD is a savepoint, which has no queries. An open question is not called "
    "compatible.",
    old="SELECT f(v) FROM t",
    new="SELECT g(v) FROM t",
    fix="Compare both with EXPLAIN. With Flink's planner on the class path, a job in SQL has a compiled plan, which "
    "shows more.",
    find=_find,
)
