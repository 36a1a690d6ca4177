"""The state of a job that the driver keeps between epochs, and its way into and out of the snapshot log.

Flink: ``CheckpointCoordinator``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from compat.compiler.spark.driver.source_coordinator import SourceCoordinator
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.runtime_api.internal_states import COMMITTABLES, FEEDBACK, STATES, WATERMARK
from compat.compiler.spark.runtime_api.published import Collected, Printed, SentBack, Written
from compat.compiler.spark.task.stream_task import TaskReport, subtask_name
from compat.compiler.streamgraph.graph import Task
from compat.state.delta.compaction import COMPACT_AFTER, Compaction, decide
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.replica import Position
from compat.state.delta.rows import NO_KEY_GROUP, DataFile, Kind, Row, read_rows, write_rows
from compat.state.names import SOURCE_READER
from compat.state.serializers import dump, key_codec_of, load


class Pending(Struct, frozen=True):
    """The output that an operator's writers wrote in the last epoch, to be published under the name of a transaction."""

    operator_id: str
    transaction: str
    committables: list[Any]


class CheckpointCoordinator:
    """Holds the operators' small state and makes an epoch's one commit.

    ``bytes`` are those of all files of the state, ``added`` those of the last epoch's.
    """

    def __init__(self, plan: PhysicalPlan, log: SnapshotLog, job_id: str) -> None:
        self.plan = plan
        self.log = log
        self.job_id = job_id
        self.sources: dict[str, SourceCoordinator] = {}
        for task, spec in plan.operators():
            if spec.is_source and spec.operator is not None:
                self.sources[spec.id] = SourceCoordinator(task, spec)
        self.runtimes: dict[tuple[int, int], bytes] = {}
        self.floors: dict[str, int] = {}
        self.described: dict[str, dict[str, Any]] = {}
        self.feedback: dict[int, list[Any]] = {}
        self.pending: list[Pending] = []
        self.ended: set[tuple[int, int]] = set()
        self.position = Position(0, "")
        self._runs: dict[str, str] = {}
        files = log.files()
        self.files, self.bytes = len(files), sum(file.size for file in files)
        self.added = 0
        self._settled = 0
        self._written: dict[tuple[str, str, str, bytes], bytes | None] = {}

    @property
    def epoch(self) -> int:
        """The last committed epoch."""
        return self.position.epoch

    @property
    def runs(self) -> dict[tuple[int, int], str]:
        """The runs of subtasks that the last committed epoch is made of."""
        places = ((task.vertex, subtask) for task in self.plan.tasks for subtask in range(task.parallelism))
        return {place: self._runs[name] for place in places if (name := subtask_name(*place)) in self._runs}

    def restore(self, *, exact: bool) -> None:
        """Take over the state in the log; ``exact`` if the same plan wrote it, so that tasks continue where they were."""
        epoch = self.log.epoch
        if epoch == 0:
            return
        self.position = Position(epoch, self.log.tokens().get(epoch) or new_token())
        self._runs = self.log.runs()
        rows = self._read(epoch)
        self._written = {(row.operator_id, row.kind, row.state, row.map_key): row.value for row in rows}
        by_state: dict[tuple[str, str], dict[bytes, bytes]] = {}
        for row in rows:
            if row.value is not None:
                by_state.setdefault((row.operator_id, row.state), {})[row.map_key] = row.value
        for id, source in self.sources.items():
            source.restore(by_state.get((id, SOURCE_READER), {}))
        for _, spec in self.plan.operators():
            if data := by_state.get((spec.id, STATES), {}).get(b""):
                self.described[spec.id] = {state["name"]: state for state in json.loads(data)["states"]}
            if data := by_state.get((spec.id, WATERMARK), {}).get(b""):
                self.floors[spec.id] = json.loads(data)
            if spec.loop is not None and (data := by_state.get((spec.id, FEEDBACK), {}).get(b"")):
                self.feedback[spec.loop] = load(data)
            if data := by_state.get((spec.id, COMMITTABLES), {}).get(b""):
                written, transaction, committables = load(data)
                if written == epoch and committables:
                    self.pending.append(Pending(spec.id, transaction, committables))
        for task in self.plan.tasks:
            blobs = by_state.get((task.operators[0].id, Kind.TASK), {})
            names = [b"%d/%d" % (subtask, task.parallelism) for subtask in range(task.parallelism)]
            if exact and all(name in blobs for name in names):
                for subtask, name in enumerate(names):
                    self.runtimes[(task.vertex, subtask)] = blobs[name]
                    if load(blobs[name])["ended"]:
                        self.ended.add((task.vertex, subtask))

    def _read(self, epoch: int) -> list[Row]:
        """The rows of no key group that the driver wrote, each as it was last."""
        latest: dict[Any, Row] = {}
        for table in self.log.read(lambda file: file.key_groups[0] < 0, _of_driver):
            for row in read_rows(table):
                latest[(row.operator_id, row.kind, row.state, row.map_key)] = row
        return list(latest.values())

    def commit(self, epoch: int, token: str, reports: Iterable[TaskReport], records: int) -> None:
        """Make the changes of an epoch durable, all or none."""
        reports = list(reports)
        rows: list[Row] = []
        files: list[DataFile] = []
        watermarks: dict[str, list[int]] = {}
        feedback: dict[int, list[Any]] = {}
        pending: dict[str, list[Any]] = {}
        for report in reports:
            if isinstance(report.rows, DataFile):
                files.append(report.rows)
            else:
                rows += report.rows
            self.runtimes[(report.vertex, report.subtask)] = report.runtime
            if report.ended:
                self.ended.add((report.vertex, report.subtask))
            task = self.plan.tasks[report.vertex]
            name = b"%d/%d" % (report.subtask, task.parallelism)
            self._put(rows, task.operators[0].id, Kind.TASK, Kind.TASK, name, report.runtime)
            for id, mark in report.watermarks.items():
                watermarks.setdefault(id, []).append(mark)
            for id, states in report.states.items():
                known = self.described.setdefault(id, {})
                known.update({state["name"]: state for state in states})
            if report.source is not None:
                self.sources[report.source].report(report.splits, report.records)
            for each in report.published:
                match each:
                    case SentBack(loop, subtask, values, timestamps):
                        feedback.setdefault(loop, []).append((subtask, values, timestamps))
                    case Written(operator_id, committables):
                        pending.setdefault(operator_id, []).extend(committables)
                    case Printed() | Collected():
                        pass  # handed out once the epoch is committed
                    case _:
                        assert_never(each)
        self._add_small_state(rows, watermarks, feedback, pending, epoch)
        if rows:
            files.append(write_rows(self.log.path, rows, epoch))
        runs = {report.name: report.run for report in reports}
        if not self.log.commit(epoch, files, {"token": token, "records": records, "runs": runs}):
            raise StoreError(
                f"Epoch {epoch} of {self.log.path} was committed by another process that runs the same job."
            )
        self.position, self._runs = Position(epoch, token), runs
        self.files += len(files)
        self.added = sum(file.size for file in files)
        self.bytes += self.added
        self.feedback = feedback
        self.pending = [Pending(id, self._transaction(id), data) for id, data in pending.items() if data]
        for source in self.sources.values():
            source.notify_checkpoint_complete()

    def _transaction(self, operator_id: str) -> str:
        return f"{self.job_id}-{operator_id}"

    @property
    def pickled(self) -> frozenset[str]:
        """The operators whose keys are pickled."""
        return frozenset(
            spec.id
            for _, spec in self.plan.operators()
            if spec.key_type is not None and not key_codec_of(spec.key_type.field_types[0]).canonical
        )

    def compaction(self) -> Compaction | None:
        """The compaction of the log, if many files were added since the last one; else None."""
        if self.files - self._settled < COMPACT_AFTER:
            return None
        found = decide(self.log)
        if len(found.files) > 1:
            return found
        self.settle()
        return None

    def compacted(self, compaction: Compaction, made: Sequence[DataFile]) -> None:
        """Commit a finished compaction, unless another process rewrote the log. Raises StoreError."""
        compaction.commit(self.log, made, {"token": self.position.token, "runs": self._runs})
        self.settle()

    def settle(self) -> None:
        """Count the files anew: only files added from now on lead to the next compaction."""
        files = self.log.files()
        self.files, self.bytes = len(files), sum(file.size for file in files)
        self._settled = self.files

    def _add_small_state(
        self,
        rows: list[Row],
        watermarks: Mapping[str, list[int]],
        feedback: Mapping[int, list[Any]],
        pending: Mapping[str, list[Any]],
        epoch: int,
    ) -> None:
        for id, source in self.sources.items():
            for name, value in source.changes():
                self._put(rows, id, Kind.OPERATOR, SOURCE_READER, name, value)
        for task, spec in self.plan.operators():
            reached = watermarks.get(spec.id, ())
            if len(reached) == task.parallelism:  # an operator has passed a point once all of its subtasks have
                self._put(rows, spec.id, Kind.OPERATOR, WATERMARK, b"", b"%d" % min(reached))
            if spec.loop is not None and spec.is_source:
                self._put(rows, spec.id, Kind.OPERATOR, FEEDBACK, b"", dump(feedback.get(spec.loop, [])))
            facts = {
                "name": spec.name,
                "uid": spec.uid,
                "user_hash": spec.user_hash,
                "replayed": spec.task is Task.LEGACY_SOURCE,
                "parallelism": task.parallelism,
                "max_parallelism": task.max_parallelism,
                "states": list(self.described.get(spec.id, {}).values()),
            }
            self._put(rows, spec.id, Kind.OPERATOR, STATES, b"", json.dumps(facts).encode())
        for id, committables in pending.items():
            entry = dump((epoch, self._transaction(id), committables))
            self._put(rows, id, Kind.OPERATOR, COMMITTABLES, b"", entry)

    def _put(self, rows: list[Row], id: str, kind: str, state: str, name: bytes, value: bytes) -> None:
        """Write a row unless it says what was written before."""
        place = (id, kind, state, name)
        if self._written.get(place) != value:
            self._written[place] = value
            rows.append(Row(id, kind, NO_KEY_GROUP, state, b"", b"", name, value))


def new_token() -> str:
    """A new token, which identifies an attempt at an epoch."""
    return uuid.uuid4().hex[:16]


def _of_driver(table: pa.Table) -> pa.Table:
    kinds = pc.is_in(table["kind"], pa.array([Kind.OPERATOR, Kind.TASK]))
    return table.filter(pc.and_(pc.equal(table["key_group"], NO_KEY_GROUP), kinds))
