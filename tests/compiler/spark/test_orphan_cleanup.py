"""Files that attempts write behind the end of their job: the start of another one removes them, and nothing else."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.serialization import Encoder
from compat.compiler.datastream.connectors.file_system import BucketAssigner, FileSink
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.connectors.files.sink import FileCommitter
from compat.compiler.spark.connectors.sinks import SinkFolder
from compat.compiler.spark.driver import orphan_cleanup
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.orphan_cleanup import PATIENCE, Remains
from compat.compiler.spark.driver.store import JobStore
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import write_rows
from compat.state.stores.local import LocalFiles
from tests.compiler.spark.conftest import Cluster

OVER = (JobStatus.CANCELED, JobStatus.FINISHED)
TO_GO_ON = (JobStatus.FAILED, JobStatus.RUNNING, JobStatus.RESTARTING)


class Left:
    """A job with a note, and what its attempts left: ``files`` are a file of its sink, and one of its state."""

    def __init__(self, folder: Path, status: JobStatus | None) -> None:
        self.store, self.job_id = JobStore(folder / "store"), uuid.uuid4().hex
        self.sink = folder / "out"
        self.sink.mkdir(exist_ok=True)
        log = SnapshotLog.create(self.store.state(self.job_id))
        named = write_rows(log.path, [], 1)
        log.commit(1, [named], {})
        unnamed = write_rows(log.path, [], 1)
        self.named = Path(log.path, named.path)
        self.hidden = self.sink / f".part-0.{self.job_id}-4.inprogress"
        self.hidden.write_text("nobody's")
        self.files = [self.hidden, Path(log.path, unnamed.path)]
        if status is not None:
            self.store.write(JobEntry(job_id=self.job_id, name="counting", status=status.value, pid=1))
        sinks = (SinkFolder("filesystem", str(self.sink)), SinkFolder("delta", str(folder / "no table")))
        orphan_cleanup.note(self.store, Remains(job_id=self.job_id, state=log.path, sinks=sinks))
        self.note = folder / "store" / "ended" / f"{self.job_id}.json"

    def sweep(self, seconds: float = PATIENCE + 1) -> None:
        """Another job starts, so long after."""
        orphan_cleanup.sweep(self.store, time.time() + seconds)


@pytest.mark.parametrize("status", [*OVER, None])
def test_what_a_job_that_is_over_left_goes(tmp_path: Path, status: JobStatus | None) -> None:
    left = Left(tmp_path, status)
    published, others = left.sink / "part-0", left.sink / f".part-0.{uuid.uuid4().hex}-4.inprogress"
    published.write_text("a result")
    others.write_text("of a job that runs")
    left.sweep()
    assert not any(file.exists() for file in left.files)
    assert all(file.exists() for file in (left.named, published, others))
    assert not left.note.exists()


@pytest.mark.parametrize("status", TO_GO_ON)
def test_what_a_job_that_may_go_on_left_stays(tmp_path: Path, status: JobStatus) -> None:
    left = Left(tmp_path, status)
    left.sweep()
    assert all(file.exists() for file in left.files)
    left.store.write(JobEntry(job_id=left.job_id, name="counting", status=JobStatus.CANCELED.value, pid=1))
    left.sweep()
    assert not any(file.exists() for file in left.files)


def test_attempts_have_time_to_come_to_their_end(tmp_path: Path) -> None:
    left = Left(tmp_path, JobStatus.CANCELED)
    left.sweep(PATIENCE / 2)
    assert left.note.exists()
    left.sweep()
    assert not left.hidden.exists()


def test_nothing_is_removed_of_a_job_of_which_nobody_can_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = Left(tmp_path, JobStatus.RUNNING)
    entry = Path(left.store.directory(left.job_id), "job.json")
    whole = entry.read_text()
    entry.write_text(whole[:9])
    left.sweep()
    entry.write_text(whole)
    real = LocalFiles.read

    def away(self: LocalFiles, path: str) -> bytes:
        if path == str(entry):
            raise TimeoutError("the store is away")
        return real(self, path)

    monkeypatch.setattr(LocalFiles, "read", away)
    left.sweep()
    assert all(file.exists() for file in (*left.files, left.note))


def test_a_note_that_is_damaged_or_of_what_is_gone_is_in_nobodys_way(tmp_path: Path) -> None:
    first, second = Left(tmp_path, JobStatus.CANCELED), Left(tmp_path, JobStatus.CANCELED)
    first.note.write_text('{"job_id": ')
    second.store.discard(second.job_id)
    second.sweep()
    assert first.hidden.exists()
    assert not second.hidden.exists()
    assert list(first.note.parent.iterdir()) == []


@pytest.mark.parametrize("status", [JobStatus.FAILED, JobStatus.CANCELED])
def test_a_note_is_forgotten_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: JobStatus) -> None:
    """Of a job that failed and was left as it is, or of a folder that is never reached again."""

    def away(*_: Any) -> None:
        raise PermissionError("no access")

    left = Left(tmp_path, status)
    monkeypatch.setattr(FileCommitter, "sweep", away)
    left.sweep()
    assert left.note.exists()
    left.sweep(orphan_cleanup.FORGOTTEN + 1)
    assert not left.note.exists()
    assert left.hidden.exists()


def _program(cluster: Cluster, folder: Path, **options: Any) -> None:
    env = cluster.environment(epoch_records=2, **options)
    sink = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    numbers = env.from_collection(list(range(6))).map(str)
    numbers.sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    env.execute()


def test_a_job_removes_what_attempts_of_one_before_it_wrote_behind_its_end(tmp_path: Path, cluster: Cluster) -> None:
    out = tmp_path / "out"
    _program(cluster, out)
    job_id, written = cluster.last.master.job.job_id, sorted(out.iterdir())
    hidden = out / f".part-1.{job_id}-1.inprogress"
    hidden.write_text("late")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orphan_cleanup, "PATIENCE", -1.0)
        _program(cluster, tmp_path / "elsewhere")
    assert sorted(out.iterdir()) == written


def test_no_note_is_left_while_output_waits_to_be_published(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        cluster.last.master.cancel()
        raise StoreError("the folder is away")

    monkeypatch.setattr(FileCommitter, "commit", refuse)
    with pytest.raises(Exception, match="cancelled"):
        _program(cluster, tmp_path / "out")
    assert cluster.last.master.job.status is JobStatus.CANCELED
    assert not list((tmp_path / "store").glob("ended/*"))
    assert list((tmp_path / "out").glob(".*.inprogress"))
