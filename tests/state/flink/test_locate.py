"""State files are found after a move, and never outside the savepoint's folders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from compat.state.flink import (
    MissingStateFile,
    NotASavepoint,
    RefusedStateFile,
    Savepoint,
    inspect,
    list_files,
    read_metadata,
)
from compat.state.flink.handles import RelativeFile, StateFile
from compat.state.flink.streams import read_window
from tests.state.flink import writer as w

CHECKPOINT = w.properties("CheckpointType", "Checkpoint")


def saved_in(folder: Path, *streams: bytes, tail: bytes | None = None) -> Savepoint:
    """A savepoint of one operator whose subtasks have these streams."""
    subtasks = [w.subtask(i, managed_operator=w.operator_stream(s)) for i, s in enumerate(streams)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "_metadata").write_bytes(w.metadata(w.operator(*subtasks), tail=tail))
    return read_metadata(folder)


def statuses(savepoint: Savepoint) -> list[str]:
    return [file.location.status for file in list_files(savepoint)]


def test_a_moved_savepoint_or_checkpoint_is_complete(saved: dict[str, Any], golden: Path, tmp_path: Path) -> None:
    shutil.copytree(golden / saved["name"], tmp_path / "moved")
    folder = tmp_path / "moved" / Path(saved["folder"]).relative_to(saved["name"])
    found = inspect(folder)
    assert found["missing_files"] == []
    assert all(file["path"].startswith(str(tmp_path)) for file in found["files"])


@pytest.mark.parametrize(
    ("name", "removed"),
    [
        ("broadcast_p2_native_files", "2bd9e9c8-5abd-40c4-add0-bd4579be7ec4"),
        ("small_rocksdb_incremental_checkpoint", "shared"),
        ("small_file_merging_checkpoint", "taskowned"),
    ],
)
def test_missing_files_are_listed_and_the_rest_is_told(golden: Path, tmp_path: Path, name: str, removed: str) -> None:
    shutil.copytree(golden / name, tmp_path / name)
    gone = tmp_path / name / removed
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    (metadata,) = (tmp_path / name).rglob("_metadata")
    found = inspect(metadata.parent)
    assert found["missing_files"] != []
    assert all(removed in file["name"] and file["status"] == "missing" for file in found["missing_files"])
    assert len(found["operators"]) == len(inspect(golden / metadata.parent.relative_to(tmp_path))["operators"])


def test_the_folder_of_a_jobs_checkpoints_means_its_newest_complete_one(tmp_path: Path) -> None:
    for name in ("chk-9", "chk-10", "savepoint-11"):
        saved_in(tmp_path / name)
    (tmp_path / "chk-11").mkdir()
    (tmp_path / "shared").mkdir()
    assert read_metadata(tmp_path).folder == str(tmp_path / "chk-10")
    with pytest.raises(NotASavepoint, match="no file `_metadata` here"):
        read_metadata(tmp_path / "shared")


def test_uris_of_a_checkpoint_are_found_by_their_last_parts(tmp_path: Path) -> None:
    for name in ("job/chk-3/own", "job/shared/s", "job/taskowned/deep/t"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(10))
    uris = ("s3://b/old/chk-3/own", "hdfs://nn/old/shared/s", "file:/old/taskowned/deep/t", "/old/chk-3/own")
    savepoint = saved_in(tmp_path / "job" / "chk-3", *map(w.file, uris), tail=CHECKPOINT)
    assert statuses(savepoint) == ["local"] * 4


@pytest.mark.parametrize(
    "uri",
    [
        "file:/mnt/shared/ckpt/job/chk-3/own",
        "file:///mnt/100%25 #1?/chk-3/own",
        "s3://shared/own",
        "C:\\ckpt\\chk-3\\own",
    ],
)
def test_the_folders_above_may_be_called_anything(tmp_path: Path, uri: str) -> None:
    savepoint = saved_in(tmp_path / "job" / "chk-3", w.file(uri), tail=CHECKPOINT)
    (tmp_path / "job" / "chk-3" / "own").write_bytes(bytes(10))
    assert statuses(savepoint) == ["local"]


def test_remote_files_are_shown_and_not_fetched(tmp_path: Path) -> None:
    savepoint = saved_in(tmp_path, w.file("s3://bucket/savepoint/a", 50))
    found = inspect(tmp_path)
    assert statuses(savepoint) == ["remote"]
    assert found["missing_files"] == []
    assert found["files"][0]["name"] == "s3://bucket/savepoint/a"
    (handle,) = found["operators"][0]["subtasks"][0]["managed_operator"]
    assert "no local file" in handle["backend_error"]


def test_a_file_that_is_too_short_is_missing(tmp_path: Path) -> None:
    savepoint = saved_in(tmp_path, w.relative("a", 11), w.segment("file:/x/b", 5, 6), w.relative("c", 10))
    for name in "abc":
        (tmp_path / name).write_bytes(bytes(10))
    assert statuses(savepoint) == ["shorter than recorded", "shorter than recorded", "local"]
    assert [f.missing for f in list_files(savepoint)] == [True, True, False]


def test_a_segment_is_read_from_its_place(tmp_path: Path) -> None:
    header = w.operator_header([w.state_meta("s", 1)])
    savepoint = saved_in(tmp_path, w.segment("file:/x/merged", 100, len(header)))
    (tmp_path / "merged").write_bytes(bytes(100) + header + bytes(100))
    (handle,) = inspect(savepoint.folder)["operators"][0]["subtasks"][0]["managed_operator"]
    assert handle["backend"]["operator_states"][0]["name"] == "s"


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "link", "folder/secret", "\0"])
def test_relative_names_do_not_leave_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(bytes(10))
    folder = tmp_path / "savepoint"
    savepoint = saved_in(folder, w.relative(name))
    (folder / "a").mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path, target_is_directory=True)
    assert statuses(savepoint) == ["outside the savepoint"]
    with pytest.raises(RefusedStateFile):
        read_window(savepoint, RelativeFile(name, 10), 0, 10)


@pytest.mark.parametrize("uri", ["file:/old/shared/../secret", "file:/x/shared/link", "file:/x/.."])
def test_uris_do_not_leave_the_folders(tmp_path: Path, uri: str) -> None:
    (tmp_path / "secret").write_bytes(bytes(10))
    savepoint = saved_in(tmp_path / "job" / "chk-1", w.file(uri), tail=CHECKPOINT)
    (tmp_path / "job" / "shared").mkdir()
    (tmp_path / "job" / "shared" / "link").symlink_to(tmp_path / "secret")
    assert statuses(savepoint) == ["outside the savepoint"]


def test_an_absolute_uri_opens_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(10))
    savepoint = saved_in(tmp_path / "savepoint", w.file(f"file:{tmp_path}/secret"))
    assert statuses(savepoint) == ["missing"]
    with pytest.raises(MissingStateFile):
        read_window(savepoint, StateFile(f"file:{tmp_path}/secret", 10), 0, 10)


@pytest.mark.parametrize(("folder", "found"), [("chk-3", ["local"]), ("savepoint-3", ["missing"])])
def test_without_properties_the_folder_tells_a_checkpoint(tmp_path: Path, folder: str, found: list[str]) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "s").write_bytes(bytes(10))
    without = w.JAVA_STREAM + w.JAVA_NULL
    assert statuses(saved_in(tmp_path / folder, w.file("file:/old/shared/s", 10), tail=without)) == found


def test_a_savepoint_does_not_reach_for_shared_folders(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "s").write_bytes(bytes(10))
    assert statuses(saved_in(tmp_path / "savepoint", w.file("file:/x/shared/s"))) == ["missing"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    savepoint = saved_in(tmp_path, w.relative("pipe"))
    os.mkfifo(tmp_path / "pipe")
    assert statuses(savepoint) == ["missing"]
