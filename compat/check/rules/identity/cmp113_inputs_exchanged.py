"""Operators of two inputs whose inputs changed places."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.inputs import exchanged, moved_along, stayed
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        of_code = moved_along(pair.old, pair.new)
        if of_code and _fields(pair.old) != _fields(pair.new):
            continue  # other states are in the fields: another rule tells
        changed = stayed if of_code else exchanged
        if not changed(pair.old, pair.new, check.old, check.new):
            continue
        sides = _kept_by_side(pair)
        yield check.finding(
            RULE,
            f"the {'code for the ' if of_code else ''}inputs of {pair.new.label} changed places",
            level=Level.WARNING if sides is None else Level.ERROR,
            consequence="Flink restores this without an error; "
            + (
                "each input now meets the states that the other one wrote."
                if sides is None
                else f"the state of one input ({sides}) is now taken for the other one's."
            ),
            reason="A state belongs to the operator, not to its inputs: no id says which input is the first.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Connect or join the streams in the old order, or give the operator a uid of its own, so that it "
                    "starts empty.",
                    code=uid_call(pair.new, check),
                ),
            ),
            silent=True,
        )


def _fields(operator: Operator) -> dict[str, str]:
    holding = operator.detail.get("holding")
    return {} if holding is None else holding.fields


def _kept_by_side(pair: Pair) -> str | None:
    """The states that only one input uses or fills, as text; None if none is one's own."""
    holding = pair.old.detail.get("holding")
    if holding is None or not holding.by_side:
        return "all that Flink keeps for it"
    first, second = holding.by_side
    own = (set(one) ^ set(other) for one, other in zip(first, second, strict=True))
    return ", ".join(sorted(set().union(*own))) or None


RULE = Rule(
    id="CMP113",
    name="inputs-exchanged",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if the operator uses and fills the same states for the records of both inputs",
    fate=Fate.WRONG_HANDS,
    summary="The inputs of a connect or a join, or the code for them, changed places.",
    why="A join or a function of two inputs keeps state by the number of the input. If x.connect(y) becomes "
    "y.connect(x) under the same id, y gets the state of x: Flink restores this without an error.",
    old='x.connect(y).process(new Join()).uid("join")',
    new='y.connect(x).process(new Join()).uid("join")',
    fix="Connect the streams in the old order.",
    find=_find,
)
