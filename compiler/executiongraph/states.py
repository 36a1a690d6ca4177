"""The life cycles of a job and of a task. Flink: ``JobStatus`` and ``ExecutionState``."""

from __future__ import annotations

from enum import Enum

from compat.compiler.errors import illegal_state


class JobStatus(Enum):
    """The state in a job's life."""

    INITIALIZING = "INITIALIZING"
    CREATED = "CREATED"
    RUNNING = "RUNNING"
    FAILING = "FAILING"
    FAILED = "FAILED"
    CANCELLING = "CANCELLING"
    CANCELED = "CANCELED"
    FINISHED = "FINISHED"
    RESTARTING = "RESTARTING"
    SUSPENDED = "SUSPENDED"

    @property
    def terminal(self) -> bool:
        """True if no state can follow, anywhere."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)


class ExecutionState(Enum):
    """The state in a task's life."""

    CREATED = "CREATED"
    SCHEDULED = "SCHEDULED"
    DEPLOYING = "DEPLOYING"
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELING = "CANCELING"
    CANCELED = "CANCELED"
    FAILED = "FAILED"

    __hash__ = object.__hash__  # each is itself only, and enumerations hash their names slowly

    @property
    def terminal(self) -> bool:
        """True if no state can follow."""
        return self in (ExecutionState.FINISHED, ExecutionState.CANCELED, ExecutionState.FAILED)


_J = JobStatus
_JOB_STEPS: dict[JobStatus, frozenset[JobStatus]] = {
    _J.INITIALIZING: frozenset({_J.CREATED, _J.FAILED, _J.CANCELLING, _J.SUSPENDED}),
    _J.CREATED: frozenset({_J.RUNNING, _J.FAILING, _J.CANCELLING, _J.SUSPENDED}),
    _J.RUNNING: frozenset({_J.FAILING, _J.CANCELLING, _J.FINISHED, _J.RESTARTING, _J.SUSPENDED}),
    _J.FAILING: frozenset({_J.FAILED, _J.RESTARTING, _J.CANCELLING, _J.SUSPENDED}),
    _J.CANCELLING: frozenset({_J.CANCELED, _J.FAILING, _J.SUSPENDED}),
    _J.RESTARTING: frozenset({_J.CREATED, _J.RUNNING, _J.FAILING, _J.CANCELLING, _J.SUSPENDED}),
    _J.SUSPENDED: frozenset({_J.RESTARTING}),
    _J.FAILED: frozenset(),
    _J.CANCELED: frozenset(),
    _J.FINISHED: frozenset(),
}

_E = ExecutionState
_STOPS = frozenset({_E.CANCELING, _E.FAILED})
_TASK_STEPS: dict[ExecutionState, frozenset[ExecutionState]] = {
    _E.CREATED: frozenset({_E.SCHEDULED, _E.CANCELED, _E.FAILED}),
    _E.SCHEDULED: frozenset({_E.DEPLOYING, _E.CANCELED, _E.FAILED}),
    _E.DEPLOYING: _STOPS | {_E.INITIALIZING},
    _E.INITIALIZING: _STOPS | {_E.RUNNING},
    _E.RUNNING: _STOPS | {_E.FINISHED},
    _E.CANCELING: frozenset({_E.CANCELED, _E.FAILED}),
    _E.FINISHED: frozenset(),
    _E.CANCELED: frozenset(),
    _E.FAILED: frozenset(),
}


def next_job_status(current: JobStatus, wanted: JobStatus) -> JobStatus:
    """The status ``wanted``, if a job may enter it from ``current``; raises a refusal of the step otherwise."""
    if wanted not in _JOB_STEPS[current]:
        raise illegal_state(f"A job that is {current.value} cannot become {wanted.value}.")
    return wanted


def next_execution_state(current: ExecutionState, wanted: ExecutionState) -> ExecutionState:
    """The state ``wanted``, if a task may enter it from ``current``; raises a refusal of the step otherwise."""
    if wanted not in _TASK_STEPS[current]:
        raise illegal_state(f"A task that is {current.value} cannot become {wanted.value}.")
    return wanted
