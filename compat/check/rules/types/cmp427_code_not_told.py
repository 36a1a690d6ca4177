"""Savepoints of jobs in Java whose program nobody names: what its code did with the state is not in them."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.code_suggestions import OLD_PROGRAM
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.model.operators import Operator

_ROLLING = "reduce"
"""Keeps what a function of the program's made of the values so far, under a name of Flink's."""


def _find(check: Check) -> Iterator[Finding]:
    if check.new.language != "java" or check.old.snapshot is None or check.old.snapshot.types_known:
        return
    pair = next((pair for pair in check.right_pairs if _of_the_program(pair.new)), None)
    if pair is not None:
        yield check.finding(
            RULE,
            f"{check.old.name} does not record what the code that wrote it did with its state",
            consequence="Ids, names and types are compared. The check cannot see whether inputs or states of the same "
            "type changed places, or a trigger changed.",
            reason="A savepoint has the bytes of a state, but not the code that uses them.",
            new=pair.new,
            fixes=(
                Fix(
                    text="Name the jar that wrote it, or its plan: then the code is compared, too.",
                    code=OLD_PROGRAM,
                ),
            ),
            subject="savepoint",
        )


def _of_the_program(operator: Operator) -> bool:
    """True for an operator that keeps state for code of the program's."""
    own = any(not state.built_in for state in operator.states or ())
    return own or operator.kind == _ROLLING or "window" in operator.detail


RULE = Rule(
    id="CMP427",
    name="code-not-told",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="OLD is a savepoint of a job in Java, and the program that wrote it is not given.",
    why="Flink restores state to operators and names. Only the code says which input, field or trigger a state belongs "
    "to. With the program that wrote the savepoint, the check compares that, too.",
    old="first.connect(second).process(new Join())",
    new="second.connect(first).process(new Join())",
    fix="Add --names OLD.jar, or --names with a saved plan of it.",
    find=_find,
)
