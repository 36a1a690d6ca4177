"""Functions of the user's own that a query calls, and which do something else than before."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.class_changes import short
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.plan.facts import Program
from compat.plan.queries import of_query
from compat.state.model.code import UserCode
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        if not (pair.new.has_state and pair.old.inputs and of_query(pair.old) and of_query(pair.new)):
            continue
        before, after = _called(pair.old, check.old), _called(pair.new, check.new)
        said = tuple(_changes(before, after))
        if not said:
            continue
        yield check.finding(
            RULE,
            f"{pair.new.name} goes on with values that other functions computed",
            consequence="Flink restores this without an error, with values that the old functions computed.",
            reason=" ".join(said) + " Flink records only the type of a function's accumulator.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Nothing, if the new functions would have computed the same values; else let the "
                    "query start without its state."
                ),
            ),
            silent=True,
        )


def _called(operator: Operator, program: Program) -> tuple[UserCode, ...]:
    """The functions that made what an operator keeps: its own, and those on the way to it from what keeps state before it."""
    found: dict[str, UserCode] = {}
    waiting, seen = [operator], {operator.id}
    while waiting:
        one = waiting.pop()
        found.update((f"{code.name} {code.digest} {code.captured}", code) for code in one.called)
        for id in one.inputs:
            above = program.by_id.get(id)
            if above is not None and id not in seen and not (above.has_state and above.inputs):
                seen.add(id)
                waiting.append(above)
    return tuple(found[key] for key in sorted(found))


def _changes(old: tuple[UserCode, ...], new: tuple[UserCode, ...]) -> Iterator[str]:
    """Sentences on functions that do something else; another class of the same code does the same.

    That a function is called no longer, or was not before, stands in the query itself.
    """
    kept = {(one.digest, one.captured) for one in old} & {(one.digest, one.captured) for one in new}
    gone = [one for one in old if (one.digest, one.captured) not in kept]
    come = {one.name: one for one in new if (one.digest, one.captured) not in kept}
    others = [name for name in come if name not in {one.name for one in gone}]
    for one in gone:
        if one.name in come:
            same = one.digest == come[one.name].digest
            yield (
                f"{short(one.name)} holds other values than before."
                if same
                else f"The code of {short(one.name)} is another one."
            )
        elif others:
            yield f"In place of {short(one.name)} it calls {short(others.pop(0))}."


RULE = Rule(
    id="CMP714",
    name="sql-function-changed",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A user-defined function that a query calls has other code, or another class.",
    why="A query only names its functions. Their code is in classes of the job; neither the compiled plan nor the "
    "savepoint has it.",
    old="public void accumulate(Sum sum, Long v) { sum.total += v; }",
    new="public void accumulate(Sum sum, Long v) { sum.total = Math.max(sum.total, v); }",
    fix="Keep the function's code as long as its results are kept, or give it another name and start the query anew.",
    find=_find,
)
