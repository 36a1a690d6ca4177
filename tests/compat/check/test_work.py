"""The work of a check is linear in the size of the graph."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct, structs
from msgspec.structs import asdict, replace

from compat.check.decision import check
from compat.check.story import tell
from compat.compiler.streamgraph.hashing import uid_hash
from compat.loader.topology import plan_of
from compat.plan.facts import Program, facts_of
from compat.plan.reading import from_plain
from compat.state.model.job import Plan
from tests.compat.service.running import plan
from tests.counting import calls_of


class Text(str):
    """A text that is hashed by a call, so that walks which C makes over ids are counted too."""

    __slots__ = ()

    def __hash__(self) -> int:
        return super().__hash__()


def counted(value: Any) -> Any:
    """A plan with such texts in the place of its own, but for the names of fields."""
    if isinstance(value, Struct):
        return type(value)(**{name: counted(item) for name, item in asdict(value).items()})
    if isinstance(value, dict):
        return {name: counted(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(counted(item) for item in value)
    return Text(value) if isinstance(value, str) else value


def without_uids(names: list[str]) -> Program:
    return facts_of(counted(from_plain(plan(*names))), name="job", kind="plan")


def with_uids(names: list[str], prefix: str = "") -> Program:
    """Operators whose uids may all have another beginning."""
    found = plan(*names, uids=True)
    text = json.dumps(found).replace('"uid": "', f'"uid": "{prefix}')
    program = facts_of(counted(from_plain(json.loads(text))), name="job", kind="plan")
    ids = {operator.id: Text(uid_hash(operator.uid)) for operator in program.operators if operator.uid is not None}
    operators = [
        structs.replace(
            operator,
            id=ids.get(operator.id, operator.id),
            inputs=tuple(ids.get(id, id) for id in operator.inputs),
        )
        for operator in program.operators
    ]
    return replace(program, operators=tuple(operators), vertices=())


EDITS: dict[str, Callable[[list[str]], tuple[Program, Program]]] = {
    "none": lambda names: (without_uids(names), without_uids(names)),
    "another operator at the beginning": lambda names: (without_uids(names), without_uids(["first", *names])),
    "other uids": lambda names: (with_uids(names), with_uids(names, "new ")),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("work", [check, lambda old, new: tell(check(old, new))], ids=["check", "story"])
def test_a_long_chain(edit: Callable[[list[str]], tuple[Program, Program]], work: Callable[..., Any]) -> None:
    def calls(operators: int) -> int:
        old, new = edit([f"operator {number}" for number in range(operators)])
        return calls_of(lambda: work(old, new))

    assert calls(400) < 4.4 * calls(100)


def pipelines(count: int) -> Program:
    """So many pipelines side by side, each with a source that ends."""
    ops: list[dict[str, Any]] = []
    for number in range(count):
        ops += [
            {"id": f"in{number}", "kind": "source"},
            {"id": f"on{number}", "kind": "map", "inputs": [f"in{number}"]},
            {"id": f"out{number}", "kind": "sink", "inputs": [f"on{number}"]},
        ]
    made = plan_of({"env": {"parallelism": 2}, "ops": ops}, "2.3", {})
    assert isinstance(made, Plan)
    return facts_of(counted(made), name="job", kind="plan")


@pytest.mark.parametrize("work", [check, lambda old, new: tell(check(old, new))], ids=["check", "story"])
def test_many_pipelines(work: Callable[..., Any]) -> None:
    def calls(count: int) -> int:
        old, new = pipelines(count), pipelines(count)
        return calls_of(lambda: work(old, new))

    assert calls(80) < 4.4 * calls(20)
