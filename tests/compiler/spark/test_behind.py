"""A job whose last commit is gone does not publish the same records again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.driver.job_folders import prove_not_behind
from compat.compiler.spark.driver.restore import open_snapshot
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.stores.paths import place_of
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

LINES = [str(number) for number in range(40)]


class Run:
    """A program that fails at the record 30 the first time; each epoch prints ten."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder

    def __call__(self, **options: object) -> None:
        failed = self.folder / "failed"

        def checked(number: int) -> str:
            if number == 30 and not failed.exists():
                failed.touch()
                raise ValueError("for once")
            return str(number)

        environment = self.cluster.environment(1, program=str(self.folder / "job.py"), epoch_records=10, **options)
        environment.from_collection(list(range(40)), Types.LONG()).map(checked, Types.STRING()).print()
        environment.execute("numbers")

    @property
    def log(self) -> Path:
        """The folder of the commits of the one job."""
        (job,) = (self.folder / "store" / "jobs").iterdir()
        return job / "state" / "_delta_log"


@pytest.fixture
def run(cluster: Cluster, tmp_path: Path) -> Run:
    """It has failed, with three epochs behind it."""
    made = Run(cluster, tmp_path)
    with pytest.raises(JobFailed, match="for once"):
        made()
    assert cluster.lines == LINES[:30]
    return made


def newest(log: Path) -> Path:
    """The newest commit of an epoch."""
    return max(each for each in log.glob("*.json") if b'"add"' in each.read_bytes())


def remove(log: Path) -> None:
    last = newest(log)
    for later in log.glob("*.json"):
        if later.name >= last.name:
            later.unlink()


def empty(log: Path) -> None:
    newest(log).write_bytes(b"")


def remove_all(log: Path) -> None:
    for each in log.iterdir():
        each.unlink()
    log.rmdir()


def test_the_same_command_goes_on(run: Run, cluster: Cluster) -> None:
    run()
    assert cluster.lines == LINES


@pytest.mark.parametrize("harm", [remove, empty, remove_all])
def test_a_job_behind_what_it_published_is_refused(run: Run, cluster: Cluster, harm: Callable[[Path], None]) -> None:
    harm(run.log)
    jobs = run.folder / "store" / "jobs"
    there = sorted(each.name for each in jobs.rglob("*") if each.is_file())
    with pytest.raises(
        StoreError, match=r"(records up to checkpoint 3 are published|is not as it was committed).*compat fsck"
    ):
        run()
    assert cluster.lines == LINES[:30]
    assert sorted(each.name for each in jobs.rglob("*") if each.is_file()) == there


@pytest.mark.parametrize("epoch", [1, 2, 3])
def test_an_empty_commit_of_any_epoch_is_refused(run: Run, cluster: Cluster, epoch: int) -> None:
    commits = sorted(each for each in run.log.glob("*.json") if b'"add"' in each.read_bytes())
    commits[epoch - 1].write_bytes(b"")
    with pytest.raises(StoreError, match=r"is not as it was committed at checkpoint 3.*compat fsck"):
        run()
    assert cluster.lines == LINES[:30]


def test_a_job_that_lost_its_entry_is_not_begun_anew(run: Run, cluster: Cluster) -> None:
    entry = run.log.parents[1] / "job.json"
    whole = entry.read_bytes()
    entry.unlink()
    with pytest.raises(StoreError, match=r"job\.json is damaged or gone.*go on from its state with -s"):
        run()
    assert cluster.lines == LINES[:30]
    entry.write_bytes(whole)
    run()
    assert cluster.lines == LINES


def test_that_its_entry_is_old_hides_nothing(run: Run) -> None:
    remove(run.log)
    entry = run.log.parents[1] / "job.json"
    told = json.loads(entry.read_text())
    del told["digest"]  # as a former version wrote it
    entry.write_text(json.dumps({**told, "epoch": 1}))
    with pytest.raises(StoreError, match="are published"):
        run()


def test_its_last_checkpoint_is_not_restored_elsewhere_unless_it_is_named(run: Run) -> None:
    job = run.log.parents[1]
    remove(run.log)
    with pytest.raises(StoreError, match=f"-s {job}@2 goes on from checkpoint 2 all the same"):
        open_snapshot(str(job))
    assert open_snapshot(f"{job}@2").epoch == 2


def test_a_table_that_was_restored_on_purpose_is_no_damage(run: Run, cluster: Cluster) -> None:
    from deltalake import DeltaTable

    log = SnapshotLog.open(run.log.parent)
    DeltaTable(log.path).restore(log.version_of_epoch(2))
    run()
    assert cluster.lines == LINES[:30] + LINES[20:]


def test_a_reader_that_opened_the_log_before_a_commit_is_not_told_of_damage(run: Run, cluster: Cluster) -> None:
    """The job that runs has committed and published one more since."""
    opened = SnapshotLog.open(run.log.parent)
    run()
    assert opened.epoch == 3
    job = place_of(run.log.parents[1])
    prove_not_behind(job, opened)
    prove_not_behind(job, None)
