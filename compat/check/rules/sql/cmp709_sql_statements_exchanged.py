"""Operators of queries that do each other's work now: statements of a set that changed places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level, OperatorHeir
from compat.check.rule import Rule
from compat.check.sql.findings import changes_of

if TYPE_CHECKING:
    from compat.check.sql.changes import Exchange


def _find(check: Check) -> Iterator[Finding]:
    found = changes_of(check)
    for exchange in () if found is None else found.exchanges:
        yield _finding(exchange, check)


def _finding(exchange: Exchange, check: Check) -> Finding:
    first = exchange.moved[0][0]
    names = ", ".join(pair.new.name for pair, _ in exchange.moved)
    return check.finding(
        RULE,
        f"operators changed places: {names}",
        consequence="Flink restores this without an error: each goes on with the state of another one, and the results "
        "of all are wrong.",
        reason="; ".join(
            f"{pair.new.name} has the id of OLD's {pair.old.name} and does the work of OLD's {work.name}"
            + (f" ({work.source})" if work.source is not None else "")
            for pair, work in exchange.moved
        )
        + ".",
        old=first.old,
        new=first.new,
        fixes=(
            Fix(
                text="Put the statements back into their old order, and add new ones at the end. Or run the plan that "
                "OLD was compiled to.",
                code="COMPILE PLAN 'job.json' FOR STATEMENT SET BEGIN …; END; EXECUTE PLAN 'job.json';",
            ),
            *code_suggestions.migrate(check),
        ),
        silent=True,
        heirs=tuple(OperatorHeir(work, pair.new) for pair, work in exchange.moved),
        related=tuple(
            (pair.new.label, pair.new.source) for pair, _ in exchange.moved[1:] if pair.new.source is not None
        ),
    )


RULE = Rule(
    id="CMP709",
    name="sql-statements-exchanged",
    level=Level.ERROR,
    fate=Fate.WRONG_HANDS,
    summary="Operators of queries exchanged their ids: each would go on with the state of the other.",
    why="Operators are numbered statement by statement. If two INSERTs of a statement set change places, they exchange "
    "the ids of their operators, and so their sums.",
    old="INSERT INTO a SELECT k, SUM(v) …;\nINSERT INTO b SELECT k, SUM(w) …;",
    new="INSERT INTO b SELECT k, SUM(w) …;\nINSERT INTO a SELECT k, SUM(v) …;",
    fix="Keep the order of the statements, or run the compiled plan of the old version.",
    find=_find,
)
