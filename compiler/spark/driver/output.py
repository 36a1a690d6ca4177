"""The output of a job's sinks: verified before a commit, published after it, and removed if an attempt left it behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, assert_never

from compat.compiler.spark.connectors.sinks import folder_of, prove_output
from compat.compiler.spark.driver import orphan_cleanup
from compat.compiler.spark.driver.driven import DrivenJob, insist
from compat.compiler.spark.plan import OperatorSpec
from compat.compiler.spark.runtime_api.published import Collected, Printed, SentBack, Written
from compat.compiler.spark.runtime_api.sinks import ProvingCommitter
from compat.compiler.spark.task.stream_task import TaskReport
from compat.compiler.transformations.operators import LegacySink, SinkWriter
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog


class Output:
    """The output of one job. ``printer`` gets lines, ``collector`` gets records."""

    def __init__(self, job: DrivenJob, printer: Callable[[str], None], collector: Callable[[list[Any]], None]) -> None:
        self._job, self._printer, self._collector = job, printer, collector

    def prove(self, reports: list[TaskReport]) -> None:
        """Raise a StoreError unless the writers' files are where they are published from: after the commit they are lost."""
        for each in (each for report in reports for each in report.published):
            if isinstance(each, Written) and (operator := self._job.specs[each.operator_id].operator) is not None:
                prove_output(operator.function, each.committables)

    def hand_out(self, reports: list[TaskReport]) -> None:
        """Hand over the printed and collected records."""
        for report in reports:
            for each in report.published:
                match each:
                    case Printed(lines):
                        for line in lines:
                            self._printer(line)
                    case Collected(values):
                        self._collector(values)
                    case SentBack() | Written():
                        pass  # in the commit
                    case _:
                        assert_never(each)

    def publish(self) -> None:
        """Publish the output of the last epoch's writers; after a failure, once more. Raises StoreError."""
        coordinator = self._job.coordinator
        for each in coordinator.pending:
            committer, name = self._job.committer(each.operator_id), self._job.specs[each.operator_id].name
            try:
                if committer is not None:
                    committer.commit(each.committables, (each.transaction, coordinator.epoch))
            except Exception as error:
                raise StoreError(
                    f"What operator {name!r} wrote cannot be published: {type(error).__name__}: {error}. "
                    "Nothing is lost: it is published when the job goes on."
                ) from error
        coordinator.pending.clear()

    def sweep(self) -> None:
        """Remove what attempts left that failed, or whose driver died: only what is still to be published counts.

        A driver that was held to be dead removes nothing: what it does not know of is of the one that has the job now.
        """
        job = self._job
        if self._is_behind():
            return
        with suppress(StoreError):
            job.coordinator.log.sweep()
        pending = {
            path
            for each in job.coordinator.pending
            if isinstance(committer := job.committer(each.operator_id), ProvingCommitter)
            for path, _ in committer.files(each.committables)
        }
        for spec in self._sinks():
            committer = job.committer(spec.id)
            if isinstance(committer, ProvingCommitter):
                with suppress(OSError):
                    committer.sweep(job.job_id, job.coordinator.epoch, pending)

    def note_remains(self) -> None:
        """Leave a note for later jobs to look for late output of this job's attempts. Unpublished output stays."""
        job = self._job
        if job.coordinator.pending or job.lease.lost:
            return
        sinks = [folder_of(spec.operator.function) for spec in self._sinks() if spec.operator is not None]
        found = tuple(dict.fromkeys(folder for folder in sinks if folder is not None))
        noted = orphan_cleanup.Remains(job_id=job.job_id, state=job.coordinator.log.path, sinks=found)
        insist(lambda: orphan_cleanup.note(job.store, noted))

    def _sinks(self) -> list[OperatorSpec]:
        operators = (spec for _, spec in self._job.plan.operators())
        return [spec for spec in operators if isinstance(spec.operator, LegacySink | SinkWriter)]

    def _is_behind(self) -> bool:
        """True if somebody else committed an epoch of the job since this driver did, or it cannot be told."""
        known = self._job.coordinator
        try:
            log = SnapshotLog.open(known.log.path)
            return log.epoch != known.epoch or log.next_epoch != known.log.next_epoch
        except StoreError:
            return True
