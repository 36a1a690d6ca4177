"""Operators that keep their state, whose states could not be found out on one of the sides."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        asked = check.answer(pair) is not None
        for operator, program in ((pair.old, check.old), (pair.new, check.new)):
            if operator.states is None and not (asked and operator is pair.old):
                yield check.finding(
                    RULE,
                    f"the states of {operator.label} in {program.name} are not known",
                    consequence="Its state finds its operator; whether the operator can read it cannot be told.",
                    reason=f"{operator.states_unknown or 'They were not recorded'}.",
                    old=pair.old,
                    new=pair.new,
                    fixes=(Fix(text="Ask for all states in open(), and let open() work without its surroundings."),),
                )
                break


RULE = Rule(
    id="CMP410",
    name="state-not-known",
    level=Level.UNKNOWN,
    fate=Fate.UNKNOWN,
    summary="The states of an operator could not be found out.",
    why="States are found by calling the function's open(). If that fails, or the states are made while records "
    "are processed, the check cannot see them. What is not known is not called compatible.",
    old='def open(self, ctx):\n    self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))',
    new='def open(self, ctx):\n    self.model = load("/models/current")   # not there on this machine',
    fix="Declare the states first in open(), before anything that can fail; or accept it with --allow-unknown.",
    find=_find,
)
