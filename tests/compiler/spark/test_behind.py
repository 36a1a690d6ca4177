"""A job whose last commit is gone does not publish the same records again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compat.compiler.spark.driver.master import JobFailed
from compat.compiler.spark.driver.restore import open_snapshot
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
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
    there = sorted(each.name for each in run.folder.rglob("*") if each.is_file())
    with pytest.raises(StoreError, match=r"records up to checkpoint 3 are\s+published.*compat fsck"):
        run()
    assert cluster.lines == LINES[:30]
    assert sorted(each.name for each in run.folder.rglob("*") if each.is_file()) == there


def test_that_its_entry_is_old_hides_nothing(run: Run) -> None:
    remove(run.log)
    entry = run.log.parents[1] / "job.json"
    entry.write_text(entry.read_text().replace('"epoch": 3', '"epoch": 1'))
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
