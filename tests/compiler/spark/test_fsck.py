"""All that jobs keep is verified: jobs, savepoints, what was published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.driver.fsck import fsck
from compat.state.delta.errors import StoreError
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.test_behind import Run, newest


@pytest.fixture
def store(cluster: Cluster, tmp_path: Path) -> Path:
    """A store with an unfinished job, and a savepoint of another one."""
    with pytest.raises(JobFailed, match="for once"):
        Run(cluster, tmp_path)()
    environment = cluster.environment(1, epochs=1, epoch_records=3)
    environment.from_collection(list(range(9)), Types.LONG()).print()
    environment.execute("another")
    return tmp_path / "store"


def test_a_whole_store(store: Path) -> None:
    found = list(fsck(str(store)))
    kinds = sorted((each.kind, each.epoch, each.problems) for each in found)
    assert kinds == [("job", 1, ()), ("job", 3, ()), ("savepoint", 1, ())]
    told = CliRunner().invoke(main, ["fsck", str(store)])
    assert (told.exit_code, told.output.count(": whole")) == (0, 3)


def test_a_damaged_file_and_a_lost_commit_are_told(store: Path) -> None:
    job = next(each for each in (store / "jobs").iterdir() if "numbers" in (each / "job.json").read_text())
    lost = newest(job / "state" / "_delta_log")
    file = next(each for each in (job / "state").glob("*.parquet") if each.name not in lost.read_text())
    lost.write_bytes(b"")
    file.write_bytes(file.read_bytes()[:-4] + b"RAP1")
    told = CliRunner().invoke(main, ["fsck", str(job), "--format", "json"])
    assert told.exit_code == 1
    (found,) = json.loads(told.output)
    assert len(found["problems"]) == 2
    assert [text for text in found["problems"] if "is empty or damaged" in text]


def test_a_damaged_entry_is_told(store: Path) -> None:
    job = next((store / "jobs").iterdir())
    entry = job / "job.json"
    entry.write_text(entry.read_text().replace('"name": "', '"name": "m'))
    (found,) = fsck(str(job))
    assert [text for text in found.problems if "is damaged: it is not what was written" in text]


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is no store"):
        list(fsck(str(tmp_path)))
    told = CliRunner().invoke(main, ["fsck", str(tmp_path)])
    assert (told.exit_code, told.stdout) == (2, "")
