"""CMP304 derived-max-parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Level
from compat.check.rules.pinning import edit
from compat.plan.facts import StateScope


def find(check: Check) -> Iterator[Finding]:
    """Keyed operators whose max parallelism nobody set, and which another parallelism gives another one."""
    for pair in check.right_pairs:
        old, new = pair.old, pair.new
        derived = not new.max_parallelism_configured and not old.max_parallelism_configured
        keyed = any(state.scope is StateScope.KEYED for state in new.states or ())
        if derived and keyed and old.max_parallelism != new.max_parallelism and new.parallelism <= old.max_parallelism:
            yield check.finding(
                "CMP304",
                Level.WARNING,
                f"the max parallelism of {new.label} is derived, and moves from {old.max_parallelism} to "
                f"{new.max_parallelism} with the parallelism",
                consequence=f"A restore keeps {old.max_parallelism}; a start without state gets {new.max_parallelism}, and "
                "the two cannot read each other's savepoints once one of the values is set.",
                reason=f"It follows from the parallelism ({old.parallelism}, now {new.parallelism}).",
                old=old,
                new=new,
                fixes=(edit(new, "set_max_parallelism", old.max_parallelism),),
            )
