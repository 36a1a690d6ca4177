"""States of a savepoint whose bytes cannot be of the type that NEW declares.

Where the program that wrote the savepoint is known, its types are compared instead (CMP404).
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.operators import Operator
from compat.state.model.states import State


def _find(check: Check) -> Iterator[Finding]:
    if check.old.snapshot is None or check.old.snapshot.types_known:
        return
    for pair in check.right_pairs:
        states = {state.name: state for state in pair.new.states or ()}
        for name, why in pair.old.detail.get("contradicted_types", {}).items():
            yield check.finding(
                RULE,
                f"the bytes {_where(states[name])} of {pair.new.label} are not of the type {states[name].type}",
                consequence="Flink restores this without an error, as PyFlink shows it bytes only; the task fails at the first "
                "record, or reads wrong values.",
                reason=f"A stored value has {why}.",
                old=pair.old,
                new=pair.new,
                state=name,
                fixes=(_fix(pair.new, states[name], check),),
                silent=True,
            )


def _where(state: State) -> str:
    return "in the windows" if state.built_in else f"of state {state.name!r}"


def _fix(operator: Operator, state: State, check: Check) -> Fix:
    if state.built_in:
        return Fix(
            text="Keep the type of what windows hold, or give the new windows an operator with a uid of its own.",
            code=uid_call(operator, check),
        )
    return Fix(
        text="Keep the type that wrote the state, or put the new values into a state of another name.",
        code=code_suggestions.under_another_name(state),
    )


RULE = Rule(
    id="CMP505",
    name="bytes-of-another-type",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="The bytes of a state in the savepoint cannot be of the type that the new program declares.",
    why="PyFlink's coders write a Long as 8 bytes and a String after its length. The check compares a few stored values "
    "with the declared type. The program cannot read values that contradict it; Flink does not notice, as it sees "
    "only bytes.",
    old='ValueStateDescriptor("count", Types.LONG())     # 8 bytes in the savepoint',
    new='ValueStateDescriptor("count", Types.STRING())',
    fix="Keep the type that wrote the state, or put the new values into a state of another name.",
    find=_find,
)
