"""The attempts at a job's subtasks, each with its life cycle. Flink: ``Execution`` and ``ExecutionVertex``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec import Struct, field

from compat.compiler.executiongraph.graph import ExecutionGraph, ExecutionVertex
from compat.compiler.executiongraph.states import ExecutionState, next_execution_state

_E = ExecutionState
_PATH = (_E.CREATED, _E.SCHEDULED, _E.DEPLOYING, _E.INITIALIZING, _E.RUNNING, _E.FINISHED)
"""The states of a subtask that nothing happens to."""


@dataclass(slots=True)
class Execution:
    """One attempt at a subtask. ``attempt`` counts from 0; ``since`` is its last state change, in seconds since 1970."""

    vertex: ExecutionVertex
    attempt: int
    since: float
    state: ExecutionState = ExecutionState.CREATED
    failure: str | None = None

    def to(self, state: ExecutionState, now: float) -> None:
        """Enter a state. Raises a refusal of a step that tasks do not take."""
        self.state = next_execution_state(self.state, state)
        self.since = now

    def advance(self, state: ExecutionState, now: float) -> bool:
        """Enter a state through all states before it that were not reported. False if it is in that state already."""
        if self.state is state:
            return False
        if self.state not in _PATH or _PATH.index(self.state) > _PATH.index(state):
            next_execution_state(self.state, state)
        for step in _PATH[_PATH.index(self.state) + 1 : _PATH.index(state) + 1]:
            self.to(step, now)
        return True

    def cancel(self, now: float) -> None:
        """Cancel it, unless it has ended."""
        if self.state.terminal:
            return
        if self.state not in (_E.CREATED, _E.SCHEDULED):
            self.to(_E.CANCELING, now)
        self.to(_E.CANCELED, now)

    def fail(self, cause: str, now: float) -> None:
        """End it with the cause of its failure."""
        self.to(_E.FAILED, now)
        self.failure = cause


class VertexStatus(Struct, frozen=True, kw_only=True):
    """The status of a vertex, from its subtasks. ``tasks`` counts them by state; ``since`` is when the last one changed.

    ``failure`` is the cause of the last failure of one of them, the ``failed`` one, in this attempt or an earlier one.
    """

    id: str
    name: str
    parallelism: int
    status: str
    attempt: int
    since: float
    tasks: dict[str, int] = field(default_factory=dict)
    failure: str | None = None
    failed: int | None = None

    @property
    def failed_task(self) -> str | None:
        """The name of the subtask that failed, as in reports: subtasks of a vertex are counted from 1."""
        return None if self.failed is None else f"{self.name} ({self.failed + 1}/{self.parallelism})"


class Executions:
    """The present attempt at every subtask of a job. A subtask is named by the number of its vertex and its own."""

    def __init__(self, graph: ExecutionGraph, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.attempt = 0
        self._vertices = [
            [Execution(subtask, 0, clock()) for subtask in vertex.subtasks()] for vertex in graph.vertices
        ]
        self._failures: dict[int, tuple[int, str]] = {}

    def __iter__(self) -> Iterator[Execution]:
        for vertex in self._vertices:
            yield from vertex

    def of(self, vertex: int, subtask: int) -> Execution:
        """The present attempt at a subtask."""
        return self._vertices[vertex][subtask]

    def schedule(self) -> None:
        """Schedule all of them."""
        self._advance(_E.SCHEDULED)

    def deploy(self) -> bool:
        """Deploy waiting executions to their slots; False if there were none."""
        now = self._clock()
        waiting = [execution for execution in self if execution.state is _E.SCHEDULED]
        for execution in waiting:
            execution.to(_E.DEPLOYING, now)
        return bool(waiting)

    def told(self, vertex: int, subtask: int, state: ExecutionState) -> None:
        """Take a subtask's report that it entered a state. One that is further already stays there: it was run twice."""
        execution = self.of(vertex, subtask)
        if execution.state in _PATH and _PATH.index(execution.state) < _PATH.index(state):
            execution.advance(state, self._clock())

    def reported(self, vertex: int, subtask: int, ended: bool) -> bool:
        """Take a subtask's sign that it restored its state and runs, or has come to the end of its input. False for no news."""
        return self.of(vertex, subtask).advance(_E.FINISHED if ended else _E.RUNNING, self._clock())

    def fail(self, cause: str, vertex: int | None = None, subtask: int | None = None) -> None:
        """Fail the job, in a subtask or in none of them: the others are cancelled, except finished ones."""
        now = self._clock()
        if vertex is not None and subtask is not None and not self.of(vertex, subtask).state.terminal:
            self.of(vertex, subtask).fail(cause, now)
            self._failures[vertex] = subtask, cause
        self.cancel()

    def cancel(self) -> None:
        """Cancel all that have not ended."""
        now = self._clock()
        for execution in self:
            execution.cancel(now)

    def finish(self) -> None:
        """Finish all, including those that were stopped in the middle of their input."""
        self._advance(_E.FINISHED)

    def restart(self) -> None:
        """Schedule a new attempt at every subtask."""
        self.attempt += 1
        now = self._clock()
        self._vertices = [
            [Execution(execution.vertex, self.attempt, now) for execution in vertex] for vertex in self._vertices
        ]
        self.schedule()

    def summary(self) -> list[VertexStatus]:
        """The status of every vertex, in the order of the ExecutionGraph."""
        return [self._status(number, vertex) for number, vertex in enumerate(self._vertices)]

    def _status(self, number: int, executions: list[Execution]) -> VertexStatus:
        states = Counter(execution.state for execution in executions)
        subtask = executions[0].vertex
        failed, failure = self._failures.get(number, (None, None))
        return VertexStatus(
            id=subtask.vertex,
            name=subtask.name,
            parallelism=subtask.of,
            status=aggregate_state(states, subtask.of).value,
            attempt=self.attempt,
            since=max(execution.since for execution in executions),
            tasks={state.value: states[state] for state in ExecutionState if states[state]},
            failure=failure,
            failed=failed,
        )

    def _advance(self, state: ExecutionState) -> None:
        now = self._clock()
        for execution in self:
            execution.advance(state, now)


def aggregate_state(states: Counter[ExecutionState], parallelism: int) -> ExecutionState:
    """The state of a vertex whose subtasks are in ``states``. Flink: ``getAggregateJobVertexState``."""
    for state in (_E.FAILED, _E.CANCELING, _E.CANCELED, _E.INITIALIZING, _E.RUNNING):
        if states[state]:
            return state
    if states[_E.FINISHED]:
        return _E.FINISHED if states[_E.FINISHED] == parallelism else _E.RUNNING
    return _E.CREATED
