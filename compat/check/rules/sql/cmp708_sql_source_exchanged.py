"""Sources of a job in SQL that read other tables than those of their ids in OLD."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.sql.findings import REBUILD, changes_of

if TYPE_CHECKING:
    from compat.check.sql.sources import TableChange

_ORDER = Fix(
    text="Name the tables in the order in which OLD names them (in FROM and JOIN, and from statement to statement), or run the "
    "plan that OLD was compiled to.",
    code="COMPILE PLAN 'job.json' FOR …; EXECUTE PLAN 'job.json';",
)


def _find(check: Check) -> Iterator[Finding]:
    found = changes_of(check)
    if found is None:
        return
    exchanged = [one for one in found.tables if one.exchanged]
    if exchanged:
        yield _exchanged(exchanged, check)
    for change in found.tables:
        if not change.exchanged:
            yield _replaced(change, check)


def _exchanged(changes: list[TableChange], check: Check) -> Finding:
    first = changes[0]
    moves = "; ".join(f"that of {one.old.short} goes to {one.new.short}" for one in changes)
    return check.finding(
        RULE,
        f"the sources {', '.join(one.old.short for one in changes)} changed places: {moves}",
        consequence="Flink restores this without an error: each source goes on from the other's position, and operators "
        "after them read the state of one table as that of the other.",
        reason="A source's id comes from its place in the query, not from its table.",
        old=first.pair.old,
        new=first.pair.new,
        fixes=(_ORDER,),
        silent=True,
        related=tuple(
            (one.pair.new.label, one.pair.new.source) for one in changes[1:] if one.pair.new.source is not None
        ),
    )


def _replaced(change: TableChange, check: Check) -> Finding:
    told = bool(change.old.options) and bool(change.new.options)
    return check.finding(
        RULE,
        f"the source of {change.old.short} reads {change.new.short} now",
        level=None if told else Level.UNKNOWN,
        consequence=f"Flink restores this without an error: {change.new.short} is read from the position in "
        f"{change.old.short}, and the state of the operators after it goes on with the rows of another table.",
        reason="A source's id comes from its place in the query, not from its table.",
        old=change.pair.old,
        new=change.pair.new,
        fixes=(
            Fix(
                text=f"Read {change.old.short} as before. If {change.new.short} is the same table under another name, give it "
                "the same options."
            ),
            REBUILD,
        ),
        silent=True,
    )


RULE = Rule(
    id="CMP708",
    name="sql-source-exchanged",
    level=Level.ERROR,
    other_levels=(Level.UNKNOWN,),
    when="unknown if no compiled plan shows whether it is the same table under another name",
    fate=Fate.WRONG_HANDS,
    summary="A source of a query has the id of another table's source, and so its position and the state of the "
    "operators after it.",
    why="Generated ids depend on the place of a source in the plan, not on its table. If the sides of a join or two "
    "statements change places, so do their sources and the state of the operators after them.",
    old="FROM orders o JOIN payments p ON o.id = p.id",
    new="FROM payments p JOIN orders o ON o.id = p.id",
    fix="Write the tables in the old order, or run the compiled plan of the old version.",
    find=_find,
)
