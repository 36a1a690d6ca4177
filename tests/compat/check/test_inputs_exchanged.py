"""Inputs of an operator of two, and the code and the keys for them, that changed places."""

from __future__ import annotations

import msgspec
import pytest

from compat.check.decision import check
from compat.check.findings import Level
from compat.state.model.behaviour import Holding
from compat.state.model.code import UserCode
from compat.state.model.operators import Operator
from tests.compat.builders import operator, program, value_state

FIRST, SECOND = (operator(name, uid=name, states=()) for name in ("first", "second"))


def join(inputs: tuple[Operator, Operator], used: tuple[str, str], keys: str, **fields: str) -> Operator:
    """An operator of two inputs that uses a state for each, and keys by selectors of these names."""
    holding = Holding(
        fields=fields or {"left": "x", "right": "y"},
        code="",
        code_by_state=f"{used} {fields}",
        inputs=tuple((name,) for name in used),
    )
    return operator(
        "join",
        uid="join",
        states=tuple(value_state(name) for name in ("x", "y")),
        inputs=tuple(one.id for one in inputs),
        key_selectors=tuple(UserCode(name=key, digest=key) for key in keys),
        detail={"input_numbers": [1, 2], "holding": holding},
    )


OLD = join((FIRST, SECOND), ("x", "y"), "ab")


@pytest.mark.parametrize(
    ("new", "rules"),
    [
        (join((FIRST, SECOND), ("x", "y"), "ab"), set()),
        (join((SECOND, FIRST), ("x", "y"), "ba"), {"CMP113", "CMP419"}),
        (join((SECOND, FIRST), ("y", "x"), "ba"), set()),
        (join((SECOND, FIRST), ("y", "x"), "ab"), {"CMP419"}),
        (join((FIRST, SECOND), ("y", "x"), "ab"), {"CMP113"}),
        # The states in the fields changed places, not the code.
        (join((FIRST, SECOND), ("y", "x"), "ab", left="y", right="x"), {"CMP423"}),
    ],
)
def test_what_changed_places(new: Operator, rules: set[str]) -> None:
    sides = (program(name, FIRST, SECOND, one) for name, one in (("old", OLD), ("new", new)))
    told = {one.rule for one in check(*sides).findings}
    assert told & {"CMP113", "CMP419", "CMP423"} == rules


def filling(filled: tuple[str, str], inputs: tuple[Operator, Operator] = (FIRST, SECOND)) -> Operator:
    """An operator of two inputs that uses both states for each, and fills one."""
    made = join(inputs, ("x", "y"), "")
    both = msgspec.structs.replace(
        made.detail["holding"], inputs=(("x", "y"),) * 2, changed=tuple((name,) for name in filled), code_by_state=""
    )
    return msgspec.structs.replace(made, detail={**made.detail, "holding": both})


@pytest.mark.parametrize(
    ("new", "level"),
    [
        (filling(("x", "y")), None),
        (filling(("x", "y"), (SECOND, FIRST)), Level.ERROR),
        (filling(("y", "x"), (SECOND, FIRST)), None),  # the code changed places with the inputs
        (filling(("x", "x"), (SECOND, FIRST)), Level.ERROR),
    ],
)
def test_a_state_is_that_of_the_input_that_fills_it(new: Operator, level: Level | None) -> None:
    sides = (program(name, FIRST, SECOND, one) for name, one in (("old", filling(("x", "y"))), ("new", new)))
    (found,) = [one.level for one in check(*sides).findings if one.rule == "CMP113"] or [None]
    assert found is level
