"""States into which another function folds new values."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import kept_states
from compat.state.model.code import UserCode
from compat.state.model.operators import Operator

_ROLLING = "reduce"


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        if _ROLLING == pair.old.kind == pair.new.kind:
            yield from _changes(check, pair.old, pair.new, None, pair.old.function, pair.new.function)
        for old, new in kept_states(pair):
            if (old.kind, old.type) == (new.kind, new.type):
                yield from _changes(check, pair.old, pair.new, old.name, old.function, new.function)


def _changes(
    check: Check, old: Operator, new: Operator, state: str | None, before: UserCode | None, after: UserCode | None
) -> Iterator[Finding]:
    if before is None or after is None:
        return
    known = before.digest is not None and after.digest is not None
    if (before.digest, before.captured) == (after.digest, after.captured) and (known or before.name == after.name):
        return
    if known and before.digest == after.digest:
        how = f"{after} holds other values than before"
    elif str(before) == str(after):
        how = f"The code of {after} is another one"
    else:
        how = f"It was {before} and is {after}"
    what = f"the state {state!r}" if state is not None else "the state"
    yield check.finding(
        RULE,
        f"another function goes on with {what} of {new.label}",
        consequence="Flink restores this without an error, and new values are added to the old function's results.",
        reason=f"{how}, and the type of its result is the same.",
        old=old,
        new=new,
        state=state,
        fixes=(
            Fix(
                text="Nothing, if the new function would have made the same results; otherwise use another name or uid."
            ),
        ),
        silent=True,
    )


RULE = Rule(
    id="CMP421",
    name="fold-changed",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A state has another ReduceFunction or AggregateFunction, with accumulators of the same type.",
    why="A reducing or aggregating state holds the result of its function for the values so far. Another function goes "
    "on from this result, even if it means something else.",
    old='new ReducingStateDescriptor<>("total", (a, b) -> a + b, Long.class)',
    new='new ReducingStateDescriptor<>("total", (a, b) -> Math.max(a, b), Long.class)',
    fix="Give the state another name if the old values mean nothing to the new function.",
    find=_find,
)
