"""CMP504 types-not-recorded."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules.states import changes

_SHOWN = 5


def find(check: Check) -> Iterator[Finding]:
    """One note that lists the states whose declared type the savepoint does not hold."""
    if check.old.snapshot is None or check.old.snapshot.types_known:
        return
    untold = [
        (change.pair, new)
        for change in changes(check)
        for old, new in change.kept
        if old.type is None and new.type is not None
    ]
    if not untold:
        return
    names = ", ".join(repr(state.name) for _, state in untold[:_SHOWN])
    more = f" and {len(untold) - _SHOWN} more" if len(untold) > _SHOWN else ""
    one = len(untold) == 1
    yield check.finding(
        "CMP504",
        Level.NOTE,
        f"the type{'' if one else 's'} of {len(untold)} state{'' if one else 's'} cannot be compared: {names}{more}",
        consequence="If a type changed, the task fails at the first record, or reads wrong values.",
        reason="PyFlink hands bytes to Flink; a savepoint has the states' names and containers, and not their declared types.",
        old=untold[0][0].old,
        new=untold[0][0].new,
        fixes=(Fix(text="Name the program that wrote the savepoint: --names OLD.py."),),
    )
