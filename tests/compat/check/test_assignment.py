"""The check and the restore at run time give every operator the same state, for any two programs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from compat.check.mapping import StateMapping, map_state
from compat.compiler.executiongraph.graph import ExecutionGraph
from compat.compiler.spark.driver.restore import RestoreRefused, map_operators
from compat.compiler.spark.driver.saved import SavedOperator
from compat.compiler.spark.plan import OperatorSpec, PhysicalPlan, Stage, TaskSpec
from compat.compiler.streamgraph.graph import Task
from compat.plan.facts import Program
from compat.state.model.operators import Operator
from tests.compat.builders import hash_of, operator, program, value_state
from tests.compat.topologies.judging import Record, some
from tests.compat.topologies.judging import facts as facts_of_topology

IDS = [hash_of(letter) for letter in "abcde"]


class Job(Struct, frozen=True):
    """An operator of either version, in a task that some share."""

    id: str
    user_hash: str | None
    task: int
    keyed: bool


class Setting(Struct, frozen=True, kw_only=True):
    """The parallelism of a task."""

    parallelism: int
    max_parallelism: int
    configured: bool


TASKS = 3
JOBS = st.lists(
    st.builds(
        Job,
        id=st.sampled_from(IDS),
        user_hash=st.none() | st.sampled_from(IDS),
        task=st.integers(0, TASKS - 1),
        keyed=st.booleans(),
    ),
    unique_by=lambda job: job.id,
    max_size=4,
)
SETTINGS = st.lists(
    st.builds(
        Setting,
        parallelism=st.sampled_from([1, 70]),
        max_parallelism=st.sampled_from([64, 128]),
        configured=st.sampled_from([False, False, True]),
    ),
    min_size=TASKS,
    max_size=TASKS,
)


def facts(jobs: list[Job], settings: list[Setting]) -> Program:
    return program("job", *(_operator(job, settings[job.task]) for job in jobs))


def _operator(job: Job, setting: Setting) -> Operator:
    return operator(
        job.id[:4],
        id=job.id,
        user_hash=job.user_hash,
        vertex=str(job.task),
        parallelism=setting.parallelism,
        max_parallelism=setting.max_parallelism,
        max_parallelism_configured=setting.configured,
        states=(value_state(),) if job.keyed else (),
        has_state=job.keyed,
    )


def saved(jobs: list[Job], settings: list[Setting]) -> dict[str, SavedOperator]:
    return {
        job.id: SavedOperator(
            id=job.id,
            name=job.id[:4],
            uid=None,
            parallelism=settings[job.task].parallelism,
            max_parallelism=settings[job.task].max_parallelism,
            states=(),
            stateful=job.keyed,
            keyed=job.keyed,
        )
        for job in jobs
    }


def physical(jobs: list[Job], settings: list[Setting]) -> PhysicalPlan:
    tasks = tuple(_task(number, setting, jobs) for number, setting in enumerate(settings))
    graph = ExecutionGraph(job_name="job", vertices=(), slots={})
    return PhysicalPlan(
        job_name="job", bounded=True, batch=False, tasks=tasks, stages=(Stage((0,)),), execution_graph=graph
    )


def _task(number: int, setting: Setting, jobs: list[Job]) -> TaskSpec:
    return TaskSpec(
        vertex=number,
        id=str(number),
        name="task",
        level=0,
        parallelism=setting.parallelism,
        max_parallelism=setting.max_parallelism,
        max_parallelism_configured=setting.configured,
        operators=tuple(_spec(job) for job in jobs if job.task == number),
        gates={},
        slots=range(setting.parallelism),
    )


def _spec(job: Job) -> OperatorSpec:
    facts: dict[str, Any] = {"node": 1, "uid": None, "task": Task.ONE_INPUT, "operator": None, "key_type": None}
    return OperatorSpec(id=job.id, user_hash=job.user_hash, name=job.id[:4], output_type=None, outputs=(), **facts)


REFUSALS = ("the operator is not available in the new program", "to new program with max parallelism")
"""What Flink says of state that nobody takes, and of another max parallelism."""


def refused(mapping: StateMapping, allowed: bool) -> bool:
    """Whether Flink refuses what the check found."""
    return bool(mapping.conflicts) or (bool(mapping.lost) and not allowed)


@given(old=JOBS, new=JOBS, before=SETTINGS, now=SETTINGS, allowed=st.booleans())
def test_the_check_and_the_restore_agree(
    old: list[Job], new: list[Job], before: list[Setting], now: list[Setting], allowed: bool
) -> None:
    # Which of two operators in different tasks gets a state that both ask for depends on the order in which tasks come; Flink
    # leaves that to chance, and CMP111 tells of it. Here they come in one order for both sides.
    new.sort(key=lambda job: job.task)
    mapping = map_state(facts(old, before), facts(new, now))
    try:
        restored, plan = map_operators(saved(old, before), physical(new, now), allowed)
    except RestoreRefused:
        assert refused(mapping, allowed)
        return
    assert not refused(mapping, allowed)
    certain = {pair.old.id: pair.new.id for pair in mapping.pairs if pair.old.id not in mapping.contested}
    assert certain.items() <= restored.items()
    for old_id, new_id in restored.items() - certain.items():
        fallbacks = {pair.new.id for pair in (*mapping.contested.get(old_id, ()), *mapping.shadowed)}
        assert new_id in fallbacks
    recorded = {
        operator.id: operator.max_parallelism for operator in facts(old, before).operators if operator.has_state
    }
    for task in plan.tasks:
        own = {spec.id for spec in task.operators}
        taken = {recorded[old_id] for old_id, new_id in certain.items() if new_id in own and old_id in recorded}
        assert taken <= {task.max_parallelism}


@pytest.mark.parametrize("record", some(), ids=lambda record: str(record.seed))
def test_each_state_went_where_the_mapping_says(record: Record) -> None:
    """What real Flink restored: each state held the number of the operator that it had been kept for."""
    old, labels = facts_of_topology(record, record.old)
    for restored in record.restored:
        new, labels_now = facts_of_topology(record, restored.topology)
        mapping = map_state(old, new)
        giver = {labels_now.get(pair.new.node): labels.get(pair.old.node) for pair in mapping.pairs}
        for state, values in restored.seen.items():
            label, _, _ = state.partition("|")
            found = {f"n{value}" for value in values if value != "EMPTY"}
            assert not found or found == {giver.get(label)}, (restored.edits, state)
            assert found or state not in record.kept or giver.get(label) != label, (restored.edits, state)
        said = restored.error or ""
        assert refused(mapping, restored.allow) is any(reason in said for reason in REFUSALS), restored.edits
