"""Keyed operators whose max parallelism nobody set, and which another parallelism gives another one."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.pinning import edit
from compat.check.rule import Rule
from compat.state.model.states import StateScope


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        old, new = pair.old, pair.new
        derived = not new.max_parallelism_configured and not old.max_parallelism_configured
        keyed = any(state.scope is StateScope.KEYED for state in new.states or ())
        if derived and keyed and old.max_parallelism != new.max_parallelism and new.parallelism <= old.max_parallelism:
            yield check.finding(
                RULE,
                f"the max parallelism of {new.label} is derived, and moves from {old.max_parallelism} to "
                f"{new.max_parallelism} with the parallelism",
                consequence=f"A restore keeps {old.max_parallelism}; a start without state gets {new.max_parallelism}, and "
                "the two cannot read each other's savepoints once one of the values is set.",
                reason=f"It follows from the parallelism ({old.parallelism}, now {new.parallelism}).",
                old=old,
                new=new,
                fixes=(edit(new, "set_max_parallelism", old.max_parallelism),),
            )


RULE = Rule(
    id="CMP304",
    name="derived-max-parallelism",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="The max parallelism is derived from the parallelism.",
    why="If none is set, Flink derives it: 1.5 times the parallelism, rounded up to a power of two, at least 128. The "
    "first savepoint fixes it, and so limits the scale of the job for good.",
    old="env.set_parallelism(4)",
    new="env.set_parallelism(4)\nenv.set_max_parallelism(720)",
    fix="Set the max parallelism before the first start: a number with many divisors, well above what will be "
    "needed. On a job with state, set the recorded one.",
    find=_find,
)
