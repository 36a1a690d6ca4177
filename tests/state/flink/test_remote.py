"""Savepoints on other storage: what the user names is read there, what a savepoint names is not."""

from __future__ import annotations

import json
import sys

import fsspec
import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.state.flink import NotASavepoint, SavepointError, UnreadableSavepoint, inspect, inspect_savepoint
from compat.state.flink.remote import RemoteFiles, read_savepoint
from compat.state.stores.objects import bucket_at
from tests.compat.savepoint.conftest import saved

FILES = "broadcast_p2_native_files"
CHECKPOINT = "small_rocksdb_incremental_checkpoint"


@pytest.fixture
def bucket():
    """Copies a savepoint into memory, where fsspec finds it; gives its URI."""
    system = fsspec.filesystem("memory")

    def put(name):
        case = saved(name)
        root = case["path"] if case["kind"] == "savepoint" else case["path"].parent
        for file in root.rglob("*"):
            if file.is_file():
                system.pipe(f"/bucket/{name}/{file.relative_to(root)}", file.read_bytes())
        below = "" if root == case["path"] else f"/{case['path'].name}"
        return f"memory://bucket/{name}{below}"

    yield put
    system.rm("/bucket", recursive=True)


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", [FILES, CHECKPOINT, "small_uid_p2_canonical"])
def test_reads_the_same_there_as_here(name, bucket):
    case = saved(name)
    there, here = inspect_savepoint(read_savepoint(bucket(name))), inspect(case["path"])
    assert there.pop("path").startswith("memory://bucket/")
    for place in (there, here):
        place.pop("path", None)
        place.pop("folder")
        for file in place["files"]:
            file.pop("path")
    assert there == here


def test_inspect_and_check_take_a_uri(bucket, tmp_path):
    uri = bucket(FILES)
    (tmp_path / "job.py").write_text(saved(FILES)["program"], encoding="utf-8")
    assert json.loads(run("inspect", uri, "--format", "json").stdout)["missing_files"] == []
    result = run("check", uri, tmp_path / "job.py", "-D", "parallelism.default=2")
    assert result.exit_code == 2  # broadcast states may be of any type
    assert uri in result.stdout
    named = run("check", uri, tmp_path / "job.py", "-D", "parallelism.default=2", "--names", tmp_path / "job.py")
    assert named.exit_code == 0


def test_the_folder_of_a_jobs_checkpoints_is_its_newest_complete_one(bucket):
    uri = bucket(CHECKPOINT)
    job, _, newest = uri.rpartition("/")
    fsspec.filesystem("memory").pipe(f"{job.removeprefix('memory:/')}/chk-999/part", b"it was not completed")
    assert read_savepoint(job).path == f"{job}/{newest}/_metadata"
    assert f"OLD is {newest}, the newest complete checkpoint in {job}." in " ".join(
        run("check", job, job).stdout.split()
    )


def test_what_is_missing_there_is_missing(bucket):
    uri = bucket(FILES)
    system = fsspec.filesystem("memory")
    gone = next(path for path in system.ls(f"/bucket/{FILES}", detail=False) if not path.endswith("_metadata"))
    system.rm(gone)
    result = run("inspect", uri)
    assert result.exit_code == 1
    assert f"{gone.rpartition('/')[2]} (missing)" in result.stdout


def test_names_lead_nowhere_else(bucket):
    system = fsspec.filesystem("memory")
    uri = bucket(FILES)
    data = system.cat_file(f"/bucket/{FILES}/_metadata")
    name = next(path for path in system.ls(f"/bucket/{FILES}", detail=False) if not path.endswith("_metadata"))
    name = name.rpartition("/")[2].encode()
    outside = b"../" + b"x" * (len(name) - 3)
    system.pipe(f"/bucket/{outside[3:].decode()}", b"secret")
    system.pipe(f"/bucket/{FILES}/_metadata", data.replace(name, outside))
    found = inspect_savepoint(read_savepoint(uri))
    assert [file["status"] for file in found["missing_files"]] == ["outside the savepoint"]


def test_an_empty_place_is_no_savepoint():
    with pytest.raises(NotASavepoint, match="no file `_metadata` here"):
        read_savepoint("memory://nowhere")


def test_unknown_storage_says_what_fsspec_says():
    with pytest.raises(UnreadableSavepoint, match="Protocol not known: nosuch"):
        read_savepoint("nosuch://bucket/savepoint")


def test_without_fsspec_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    bucket_at.cache_clear()
    result = run("inspect", "s3://bucket/savepoint-1")
    assert result.exit_code == 2
    assert "fsspec, which is not installed" in result.stderr
    assert "pip install 'stream-compat[remote]'" in result.stderr


def test_the_storages_own_errors_are_ours():
    class Broken:
        def info(self, path):
            raise RuntimeError("the token has expired")

    with pytest.raises(OSError, match="the token has expired"):
        RemoteFiles(Broken()).size("/bucket/file")
    assert issubclass(UnreadableSavepoint, SavepointError)


def first(uri):
    return read_savepoint(uri).operators[0].id


def test_a_remapped_savepoint_refers_to_its_files_there(bucket, tmp_path):
    uri = bucket(FILES)
    result = run("remap", uri, tmp_path / "out", "--map", f"{first(uri)}=other")
    assert result.exit_code == 0, result.stderr
    assert f"{uri}/".encode() in (tmp_path / "out" / "_metadata").read_bytes()


@pytest.mark.parametrize("name", [FILES, CHECKPOINT])
def test_a_remapped_savepoint_is_written_there_with_its_files(name, bucket):
    uri, out = bucket(name), "memory://bucket/deep/out"
    assert run("remap", uri, out, "--map", f"{first(uri)}=other", "--copy").exit_code == 0
    before, after = inspect_savepoint(read_savepoint(uri)), inspect_savepoint(read_savepoint(out))
    assert after["missing_files"] == []
    assert [one["totals"] for one in after["operators"]] == [one["totals"] for one in before["operators"]]
    assert "something is there already" in run("remap", uri, out, "--map", f"{first(uri)}=x", "--copy").stderr


def test_files_of_this_machine_go_there(bucket):
    bucket(FILES)
    here = str(saved(FILES)["path"])
    assert run("remap", here, "memory://bucket/out", "--map", f"{first(here)}=other", "--copy").exit_code == 0
    assert inspect_savepoint(read_savepoint("memory://bucket/out"))["missing_files"] == []


def test_of_a_copy_that_fails_nothing_is_left_there(bucket, monkeypatch):
    uri = bucket(FILES)
    system = fsspec.filesystem("memory")

    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr(type(system), "pipe_file", full)
    result = run("remap", uri, "memory://bucket/out", "--map", f"{first(uri)}=other", "--copy")
    assert result.exit_code == 2
    assert "this storage does not let us write (OSError: no space)" in result.stderr
    assert not system.exists("/bucket/out") or system.find("/bucket/out") == []
