"""Operators that NEW runs with more subtasks than OLD's state has key groups."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.identity import hidden
from compat.check.rule import Rule
from compat.state.assignment import Refusal
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    conflicts = check.repaired.refused(Refusal.BELOW_PARALLELISM)
    pairs = [conflict.pair for conflict in conflicts if conflict.pair.new.id not in check.leaving]
    everywhere = min((pair.old.max_parallelism for pair in pairs if not pair.new.parallelism_configured), default=0)
    for pair in pairs:
        limit = pair.old.max_parallelism
        own = pair.new.parallelism_configured
        yield check.finding(
            RULE,
            f"{pair.new.label} runs with parallelism {pair.new.parallelism}, above the recorded max parallelism {limit}",
            consequence="Flink refuses the restore.",
            reason=f"OLD's state is divided into {limit} key groups: more subtasks than that would have none.",
            old=pair.old,
            new=pair.new,
            fixes=(_fix(pair.new, limit) if own else _environment_fix(everywhere),),
            cause=None
            if own
            else f"run with parallelism {pair.new.parallelism}, above the recorded max parallelism {limit}",
        )


def _environment_fix(limit: int) -> Fix:
    """One setting for all operators that have none of their own."""
    call = f"env.set_parallelism({limit})"
    return Fix(text=f"Set a parallelism of at most {limit} for the job: {call}, or parallelism.default.", call=call)


def _fix(operator: Operator, limit: int) -> Fix:
    call = f".set_parallelism({limit})"
    if hidden(operator):
        return Fix(text=f"Set a parallelism of at most {limit} on the operator before it: {call}.", code=call)
    text = f"Set a parallelism of at most {limit}: {call}."
    return Fix(text=text, call=call, at=operator.source, operator_id=operator.id)


RULE = Rule(
    id="CMP302",
    name="parallelism-above-max",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="The parallelism of NEW exceeds the recorded max parallelism.",
    why="A subtask needs at least one key group, and there are only as many as the max parallelism of the job "
    "that wrote the state.",
    old="env.set_max_parallelism(4)\nenv.set_parallelism(4)",
    new="env.set_parallelism(8)",
    fix="Lower the parallelism to the recorded max parallelism. To go beyond it, the state has to be "
    "rewritten (Flink's State Processor API).",
    find=_find,
)
