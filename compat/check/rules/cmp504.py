"""One note that lists the states whose declared type the savepoint does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import changes

_SHOWN = 5


def _find(check: Check) -> Iterator[Finding]:
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
        RULE,
        f"the type{'' if one else 's'} of {len(untold)} state{'' if one else 's'} cannot be compared: {names}{more}",
        consequence="If a type changed, the task fails at the first record, or reads wrong values.",
        reason="PyFlink hands bytes to Flink; a savepoint has the states' names and containers, and not their declared types.",
        old=untold[0][0].old,
        new=untold[0][0].new,
        fixes=(Fix(text="Name the program that wrote the savepoint: --names OLD.py."),),
    )


RULE = Rule(
    id="CMP504",
    name="types-not-recorded",
    level=Level.NOTE,
    fate=Fate.RESTORED,
    summary="The savepoint does not hold the declared types of some states.",
    why="In process mode, PyFlink hands bytes to Flink: a savepoint has names and containers of the states, and the "
    "types of keys and windows, but not what the bytes mean. A changed type shows only when the program that wrote "
    "the savepoint is known.",
    old='ValueStateDescriptor("count", Types.LONG())     # in the savepoint: a list of byte arrays',
    new='ValueStateDescriptor("count", Types.STRING())',
    fix="Name the program that wrote the savepoint: compat check SAVEPOINT new.py --names old.py.",
    find=_find,
)
