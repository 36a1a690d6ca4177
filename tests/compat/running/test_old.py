"""The copy of a snapshot that a check reads later, when the job may have deleted it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from compat.running import old
from compat.running.jobs import Asked
from compat.state.flink import inspect
from tests.compat.running.clusters import answers, cluster
from tests.compat.savepoint.golden import saved

FILES = saved("broadcast_p2_native_files")["path"]


def test_a_copy_outlives_the_snapshot(tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    shutil.copytree(FILES, tmp_path / "chk-7")
    with cluster(answers(path=f"file:{tmp_path}/chk-7")) as told:
        found = old.old_job(f"flink:{told.url}", Asked(), str(tmp_path / "copies")).savepoint
    shutil.rmtree(tmp_path / "chk-7")
    contents = inspect(found.copy)
    assert contents["missing_files"] == []
    assert [one["id"] for one in contents["operators"]] == [one.id for one in found.recorded.operators]
    assert (
        found.recorded.metadata == f"file:{tmp_path}/chk-7" or found.recorded.metadata == f"{tmp_path}/chk-7/_metadata"
    )


def test_a_large_state_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old, "_LARGEST_COPY", 10)
    with cluster(answers(path=f"file:{FILES}")) as told:
        assert old.old_job(f"flink:{told.url}", Asked(), str(tmp_path)).savepoint.copy == ""
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_with_a_file_that_is_missing_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    shutil.copytree(FILES, tmp_path / "chk-7")
    gone = next(file for file in (tmp_path / "chk-7").iterdir() if file.name != "_metadata")
    gone.unlink()
    with cluster(answers(path=f"file:{tmp_path}/chk-7")) as told:
        found = old.old_job(f"flink:{told.url}", Asked(), str(tmp_path / "copies")).savepoint
    assert found.copy == ""
    assert found.recorded.operators
