"""The states of operators of which a program only tells the call."""

from __future__ import annotations

from typing import Any

import pytest

from compat.loader.topology import plan_of
from compat.state.model.job import Plan
from compat.state.model.operators import Operator
from compat.state.model.states import StateKind
from compat.state.names import JAVA_GLOBAL_WINDOW, WINDOW_TIMERS

TIME = "TimeWindow"
CONTENTS = {
    "reduce": StateKind.REDUCING,
    "sum": StateKind.REDUCING,
    "aggregate": StateKind.AGGREGATING,
    "process": StateKind.LIST,
}


def window(**fields: Any) -> Operator:
    """The window operator of a topology."""
    ops = [
        {"id": "numbers", "kind": "source"},
        {"id": "by", "kind": "key_by", "inputs": ["numbers"], "keyType": "long"},
        {"id": "window", "kind": "window", "inputs": ["by"], **fields},
        {"id": "out", "kind": "print", "inputs": ["window"]},
    ]
    plan = plan_of({"ops": ops}, "2.3", {})
    assert isinstance(plan, Plan), plan
    return next(operator for operator in plan.operators if "window_class" in operator.detail)


@pytest.mark.parametrize(
    ("assigner", "type", "more"),
    [
        ("tumbling_processing_time", TIME, set()),
        ("sliding_event_time", TIME, set()),
        ("session_processing_time", TIME, {("merging-window-set", None)}),
        ("count", JAVA_GLOBAL_WINDOW, {("count", JAVA_GLOBAL_WINDOW)}),
    ],
)
@pytest.mark.parametrize("function", CONTENTS)
def test_what_flink_keeps_for_windows(assigner: str, type: str, more: set[Any], function: str) -> None:
    operator = window(window=assigner, function=function)
    states = {(state.name, state.namespace_type): state.kind for state in operator.states or ()}
    expected = {
        ("window-contents", type): CONTENTS[function],
        **{(name, type): StateKind.TIMERS for name in WINDOW_TIMERS},
    }
    assert {key: states.pop(key) for key in expected} == expected
    assert states.keys() == more


def test_windows_with_an_evictor_keep_all_records() -> None:
    operator = window(window="count_slide", function="reduce")
    (contents,) = (state for state in operator.states or () if state.name == "window-contents")
    assert contents.kind is StateKind.LIST
    assert operator.detail["window_function"] == "process"


@pytest.mark.parametrize(
    ("assigner", "clock", "merging"),
    [
        ("tumbling_event_time", "event time", False),
        ("session_processing_time", "processing time", True),
        ("count", "processing time", False),
    ],
)
def test_how_windows_end(assigner: str, clock: str, merging: bool) -> None:
    detail = window(window=assigner).detail
    assert (detail["window_clock"], detail["window_merging"]) == (clock, merging)


@pytest.mark.parametrize(
    ("call", "inputs", "flink", "timers"),
    [
        ("keyed_process", ["by"], "2.3", True),
        ("process", ["by"], "2.3", False),  # in 2.x a ProcessFunction has no keyed operator
        ("process", ["by"], "1.20", True),
        ("process", ["numbers"], "1.20", False),
        ("map", ["by"], "1.20", False),
        ("connect_keyed_process", ["by", "by"], "2.3", True),
        ("connect_process", ["by", "by"], "2.3", True),
        ("connect_process", ["by", "numbers"], "2.3", False),
        ("connect_map", ["by", "by"], "2.3", False),
        ("keyed_broadcast_connect", ["by", "numbers"], "2.3", True),
        ("broadcast_connect", ["numbers", "numbers"], "2.3", False),
    ],
)
def test_which_functions_have_a_queue_of_timers(call: str, inputs: list[str], flink: str, timers: bool) -> None:
    ops = [
        {"id": "numbers", "kind": "source"},
        {"id": "by", "kind": "key_by", "inputs": ["numbers"], "keyType": "long"},
        {"id": "call", "kind": call, "inputs": inputs},
        {"id": "out", "kind": "print", "inputs": ["call"]},
    ]
    plan = plan_of({"ops": ops}, flink, {})
    assert isinstance(plan, Plan), plan
    operator = next(operator for operator in plan.operators if operator.kind == call)
    assert any(state.kind is StateKind.TIMERS for state in operator.states or ()) is timers
    assert operator.has_state or not timers


@pytest.mark.parametrize(
    ("declared", "kind", "type"),
    [
        ({"scope": "broadcast", "type": "Long"}, StateKind.MAP, "Map<String, Long>"),
        ({"scope": "broadcast", "kind": "map", "type": "Map<Long, Long>"}, StateKind.MAP, "Map<Long, Long>"),
        ({"scope": "broadcast"}, StateKind.MAP, None),
        ({"scope": "keyed", "kind": "map", "type": "Long"}, StateKind.MAP, "Map<String, Long>"),
        ({"scope": "keyed", "type": "Long"}, StateKind.VALUE, "Long"),
    ],
)
def test_maps_of_a_topology_may_tell_the_type_of_their_values(
    declared: dict[str, str], kind: StateKind, type: str | None
) -> None:
    ops = [
        {"id": "numbers", "kind": "source"},
        {"id": "by", "kind": "key_by", "inputs": ["numbers"], "keyType": "long"},
        {"id": "call", "kind": "keyed_process", "inputs": ["by"], "states": [{"name": "s", **declared}]},
    ]
    plan = plan_of({"ops": ops}, "2.3", {})
    assert isinstance(plan, Plan), plan
    (state,) = (state for operator in plan.operators for state in operator.states or () if state.name == "s")
    assert (state.kind, state.type) == (kind, type)
