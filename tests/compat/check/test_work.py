"""The work of a check is linear in the size of the graph."""

from __future__ import annotations

from typing import Any

from compat.check.decision import check
from compat.plan.decode import decode
from compat.plan.facts import Program
from tests.compat.service.running import plan
from tests.counting import calls_of


class Text(str):
    """A text that is hashed by a call, so that walks which C makes over ids are counted too."""

    __slots__ = ()

    def __hash__(self) -> int:
        return super().__hash__()


def counted(value: Any) -> Any:
    """A JSON value with such texts in the place of its own, but for the names of fields."""
    if isinstance(value, dict):
        return {name: counted(item) for name, item in value.items()}
    if isinstance(value, list):
        return [counted(item) for item in value]
    return Text(value) if isinstance(value, str) else value


def program(*names: str) -> Program:
    return decode(counted(plan(*names)), name="job", kind="plan")


def test_a_chain_that_begins_with_another_operator() -> None:
    def calls(operators: int) -> int:
        names = [f"operator {number}" for number in range(operators)]
        old, new = program(*names), program("first", *names)
        return calls_of(lambda: check(old, new))

    assert calls(400) < 4.4 * calls(100)


def test_a_chain_as_it_was() -> None:
    def calls(operators: int) -> int:
        names = [f"operator {number}" for number in range(operators)]
        old, new = program(*names), program(*names)
        return calls_of(lambda: check(old, new))

    assert calls(400) < 4.4 * calls(100)
