"""Requests to a running job: a savepoint, a stop with a savepoint, a cancellation."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.driven import DrivenJob
from compat.compiler.spark.driver.life_cycle import LifeCycle
from compat.compiler.spark.driver.mailbox import Mailbox, send
from compat.compiler.spark.driver.savepoints import Savepoint, savepoint_of
from compat.compiler.spark.driver.upkeep import Upkeep
from compat.state.delta.errors import StoreError
from compat.state.stores.paths import Place

_RESTARTS = "The job restarts after a failure: it can be stopped with a savepoint once its tasks run again."


@dataclass(slots=True)
class Stop:
    """A wish to end the job with a savepoint. ``answer`` is where another process waits for what happens to it.

    ``refused`` says why the job goes on instead.
    """

    drain: bool
    path: str | None
    answer: Place | None = None
    refused: str = ""

    @classmethod
    def requested(cls, answer: Place, request: Mapping[str, Any]) -> Stop:
        """The request of another process."""
        return cls(request.get("drain", False), request.get("path"), answer)


class Requests:
    """The requests to one job. ``drain`` is True once its sources should end, for a stop with drain."""

    def __init__(self, job: DrivenJob, life: LifeCycle, upkeep: Upkeep) -> None:
        self._job, self._life, self._upkeep = job, life, upkeep
        self.drain = False
        self._mailbox = Mailbox(job.store.directory(job.job_id))
        self._stopping: list[Stop] = []
        self._asked: deque[tuple[Place, dict[str, Any]]] = deque()
        self._cancels: list[Place] = []

    def hear(self) -> None:
        """Accept requests of other processes; the job's own thread carries them out."""
        for answer, request in self._mailbox.requests():
            if request["action"] == "cancel":
                self._cancels.append(answer)
                self.cancel()
            else:
                self._asked.append((answer, request))

    def cancel(self) -> None:
        """End the job, without a savepoint: after the present epoch if that takes moments only."""
        self._job.cancelled = self._job.cancelled or time.monotonic()

    def stop(self, drain: bool, path: str | None) -> Stop:
        """End the job with a savepoint; the result says whether that was refused."""
        asked = Stop(drain, path)
        self._stopping.append(asked)
        return asked

    def answer(self) -> bool:
        """Carry out the requests; True when the job has ended by one of them."""
        while self._asked:
            answer, request = self._asked.popleft()
            try:
                if request["action"] == "savepoint":
                    self._begin_savepoint(answer, request.get("path"))
                else:
                    self._stopping.append(Stop.requested(answer, request))
            except StoreError as error:
                send(answer, {"error": str(error)})
        self.drain = self.drain or any(asked.drain for asked in self._stopping)
        if self.drain or not self._stopping:
            return False
        return self.stop_now(self._stopping)

    def end_input(self) -> None:
        """End the job, whose tasks have all ended: with a savepoint if one is requested."""
        self._upkeep.finish_savepoints(self._job.coordinator)
        if self._stopping:
            self.stop_now(self._stopping)
            return
        self._life.end(JobStatus.FINISHED)
        self._life.tell_finished()

    def end_cancelled(self) -> None:
        """End the job as cancelled."""
        self._life.end(JobStatus.CANCELED)
        for answer in self._cancels:
            send(answer, {"status": self._job.status.value})
        self._life.tell_stopped(None)

    def stop_now(self, asked: list[Stop]) -> bool:
        """End the job with a savepoint; False if it cannot be written, and then the job goes on."""
        self._upkeep.finish_savepoints(self._job.coordinator)
        try:
            path = self.take_savepoint(asked[0].path)
        except StoreError as error:
            if all(each.answer is None for each in asked):
                raise
            self._refuse_stops(f"{error} The job goes on.")
            return False
        self._life.end(JobStatus.FINISHED, stopped_with=path)
        for each in asked:
            if each.answer is not None:
                send(each.answer, {"path": path})
        self._life.tell_stopped(path)
        return True

    def take_savepoint(self, path: str | None = None) -> str:
        """Write a savepoint of the last committed epoch; gives its path."""
        written = self._upkeep.take(self._savepoint_of(path))
        self._savepoint_written(written)
        return written

    def refuse_stops(self) -> None:
        """Refuse stops with a savepoint while the job restarts, even if they were requested before it failed.

        Flink: ``CheckpointFailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING``. A savepoint alone is one of the last commit.
        """
        if self.drain and self._job.coordinator.ended:
            return  # some have come to their end by it, and cannot go on
        for _ in range(len(self._asked)):  # others may be added meanwhile
            answer, request = self._asked.popleft()
            if request["action"] == "savepoint":
                self._asked.append((answer, request))
            else:
                self._stopping.append(Stop.requested(answer, request))
        self._refuse_stops(_RESTARTS)

    def _refuse_stops(self, reason: str) -> None:
        """Answer whoever wants the job to end with a savepoint that it goes on."""
        refused, self._stopping, self.drain = self._stopping, [], False
        for each in refused:
            each.refused = reason
            if each.answer is not None:
                send(each.answer, {"error": reason})

    def _begin_savepoint(self, answer: Place, path: str | None) -> None:
        """Write a savepoint that was asked for, and answer then."""

        def done(result: str | StoreError) -> None:
            if isinstance(result, StoreError):
                send(answer, {"error": str(result)})
            else:
                self._savepoint_written(result)
                send(answer, {"path": result})

        self._upkeep.begin(self._savepoint_of(path), done)

    def _savepoint_of(self, path: str | None) -> Savepoint:
        return savepoint_of(self._job.coordinator, self._job.store, path, self._job.plan_json)

    def _savepoint_written(self, path: str) -> None:
        self._job.savepoint = path
        self._job.tell("savepoint", path=path)
