"""Windows of topologies that became others, as programs in Java have them."""

from __future__ import annotations

from typing import Any

import pytest

from compat.check.code_suggestions import longer_windows
from compat.check.decision import check
from compat.check.findings import Level, WindowHeir
from compat.loader.topology import plan_of
from compat.plan.facts import Program, facts_of
from compat.state.model.job import Plan
from tests.compat import builders


def program(window: str, function: str) -> Program:
    ops: list[dict[str, Any]] = [
        {"id": "numbers", "kind": "source", "uid": "numbers"},
        {"id": "by", "kind": "key_by", "inputs": ["numbers"], "keyType": "long"},
        {"id": "window", "kind": "window", "inputs": ["by"], "window": window, "function": function, "uid": "window"},
        {"id": "out", "kind": "print", "inputs": ["window"]},
    ]
    plan = plan_of({"ops": ops}, "2.3", {})
    assert isinstance(plan, Plan), plan
    return facts_of(plan, name=window, kind="topology")


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        (("tumbling_processing_time", "reduce"), ("tumbling_processing_time", "reduce"), set()),
        (("tumbling_processing_time", "reduce"), ("tumbling_processing_time", "sum"), set()),
        (("tumbling_processing_time", "reduce"), ("tumbling_processing_time", "aggregate"), {"CMP414"}),
        (("session_processing_time", "process"), ("session_processing_time", "reduce"), {"CMP414"}),
        (("count", "reduce"), ("count_slide", "reduce"), {"CMP414"}),
        (("count", "process"), ("count_slide", "reduce"), set()),
        (("tumbling_processing_time", "reduce"), ("session_processing_time", "reduce"), {"CMP407"}),
        (("tumbling_processing_time", "reduce"), ("tumbling_event_time", "reduce"), {"CMP407"}),
        (("tumbling_event_time", "reduce"), ("sliding_event_time", "reduce"), set()),
        (("count", "reduce"), ("tumbling_processing_time", "process"), {"CMP407"}),  # one cause, one finding
    ],
)
def test_what_cannot_be_read_is_an_error(old: tuple[str, str], new: tuple[str, str], rules: set[str]) -> None:
    found = check(program(*old), program(*new)).findings
    assert {finding.rule for finding in found if finding.level is Level.ERROR} == rules


@pytest.mark.parametrize(
    ("old", "new", "heir"),
    [
        ("TumblingEventTimeWindows(1000)", "TumblingEventTimeWindows(5000)", WindowHeir(5000, 0)),
        ("TumblingEventTimeWindows(1000, 0)", "TumblingEventTimeWindows(5000, 2000)", WindowHeir(5000, 2000)),
        ("TumblingEventTimeWindows(1000, 0)", "TumblingEventTimeWindows(5000, 500)", None),
        ("TumblingEventTimeWindows(2000)", "TumblingEventTimeWindows(5000)", None),
        ("TumblingEventTimeWindows(5000)", "TumblingEventTimeWindows(1000)", None),
        ("TumblingEventTimeWindows(1000)", "TumblingProcessingTimeWindows(5000)", None),
        ("SlidingEventTimeWindows(1000, 500)", "SlidingEventTimeWindows(5000, 500)", None),
        ("EventTimeSessionWindows(1000)", "EventTimeSessionWindows(5000)", None),
        ("Mine(1)", "Mine(5)", None),
    ],
)
def test_open_windows_can_become_part_of_longer_ones(old: str, new: str, heir: WindowHeir | None) -> None:
    assert longer_windows(old, new) == heir
    sides = (builders.operator("w", uid="w", kind="window", states=(), detail={"window": one}) for one in (old, new))
    before, after = (builders.program(name, one) for name, one in zip(("old", "new"), sides, strict=True))
    found = check(before, after).findings
    assert [finding.heirs for finding in found if finding.heirs] == ([] if heir is None else [(heir,)])
