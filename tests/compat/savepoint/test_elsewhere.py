"""Savepoints on S3, of Flink and of jobs on Spark: checked, shown and read in place, without fsspec's package for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.loader.inputs import opened, read_plan
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, Row, write_rows
from compat.state.flink import SavepointError, inspect, inspect_savepoint
from compat.state.flink.remote import read_savepoint
from compat.state.model.job import Plan
from compat.state.stores.paths import Place, place_of
from compat.tables import read_table
from tests.compat.savepoint.golden import SAVEPOINTS, saved

EXAMPLES = Path(__file__).parents[3] / "compat" / "examples" / "word_count"


@pytest.fixture
def bucket(s3: str, tmp_path: Path) -> Place:
    return place_of(s3) / tmp_path.name


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_of_flink(bucket: Place) -> None:
    case = saved("small_uid_p2_canonical")
    for file in case["path"].iterdir():
        (bucket / "savepoint-1" / file.name).write(file.read_bytes())
    there, here = inspect_savepoint(read_savepoint(str(bucket / "savepoint-1"))), inspect(case["path"])
    assert there["path"] == f"{bucket}/savepoint-1/_metadata"
    for told in (there, here):
        for name in ("path", "folder"):
            told.pop(name, None)
        for each in told["files"]:
            each.pop("path")
    assert there == here
    assert run("inspect", bucket / "nothing").exit_code == 2


def test_of_a_job_on_spark(bucket: Place) -> None:
    """A savepoint whose plan is that of the first version: the second gives its state to another operator."""
    savepoint = bucket / "savepoint-1a2b"
    plan = run("plan", EXAMPLES / "v1.py", "--format", "json").stdout
    counter = next(each["operator_id"] for each in json.loads(plan)["operators"] if each["name"] == "count words")
    log = SnapshotLog.create(savepoint)
    rows = [Row(counter, Kind.VALUE, group, "count", b"%d" % group, b"", b"", b"1") for group in range(3)]
    log.commit(1, [write_rows(log.path, rows, 1)], {"token": "savepoint"})
    (savepoint / "plan.json").write(plan.encode())
    (savepoint / "_savepoint.json").write(b'{"format": 1, "job_id": "1a2b", "job_name": "x", "epoch": 1, "time": 1}')
    for spelling in (f"{savepoint}", f"{savepoint}/", f"{savepoint}/_savepoint.json", f"s3a{str(savepoint)[2:]}@1"):
        with opened(spelling) as given:
            found = read_plan(given)
        assert isinstance(found, Plan)
        assert [state.keys for each in found.operators if each.id == counter for state in each.states or ()] == [3, 0]
    result = run("check", savepoint, EXAMPLES / "v2.py")
    assert result.exit_code == 1
    assert "CMP103" in result.output
    shown = json.loads(run("inspect", savepoint, "--format", "json").stdout)
    assert (shown["job_id"], shown["checkpoint_id"]) == ("1a2b", 1)


def put(bucket: Place, name: str) -> tuple[Path, str]:
    """A savepoint with the files beside it, here and in the bucket."""
    folder = saved(name)["path"]
    for file in SAVEPOINTS.joinpath(name).rglob("*"):
        if file.is_file():
            (bucket / str(file.relative_to(SAVEPOINTS))).write(file.read_bytes())
    return folder, str(bucket / str(folder.relative_to(SAVEPOINTS)))


@pytest.mark.parametrize(
    "name", ["small_uid_p2_canonical", "broadcast_p2_native_files", "small_rocksdb_incremental_checkpoint"]
)
def test_state_of_flink_as_tables(bucket: Place, name: str) -> None:
    folder, there = put(bucket, name)
    here = read_table(str(folder))
    assert here.num_rows > 0
    assert read_table(there).equals(here)
    assert read_table(f"{there}/_metadata").equals(here)
    result = run("state", there, "--format", "json", "--store", bucket / "store")
    assert result.exit_code == 0, result.output
    assert result.stdout == run("state", folder, "--format", "json", "--store", bucket / "store").stdout


def test_files_are_looked_for_in_the_savepoints_own_folder_alone(bucket: Place) -> None:
    """Metadata without its files: those beside it in the bucket are another savepoint's, whatever the metadata says."""
    folder, _ = put(bucket, "broadcast_p2_native_files")
    (bucket / "other" / "_metadata").write((folder / "_metadata").read_bytes())
    with pytest.raises(SavepointError, match="no local file"):
        read_table(str(bucket / "other"))
