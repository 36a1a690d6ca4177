"""Faults in our own protocol, each of which the simulation has to find."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties
from msgspec.structs import replace

from compat.compiler.spark.connectors.files.sink import FileCommitter
from compat.compiler.spark.connectors.kafka import sink as kafka_sink
from compat.compiler.spark.connectors.kafka import source as kafka_source
from compat.compiler.spark.connectors.kafka.sink import TransactionCommitter
from compat.compiler.spark.driver import restore
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.driver.source_coordinator import SourceCoordinator
from compat.compiler.spark.runtime_api.published import Written
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.task import epochs
from compat.state.delta import log
from compat.state.delta.compaction import Compaction
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, Row, table_of

Patch = tuple[Any, str, Any]
_restore = CheckpointCoordinator.restore
_commit = CheckpointCoordinator.commit
_sweep = FileCommitter.sweep
_follow = epochs.follow
_groups = epochs.key_groups_of_subtask
_import = restore.import_snapshot
_consumer_settings = kafka_source.consumer_settings
_publish_transaction = TransactionCommitter._publish
_save = Memory.save
_merge = Compaction.commit


def _restore_without_output(self: CheckpointCoordinator, *, exact: bool) -> None:
    _restore(self, exact=exact)
    self.pending.clear()


def _commit_behind_the_output(self: CheckpointCoordinator, epoch: int, token: str, reports: Any, records: int) -> None:
    for each in (each for report in reports for each in report.published):
        if isinstance(each, Written):
            for hidden, final, _ in each.committables:
                os.replace(hidden, final)
    _commit(self, epoch, token, reports, records)


def _merged_with_what_came_since(self: Compaction, log: Any, made: Any, metadata: Any) -> bool:
    return _merge(replace(self, files=tuple(log.files())), log, made, metadata)


def _follow_anything(replica: Any, wanted: Any, *rest: Any) -> str:
    if replica.position is None or replica.position.epoch < 1:
        return str(_follow(replica, wanted, *rest))
    replica.apply({}, replica.position, wanted)
    return "current"


def _save_nothing(self: Memory, position: Any) -> None:
    self._entries.clear()
    _save(self, position)


def _publish_copies(self: FileCommitter, committables: list[Any], transaction: tuple[str, int]) -> None:
    for hidden, final, _ in committables:
        shutil.copy(hidden, f"{final}-{uuid.uuid4().hex}")


def _without_transaction(custom_metadata: Any, app_transactions: Any) -> CommitProperties:
    return CommitProperties(custom_metadata=custom_metadata)


class _WithFiredTimers(Changes):
    """Changes that forget which timers fired."""

    def all_rows(self) -> list[Row]:
        return [row for row in super().all_rows() if row.kind != Kind.EVENT_TIMER or row.value is not None]

    def table(self, epoch: int) -> Any:
        return table_of(self.all_rows(), epoch)


def _follow_without_windows(replica: Any, wanted: Any, changes: Any, *rest: Any) -> str:
    def some(after: int) -> Iterator[pa.Table]:
        return (rows.filter(pc.equal(pc.binary_length(rows["namespace"]), 0)) for rows in changes(after))

    return str(_follow(replica, wanted, some, *rest))


def _import_without_timers(source: Any, target: Any, operators: Any, left: Any, *rest: Any) -> list[Any]:
    return _import(source, target, operators, left | {Kind.EVENT_TIMER}, *rest)


def _publish_without_a_mark(
    self: TransactionCommitter, producer: Any, group: Any, marker: Any, paths: list[str]
) -> None:
    producer.begin_transaction()
    for message in (message for path in paths for message in kafka_sink._messages(path)):
        kafka_sink._produce(producer, *message)
    producer.commit_transaction()


def _publish_in_parts(self: TransactionCommitter, producer: Any, group: Any, marker: Any, paths: list[str]) -> None:
    for path in paths:
        _publish_transaction(self, producer, group, marker, [path])


def _uncommitted_settings(properties: Any) -> dict[str, Any]:
    return {**_consumer_settings(properties), "isolation.level": "read_uncommitted"}


def _nothing(*_: Any, **__: Any) -> None:
    """Does nothing."""


MUTATIONS: dict[str, list[Patch]] = {
    "an epoch is committed twice": [(log, "CommitProperties", _without_transaction)],
    "output of the last epoch is not published after a crash": [
        (CheckpointCoordinator, "restore", _restore_without_output)
    ],
    "output is published before the commit": [(CheckpointCoordinator, "commit", _commit_behind_the_output)],
    "output is published again under another name": [(FileCommitter, "commit", _publish_copies)],
    "output that waits is swept away": [
        (FileCommitter, "sweep", lambda self, job_id, epoch, pending: _sweep(self, job_id, epoch, ()))
    ],
    "nothing is swept": [(FileCommitter, "sweep", _nothing)],
    "nothing of the state is swept": [(SnapshotLog, "sweep", _nothing)],
    "sources start over after a crash": [(SourceCoordinator, "restore", _nothing)],
    "what tasks sent is not held against what arrived": [(epochs, "why_not_whole", _nothing)],
    "runs of a task are not told apart, and see what came later": [
        (epochs, "as_run_of", lambda token, run: token),
        (epochs, "SnapshotLog", SimpleNamespace(open=lambda path, version=None: SnapshotLog.open(path))),
    ],
    "memory is used wherever it stands": [(epochs, "_goes_on", lambda *_: True)],
    "a replica is said to have what is only in memory": [(Memory, "save", _save_nothing)],
    "a compaction takes the place of what was committed since": [(Compaction, "commit", _merged_with_what_came_since)],
    "replicas are believed wherever they stand": [(epochs, "follow", _follow_anything)],
    "key groups are those of another parallelism": [
        (epochs, "key_groups_of_subtask", lambda most, parallelism, subtask: _groups(most, parallelism + 1, subtask))
    ],
    "a savepoint is restored without its timers": [(restore, "import_snapshot", _import_without_timers)],
    "timers that fired are not removed": [(epochs, "Changes", _WithFiredTimers)],
    "a replica is made anew without its windows": [(epochs, "follow", _follow_without_windows)],
    "Kafka is not told which epochs it has": [(TransactionCommitter, "_publish", _publish_without_a_mark)],
    "an epoch is produced in several transactions": [(TransactionCommitter, "_publish", _publish_in_parts)],
    "what is not committed is read from Kafka": [(kafka_source, "consumer_settings", _uncommitted_settings)],
    "a driver that takes a job over fences nobody": [(SnapshotLog, "lead", _nothing)],
    "a driver that was held to be dead writes the entry": [(JobEntry, "yields_to", lambda *_: False)],
    "a driver that was held to be dead sweeps": [(Output, "_is_behind", lambda self: False)],
}
"""What is replaced by what."""


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """While this is entered, the execution has a fault."""
    patches = [patch.object(*one) for one in MUTATIONS[name]]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()
