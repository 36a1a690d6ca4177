"""CMP410 state-not-known."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level


def find(check: Check) -> Iterator[Finding]:
    """Operators that keep their state, whose states could not be found out on one of the sides."""
    for pair in check.right_pairs:
        for operator, program in ((pair.old, check.old), (pair.new, check.new)):
            if operator.states is None:
                yield check.finding(
                    "CMP410",
                    Level.UNKNOWN,
                    f"the states of {operator.label} in {program.name} are not known",
                    consequence="Its state finds its operator; whether the operator can read it cannot be told.",
                    reason=f"{operator.states_unknown or 'They were not recorded'}.",
                    old=pair.old,
                    new=pair.new,
                    fixes=(Fix(text="Ask for all states in open(), and let open() work without its surroundings."),),
                )
                break
