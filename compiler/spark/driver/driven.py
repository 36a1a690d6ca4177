"""A job as its driver knows it: the data that the parts of a driver share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from compat.compiler.configuration import parse_duration
from compat.compiler.executiongraph.executions import Executions
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.connectors.sinks import committer_of
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.job_metrics import Measured
from compat.compiler.spark.driver.lease import Lease
from compat.compiler.spark.driver.options import Listener, RunOptions
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.plan import OperatorSpec, PhysicalPlan
from compat.compiler.spark.runtime_api.sinks import Committer
from compat.state.delta.errors import StoreError

TRIES, _A_MOMENT = 3, 0.5
"""The number of attempts, and the seconds between them, to store the end of a job."""
_TIMEOUT = "execution.checkpointing.timeout"
_STANDSTILL, _SHORTEST_STANDSTILL = 2.0, 10.0
"""A job hangs if its thread stands still for this many times the longest epoch, and at least this many seconds."""


class Pulse:
    """Tells whether the job's own thread moves on. ``timeout`` is the seconds that an epoch may take."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._moved = math.inf

    def move(self) -> None:
        """Note that the job's thread goes on to its next step."""
        self._moved = time.monotonic()

    def hold(self) -> None:
        """Until the next move, the job waits for something with a time limit of its own."""
        self._moved = math.inf

    @property
    def hangs(self) -> bool:
        """True if the job's own thread stands still for much longer than an epoch may take: it waits for what never comes.

        Where epochs have no deadline, nobody can tell.
        """
        return time.monotonic() - self._moved > max(_SHORTEST_STANDSTILL, _STANDSTILL * self.timeout)


@dataclass(slots=True)
class DrivenJob:
    """A job as its driver has it. ``lease`` and ``coordinator`` are there once the job is prepared.

    ``records`` is the number that its sources read, ``savepoint`` the last one written. ``cancelled`` is the time of a
    cancellation, in seconds of the monotonic clock; ``abandoned`` is True once the process has to end.
    """

    job_id: str
    plan: PhysicalPlan
    store: JobStore
    options: RunOptions
    listener: Listener
    pulse: Pulse
    executions: Executions
    measured: Measured
    specs: Mapping[str, OperatorSpec]
    plan_json: dict[str, Any] | None = None
    records: int = 0
    status: JobStatus = JobStatus.INITIALIZING
    savepoint: str | None = None
    cancelled: float | None = None
    abandoned: bool = False
    lease: Lease = field(init=False)
    coordinator: CheckpointCoordinator = field(init=False)

    @classmethod
    def of(
        cls,
        job_id: str,
        plan: PhysicalPlan,
        store: JobStore,
        options: RunOptions,
        *,
        checkpointing: bool,
        listener: Listener,
    ) -> DrivenJob:
        """A job that is still to be prepared."""
        specs = {spec.id: spec for _, spec in plan.operators()}
        # an epoch is a checkpoint: Flink's execution.checkpointing.timeout
        pulse = Pulse(parse_duration(plan.options.get(_TIMEOUT, "10 min")) / 1000 if checkpointing else math.inf)
        executions = Executions(plan.execution_graph)
        return cls(job_id, plan, store, options, listener, pulse, executions, Measured(plan), specs)

    @property
    def has_read_all(self) -> bool:
        """True once the job has finished because its sources ended."""
        return self.status is JobStatus.FINISHED and all(source.done for source in self.coordinator.sources.values())

    def now(self) -> int:
        """Milliseconds since 1970 by the clock of the job."""
        return self.options.clock() if self.options.clock is not None else int(time.time() * 1000)

    def tell(self, event: str, **details: Any) -> None:
        """Tell the listener of the job what happens."""
        self.listener({"event": event, "job_id": self.job_id, **details})

    def committer(self, operator_id: str) -> Committer | None:
        """The committer of an operator's output."""
        operator = self.specs[operator_id].operator
        return None if operator is None else committer_of(operator.function)


def insist(work: Callable[[], None]) -> None:
    """Try an action that must not hide how the job ends: a few times while the store fails, then give up."""
    for left in reversed(range(TRIES)):
        with suppress(StoreError, OSError):
            work()
            return
        time.sleep(_A_MOMENT if left else 0.0)
