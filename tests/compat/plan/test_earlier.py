"""Plans of earlier formats: what they could not tell is not taken for told."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from compat.loader.topology import plan_of
from compat.plan.earlier import operators_of
from compat.state.model.code import UserCode
from compat.state.model.job import FORMAT, Plan
from compat.state.model.operators import Operator
from compat.state.model.states import More

OPS = [
    {"id": "in", "kind": "legacy_source"},
    {"id": "key", "kind": "key_by", "inputs": ["in"]},
    {"id": "count", "kind": "keyed_process", "inputs": ["key"], "states": [{"name": "n", "type": "Long"}]},
    {"id": "out", "kind": "print", "inputs": ["count"]},
]
(PLAN,) = (plan for plan in [plan_of({"ops": OPS}, "2.3", {})] if isinstance(plan, Plan))
CODE = UserCode(name="m.Count", digest="1")
MORE = More(why="late")


def read(language: Any, format: Any = 1, **fields: Any) -> Operator:
    """The counting operator of a plan, as the check sees it."""
    changed = tuple(replace(one, **fields) if one.name == "KeyedProcess" else one for one in PLAN.operators)
    plan = replace(PLAN, format=format, language=language, operators=changed)
    (found,) = (one for one in operators_of(plan) if one.name == "KeyedProcess")
    return found


@pytest.mark.parametrize(
    ("language", "fields", "may_keep_more"),
    [
        ("java", {"function": CODE}, True),
        ("java", {"function": CODE, "states": ()}, True),
        ("java", {}, False),
        ("java", {"function": CODE, "states": None}, False),
        ("python", {"function": CODE}, False),
        ("python", {"kind": "legacy_source", "detail": {"class": "FlinkKafkaConsumer"}}, True),
        ("python", {"kind": "legacy_source"}, False),
        ("sql", {}, False),
    ],
)
def test_code_in_java_may_keep_more_than_a_plan_of_format_1_tells(
    language: str, fields: dict[str, Any], may_keep_more: bool
) -> None:
    found = read(language, **fields)
    assert (found.more is not None) == may_keep_more
    assert found.has_state or not may_keep_more
    assert read(language, FORMAT, **fields).more is None


def test_what_is_told_stays() -> None:
    assert read("java", function=CODE, more=MORE).more == MORE
