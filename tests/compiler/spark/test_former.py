"""Stores that former builds of compat left: jobs, checkpoints and savepoints of each format are opened as our own."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.compiler.spark.driver.fsck import fsck
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.store import JobStore
from compat.state.delta.log import SnapshotLog
from compat.state.delta.savepoint import read_description, remove_savepoint
from compat.state.stores.paths import place_of

FORMATS = Path(__file__).parents[2] / "golden" / "formats"
KEPT = sorted((FORMATS / "stores").glob("*.tar.gz"))
JOB = FORMATS / "job.py"


@pytest.fixture(params=KEPT, ids=lambda path: path.name.removesuffix(".tar.gz"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path / "store", filter="data")
    return tmp_path / "store"


def savepoint_of(store: Path) -> Path:
    (found,) = (store / "savepoints").iterdir()
    return found


def job_of(store: Path) -> JobEntry:
    (found,) = JobStore(store).jobs()
    return found


def test_savepoints_of_each_format_are_kept(tmp_path: Path) -> None:
    formats = set()
    for kept in KEPT:
        with tarfile.open(kept) as archive:
            archive.extractall(tmp_path / kept.name, filter="data")
        formats.add(read_description(savepoint_of(tmp_path / kept.name))["format"])
    assert formats == {1, 2}


def test_all_of_it_is_whole(store: Path) -> None:
    assert sorted((each.kind, each.problems) for each in fsck(str(store))) == [("job", ()), ("savepoint", ())]


def test_the_job_is_listed_with_its_checkpoint(store: Path) -> None:
    job = job_of(store)
    listed = CliRunner().invoke(main, ["list", "--store", str(store)])
    epoch = SnapshotLog.open(JobStore(store).state(job.job_id)).epoch
    assert epoch >= 4
    assert f"{job.job_id} : counting (INTERRUPTED, checkpoint {epoch})" in listed.output


def test_its_state_is_shown(store: Path) -> None:
    counts = list(state_rows(str(savepoint_of(store)), "count"))
    assert len(counts) == 5
    assert len(list(state_rows(JobStore(store).state(job_of(store).job_id), "count"))) == 5


@pytest.mark.parametrize("uid", ["count", "other"])
def test_a_savepoint_is_checked_against_a_program(store: Path, tmp_path: Path, uid: str) -> None:
    program = tmp_path / "job.py"
    program.write_text(JOB.read_text().replace('uid("count")', f'uid("{uid}")'))
    done = CliRunner().invoke(main, ["check", str(savepoint_of(store)), str(program)])
    assert done.exit_code == (0 if uid == "count" else 1), done.output


def test_a_savepoint_is_removed_with_its_files(store: Path) -> None:
    path = savepoint_of(store)
    (path / "another's").write_text("")
    remove_savepoint(place_of(path))
    assert [each.name for each in path.iterdir()] == ["another's"]


def test_an_entry_of_a_later_version_is_read_as_far_as_it_is_known(store: Path) -> None:
    file = JobStore(store).directory(job_of(store).job_id) / "job.json"
    told = json.loads(file.read())
    told.pop("digest", None)
    vertices = [{**each, "later": 1} for each in told.get("vertices", [])]
    file.write(json.dumps({**told, "later": [1], "vertices": vertices}).encode())
    assert job_of(store).epoch == told["epoch"]


@pytest.mark.spark
def test_a_job_goes_on_from_its_savepoint(store: Path, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB.read_text())
    count = max(_counts(str(savepoint_of(store))))
    command = ["run", "job.py", "--store", "after", "--master", "local[1]", "--epochs", "1", "--epoch-records", "20"]
    done = subprocess.run(
        [sys.executable, "-m", "compat", *command, "-s", str(savepoint_of(store))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    after = JobStore(tmp_path / "after")
    (job,) = after.jobs()
    assert max(_counts(after.state(job.job_id))) == count + 4
    printed = [line for line in done.stdout.splitlines() if line.startswith("(")]
    assert sorted(printed) == sorted(f"({key},{count + more})" for key in range(5) for more in range(1, 5))


def _counts(snapshot: str) -> list[int]:
    return [row["value"] for row in state_rows(snapshot, "count")]
