"""Jobs that Flink built are plans like any other: written, read, and checked by the same rules."""

import pytest

from compat.compiler.errors import ProgramError
from compat.loader.jvm.messages import Crash, JavaFrame
from compat.loader.jvm.plans import plan_of, refused_by, refused_of
from compat.loader.jvm.process import JvmOptions
from compat.plan.reading import read
from compat.plan.writing import dump
from compat.state.model.states import StateKind, StateScope
from tests.compat.loader.jvm.golden import program, records
from tests.compat.loader.jvm.support import build_all

NAMES = ("ttl_enabled", "oplist_type", "win_count_trigger_n", "q_agg_added")


@pytest.fixture(scope="module")
def plans(flink, java):
    """The plans of some golden jobs, by name and side."""
    asked = [(name, side) for name in NAMES for side in ("old", "new")]
    outcomes = build_all([program("2.3.0", *one) for one in asked], flink, java, JvmOptions(options={}))
    return {one: plan_of(outcome.jobs[-1], one[0]) for one, outcome in zip(asked, outcomes, strict=True)}


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_read_as_it_was_written(plans, name):
    plan = plans[name, "new"]
    assert read(dump(plan).encode()) == plan


@pytest.mark.parametrize("name", NAMES)
def test_its_operators_are_flinks(plans, name):
    real = {one["operatorId"]: one["name"] for one in records()["2.3.0", name]["new"]["operators"]}
    assert {one.id: one.name for one in plans[name, "new"].operators} == real


def test_states_have_kinds_types_lines_and_serializers(plans):
    (function,) = (one for one in plans["ttl_enabled", "new"].operators if one.uid == "fn")
    (state,) = (one for one in function.states if not one.built_in)
    assert (state.name, state.kind, state.scope) == ("st", StateKind.VALUE, StateScope.KEYED)
    assert (state.type, state.key_type, state.ttl) == ("Long", "Long", 3_600_000)
    assert state.serializers.value.startswith(b"\x00")
    assert (function.kind, function.source.class_name, function.source.method) == (
        "keyed_process",
        "TtlEnabled",
        "main",
    )
    assert {one.kind for one in function.states if one.built_in} == {StateKind.TIMERS}


def test_operator_state_and_windows(plans):
    scopes = {one.name: one.scope for operator in plans["oplist_type", "old"].operators for one in operator.states}
    assert scopes["buf"] is StateScope.OPERATOR
    (window,) = (one for one in plans["win_count_trigger_n", "old"].operators if one.kind == "window")
    assert {"window-contents", "count"} <= {one.name for one in window.states}
    assert window.detail["window"] == "TumblingEventTimeWindows(1000)"


def test_a_job_in_sql(plans):
    plan = plans["q_agg_added", "new"]
    assert plan.language == "sql"
    assert [one.text.split()[0] for one in plan.statements] == ["INSERT"]
    (aggregate,) = (one for one in plan.operators if one.name.startswith("GroupAggregate"))
    assert '"type": "stream-exec-group-aggregate_' in aggregate.exec_node
    assert "SUM(" in aggregate.description


def test_a_refusal():
    crash = Crash(
        type="java.lang.IllegalArgumentException",
        message='Hash collision on user-specified ID "a".',
        frames=(JavaFrame(class_name="Job", method="main", file="Job.java", line=3),),
        refused=True,
    )
    refused = refused_of(crash, "2.3.0", "job.jar")
    assert (refused.flink, refused.error.stage, refused.error.source.line) == ("2.3", "hashes", 3)
    assert read(dump(refused).encode()) == refused


def test_a_job_that_flink_builds_and_does_not_start(flink, java):
    options = JvmOptions(options={"parallelism.default": "4", "pipeline.max-parallelism": "2"})
    (outcome,) = build_all([program("2.3.0", "ttl_enabled", "new")], flink, java, options)
    job = outcome.jobs[-1]
    with pytest.raises(ProgramError, match="is higher than the max parallelism") as caught:
        plan_of(job, "job.jar")
    refused = refused_by(caught.value, job)
    assert (refused.error.stage, refused.error.code, refused.error.value) == (
        "executionGraph",
        "parallelism-above-max",
        "2",
    )
    assert refused.error.source.class_name == "TtlEnabled"
    assert read(dump(refused).encode()) == refused
