"""Savepoints lie beside one another, and who claims one removes what it lists."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.driver.restore import open_snapshot
from compat.state.delta.errors import StoreError
from compat.state.delta.savepoint import METADATA, remove_savepoint
from compat.state.stores.paths import place_of
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.faults import Killed, failing
from tests.compiler.spark.test_behind import Run


def run(cluster: Cluster, **options: object) -> None:
    """Run an epoch of a job, and stop."""
    environment = cluster.environment(1, epochs=1, epoch_records=3, **options)
    environment.from_collection(list(range(30)), Types.LONG()).uid("source").print()
    environment.execute("numbers")


@pytest.fixture
def three(cluster: Cluster, tmp_path: Path) -> list[Path]:
    """Three savepoints of a job, in a folder that was not there."""
    run(cluster)
    return [Path(cluster.last.master.take_savepoint(str(tmp_path / "given"))) for _ in range(3)]


def test_each_savepoint_has_a_folder_of_its_own_in_the_given_one(three: list[Path], tmp_path: Path) -> None:
    assert {each.parent for each in three} == {tmp_path / "given"}
    assert len({each.name for each in three if each.name.startswith("savepoint-")}) == 3


def test_the_others_are_whole_when_one_was_claimed(three: list[Path], cluster: Cluster) -> None:
    run(cluster, savepoint=str(three[0]), claim=True)
    assert not three[0].exists()
    assert [open_snapshot(str(each)).epoch for each in three[1:]] == [1, 1]
    assert cluster.lines == [str(number) for number in range(6)]


@pytest.mark.parametrize("within", ["", "deeper", "_delta_log"])
def test_no_savepoint_is_made_within_another(three: list[Path], cluster: Cluster, within: str) -> None:
    with pytest.raises(StoreError, match=f"cannot be a directory for savepoints: {three[0]} is a savepoint"):
        cluster.last.master.take_savepoint(str(three[0] / within))
    state = cluster.last.master.job.coordinator.log.path
    with pytest.raises(StoreError, match="is a savepoint or a table"):
        cluster.last.master.take_savepoint(state)


@pytest.mark.parametrize("listing", [True, False])
def test_what_somebody_else_put_there_stays(three: list[Path], listing: bool) -> None:
    (three[0] / "notes.txt").write_text("mine")
    (three[0] / "_delta_log" / "more").mkdir()
    if not listing:  # as the first format was
        told = json.loads((three[0] / METADATA).read_text())
        (three[0] / METADATA).write_text(json.dumps({**told, "format": 1, "files": None}))
    remove_savepoint(place_of(three[0]))
    assert sorted(each.name for each in three[0].rglob("*")) == ["_delta_log", "more", "notes.txt"]


@pytest.mark.parametrize("name", ["../other", "/etc/passwd", "a/../../other", "", ".", "a\\b", 5, "elsewhere/other"])
def test_a_list_that_leads_elsewhere_removes_nothing(three: list[Path], name: object) -> None:
    other = three[0].parent / "other"
    other.write_text("mine")
    (three[0] / "elsewhere").symlink_to(three[0].parent)
    told = json.loads((three[0] / METADATA).read_text())
    (three[0] / METADATA).write_text(json.dumps({**told, "files": [*told["files"], name]}))
    before = sorted(three[0].parent.rglob("*"))
    with pytest.raises(StoreError, match=r"which is no file of the savepoint\. Nothing was removed"):
        remove_savepoint(place_of(three[0]))
    assert sorted(three[0].parent.rglob("*")) == before


def test_a_driver_that_died_before_it_removed_what_it_claimed_is_followed_by_one_that_does(
    three: list[Path], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed = {"savepoint": str(three[0]), "claim": True, "program": "job.py"}
    with monkeypatch.context() as patched:
        patched.setattr(CheckpointCoordinator, "commit", failing(CheckpointCoordinator.commit, 1, False, Killed()))
        with pytest.raises(Killed):
            run(cluster, **claimed)
    assert three[0].exists()
    run(cluster, **claimed)
    assert not three[0].exists()
    assert all(each.exists() for each in three[1:])


def test_a_job_is_claimed_by_what_the_store_has_of_it(cluster: Cluster, tmp_path: Path) -> None:
    job = interrupted(cluster, tmp_path)
    run_numbers(cluster, savepoint=str(job), claim=True)
    assert not job.exists()


def test_neither_an_older_checkpoint_nor_a_copy_is_claimed(cluster: Cluster, tmp_path: Path) -> None:
    job = interrupted(cluster, tmp_path)
    copy = shutil.copytree(job, tmp_path / "copy")
    for path in (f"{job}@2", copy):
        with pytest.raises(StoreError, match="cannot be claimed"):
            run_numbers(cluster, savepoint=str(path), claim=True)
    assert job.exists()


def test_that_it_cannot_be_removed_is_no_failure(
    three: list[Path], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compat.compiler.spark.driver.recovery.give_up", refusing)
    run(cluster, savepoint=str(three[0]), claim=True)
    assert [each["text"] for each in cluster.events if each["event"] == "note"] == [
        f"The claimed snapshot {three[0]} is not removed: the storage is away"
    ]


def refusing(snapshot: object) -> None:
    raise OSError("the storage is away")


def interrupted(cluster: Cluster, tmp_path: Path) -> Path:
    """The directory of a job that has failed, at checkpoint 3."""
    with pytest.raises(JobFailed, match="for once"):
        Run(cluster, tmp_path)()
    (job,) = (tmp_path / "store" / "jobs").iterdir()
    return job


def run_numbers(cluster: Cluster, **options: object) -> None:
    """The program of the job that failed, which fails no more, as a new job."""
    Run(cluster, cluster.directory)(fresh=True, **options)
