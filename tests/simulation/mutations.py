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

from deltalake import CommitProperties

from compat.compiler.spark.connectors.files.sink import FileCommitter
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.source_coordinator import SourceCoordinator
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.task import epochs
from compat.compiler.spark.task.published import Written
from compat.state.delta import log
from compat.state.delta.log import SnapshotLog

Patch = tuple[Any, str, Any]
_restore = CheckpointCoordinator.restore
_commit = CheckpointCoordinator.commit
_sweep = FileCommitter.sweep
_follow = epochs.follow
_save = Memory.save


def _restore_without_output(self: CheckpointCoordinator, *, exact: bool) -> None:
    _restore(self, exact=exact)
    self.pending.clear()


def _commit_behind_the_output(self: CheckpointCoordinator, epoch: int, token: str, reports: Any, records: int) -> None:
    for each in (each for report in reports for each in report.published):
        if isinstance(each, Written):
            for hidden, final, _ in each.committables:
                os.replace(hidden, final)
    _commit(self, epoch, token, reports, records)


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
    "sources start over after a crash": [(SourceCoordinator, "restore", _nothing)],
    "what tasks sent is not held against what arrived": [(epochs, "why_not_whole", _nothing)],
    "runs of a task are not told apart, and see what came later": [
        (epochs, "as_run_of", lambda token, run: token),
        (epochs, "SnapshotLog", SimpleNamespace(open=lambda path, version=None: SnapshotLog.open(path))),
    ],
    "memory is used wherever it stands": [(epochs, "_goes_on", lambda *_: True)],
    "a replica is said to have what is only in memory": [(Memory, "save", _save_nothing)],
    "replicas are believed wherever they stand": [(epochs, "follow", _follow_anything)],
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
