"""The steps that a job and a task may take, and no others."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest

from compat.compiler.errors import FlinkError
from compat.compiler.executiongraph.executions import Executions, aggregate_state
from compat.compiler.executiongraph.states import ExecutionState, JobStatus, next_execution_state, next_job_status
from tests.compiler.graphs import execution_graph, op

TASK_STEPS = {
    "CREATED": "SCHEDULED CANCELED FAILED",
    "SCHEDULED": "DEPLOYING CANCELED FAILED",
    "DEPLOYING": "INITIALIZING CANCELING FAILED",
    "INITIALIZING": "RUNNING CANCELING FAILED",
    "RUNNING": "FINISHED CANCELING FAILED",
    "CANCELING": "CANCELED FAILED",
    "FINISHED": "",
    "CANCELED": "",
    "FAILED": "",
}
JOB_STEPS = {
    "INITIALIZING": "CREATED FAILED CANCELLING SUSPENDED",
    "CREATED": "RUNNING FAILING CANCELLING SUSPENDED",
    "RUNNING": "FAILING CANCELLING FINISHED RESTARTING SUSPENDED",
    "FAILING": "FAILED RESTARTING CANCELLING SUSPENDED",
    "CANCELLING": "CANCELED FAILING SUSPENDED",
    "RESTARTING": "CREATED RUNNING FAILING CANCELLING SUSPENDED",
    "SUSPENDED": "RESTARTING",
    "FAILED": "",
    "CANCELED": "",
    "FINISHED": "",
}


@pytest.mark.parametrize("state", ExecutionState)
def test_a_task_goes_where_it_may(state: ExecutionState) -> None:
    allowed = TASK_STEPS[state.value].split()
    for wanted in ExecutionState:
        if wanted.value in allowed:
            assert next_execution_state(state, wanted) is wanted
        else:
            with pytest.raises(FlinkError, match=f"A task that is {state.value} cannot become {wanted.value}"):
                next_execution_state(state, wanted)
    assert state.terminal is (not allowed)


@pytest.mark.parametrize("status", JobStatus)
def test_a_job_goes_where_it_may(status: JobStatus) -> None:
    allowed = JOB_STEPS[status.value].split()
    for wanted in JobStatus:
        if wanted.value in allowed:
            assert next_job_status(status, wanted) is wanted
        else:
            with pytest.raises(FlinkError, match=f"A job that is {status.value} cannot become {wanted.value}"):
                next_job_status(status, wanted)
    assert status.terminal is (not allowed)


@pytest.mark.parametrize(
    ("states", "together"),
    [
        ("CREATED CREATED", "CREATED"),
        ("SCHEDULED DEPLOYING", "CREATED"),
        ("INITIALIZING RUNNING", "INITIALIZING"),
        ("RUNNING FINISHED", "RUNNING"),
        ("FINISHED CREATED", "RUNNING"),
        ("FINISHED FINISHED", "FINISHED"),
        ("RUNNING CANCELING", "CANCELING"),
        ("CANCELED FINISHED", "CANCELED"),
        ("CANCELED FAILED", "FAILED"),
    ],
)
def test_the_state_of_a_vertex_is_that_of_its_subtasks_together(states: str, together: str) -> None:
    found = Counter(ExecutionState(state) for state in states.split())

    assert aggregate_state(found, 2).value == together


@pytest.fixture
def executions() -> Executions:
    """Of a source with two subtasks and a map with one; time goes on by a second at each look."""
    graph = execution_graph(op("s", "source", name="s"), op("m", "map", "s", name="m", parallelism=1))
    seconds = count()
    return Executions(graph, lambda: float(next(seconds)))


def states(executions: Executions) -> list[str]:
    return [execution.state.value for execution in executions]


def test_subtasks_go_from_created_to_finished(executions: Executions) -> None:
    seen = [states(executions)]
    executions.schedule()
    seen.append(states(executions))
    executions.deploy()
    seen.append(states(executions))
    executions.reported(0, 0, False)
    executions.reported(0, 1, True)
    executions.reported(1, 0, False)
    executions.reported(0, 1, True)
    seen.append(states(executions))

    assert seen == [["CREATED"] * 3, ["SCHEDULED"] * 3, ["DEPLOYING"] * 3, ["RUNNING", "FINISHED", "RUNNING"]]
    executions.finish()
    assert states(executions) == ["FINISHED"] * 3


def test_a_failure_is_that_of_one_subtask_and_ends_the_others(executions: Executions) -> None:
    executions.schedule()
    executions.deploy()
    executions.reported(0, 1, True)
    executions.fail("ValueError: no", 0, 0)
    source, mapped = executions.summary()

    assert states(executions) == ["FAILED", "FINISHED", "CANCELED"]
    assert (source.status, source.tasks, source.failure) == ("FAILED", {"FINISHED": 1, "FAILED": 1}, "ValueError: no")
    assert (mapped.status, mapped.failure) == ("CANCELED", None)
    assert executions.of(0, 0).since > executions.of(0, 1).since


def test_a_failure_of_no_subtask_cancels_all(executions: Executions) -> None:
    executions.schedule()
    executions.deploy()
    executions.fail("Spark was lost")

    assert states(executions) == ["CANCELED"] * 3
    assert [vertex.failure for vertex in executions.summary()] == [None, None]


def test_attempts_are_counted_over_restarts_and_the_cause_is_kept(executions: Executions) -> None:
    executions.schedule()
    for attempt in range(3):
        assert [execution.attempt for execution in executions] == [attempt] * 3
        executions.deploy()
        executions.fail(f"cause {attempt}", 1, 0)
        executions.restart()

    assert states(executions) == ["SCHEDULED"] * 3
    assert [(vertex.attempt, vertex.failure) for vertex in executions.summary()] == [(3, None), (3, "cause 2")]


def test_a_step_that_no_task_takes_is_refused(executions: Executions) -> None:
    executions.cancel()

    with pytest.raises(FlinkError, match="A task that is CANCELED cannot become RUNNING"):
        executions.reported(0, 0, False)
    with pytest.raises(FlinkError, match="A task that is CANCELED cannot become SCHEDULED"):
        executions.schedule()
