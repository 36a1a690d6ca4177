"""CMP302 parallelism-above-max."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules.pinning import hidden
from compat.plan.facts import Operator
from compat.state.assignment import Refusal


def find(check: Check) -> Iterator[Finding]:
    """Operators that NEW runs with more subtasks than OLD's state has key groups."""
    for conflict in check.mapping.refused(Refusal.BELOW_PARALLELISM):
        pair = conflict.pair
        limit = pair.old.max_parallelism
        yield check.finding(
            "CMP302",
            Level.ERROR,
            f"{pair.new.label} runs with parallelism {pair.new.parallelism}, above the recorded max parallelism {limit}",
            consequence="Flink refuses the restore.",
            reason=f"OLD's state is divided into {limit} key groups: more subtasks than that would have none.",
            old=pair.old,
            new=pair.new,
            fixes=(_fix(pair.new, limit),),
        )


def _fix(operator: Operator, limit: int) -> Fix:
    call = f".set_parallelism({limit})"
    if hidden(operator):
        return Fix(text=f"Set a parallelism of at most {limit} on the operator before it: {call}.", code=call)
    text = f"Set a parallelism of at most {limit}: {call}."
    return Fix(text=text, call=call, at=operator.source, operator_id=operator.id)
