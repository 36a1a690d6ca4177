"""Operators whose function registered timers in OLD, or may have done so, and does not in NEW."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.state.model.operators import Operator
from compat.state.model.states import StateKind
from compat.state.names import timer_service


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        registered = pair.old.detail.get("timers")
        if registered is False:
            continue
        if (registered is None or check.new.built_by_flink) and (gone := _gone(pair)):
            yield check.finding(
                RULE,
                f"{pair.new.label} has no timers {_listed(gone)} any more",
                consequence="Flink restores this without an error, and timers in the savepoint never fire."
                if registered
                else "Flink restores this without an error. If OLD's function set timers, they never fire.",
                reason="Timers are kept under the name of the operator's timer service.",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text="Keep an operator with timers of that name until the last timer of OLD has fired."),),
                silent=True,
            )
        elif registered and pair.new.detail.get("timers") is False:
            handler = "onTimer()" if check.new.built_by_flink else "on_timer()"
            yield check.finding(
                RULE,
                f"{pair.new.label} registers no timers any more",
                consequence=f"Timers in the savepoint still fire and call {handler}.",
                reason="OLD's function registers timers, NEW's does not.",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text=f"Keep an {handler} that deals with the timers of the old version."),),
            )


def _gone(pair: Pair) -> set[str]:
    """The names of OLD's timer queues that NEW does not have; none if its states are not known."""
    return set() if pair.new.states is None else _queues(pair.old) - _queues(pair.new)


def _queues(operator: Operator) -> set[str]:
    return {timer_service(state.name) for state in operator.states or () if state.kind is StateKind.TIMERS}


def _listed(names: set[str]) -> str:
    return " and ".join(repr(name) for name in sorted(names))


RULE = Rule(
    id="CMP412",
    name="timers-dropped",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="OLD registered timers, NEW does not handle them.",
    why="Timers are part of the state. OLD's timers fire in NEW, too, but NEW's function does nothing with them.",
    old="def on_timer(self, timestamp, ctx): yield self.count.value()",
    new="# no on_timer",
    fix="Keep on_timer until the last timer of OLD has fired.",
    find=_find,
)
