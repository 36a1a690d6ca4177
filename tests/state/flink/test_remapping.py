"""A savepoint under other ids in another folder: its state files are found from there, or go along."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.state.flink import (
    Changes,
    DamagedSavepoint,
    Draft,
    MissingStateFile,
    NewId,
    NotWritten,
    RefusedStateFile,
    Remapped,
    SavepointError,
    StateCopy,
    inspect,
    list_files,
    read_draft,
    read_metadata,
    self_contained,
    with_references,
    write_folder,
)
from compat.state.flink.storage import LOCAL_FILES
from tests.state.flink import writer as w

CHECKPOINT = w.properties("CheckpointType", "Checkpoint")
OLD, NEW = w.OPERATOR_ID.hex(), "ab" * 16
IDS = Changes(ids={OLD: NewId(NEW, "new")})


def saved_in(folder: Path, *streams: bytes, tail: bytes | None = None) -> Draft:
    """A savepoint of one operator whose subtasks have these streams."""
    subtasks = [w.subtask(i, managed_operator=w.operator_stream(s)) for i, s in enumerate(streams)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "_metadata").write_bytes(w.metadata(w.operator(*subtasks), tail=tail))
    return read_draft(read_metadata(folder))


def with_files(folder: Path, *names: str, tail: bytes | None = None) -> Draft:
    draft = saved_in(folder, *map(w.relative, names), tail=tail)
    for at, name in enumerate(names):
        (folder / name).write_bytes(bytes([at]) * 10)
    return draft


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def compared(found: dict[str, Any]) -> list[Any]:
    """What is known of the operators of a savepoint, apart from ids and places."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            apart = ("id", "uid", "path", "relative_path", "class")
            return {key: plain(inner) for key, inner in value.items() if key not in apart}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    return [plain(operator) for operator in found["operators"]]


@pytest.mark.parametrize("copied", [False, True], ids=["referred", "copied"])
def test_all_state_is_read_from_the_new_folder(
    saved: dict[str, Any], golden: Path, tmp_path: Path, copied: bool
) -> None:
    # Where it is now: the files of checkpoints have absolute names, of the machine that wrote them.
    shutil.copytree(golden / saved["name"], tmp_path / "moved")
    folder = tmp_path / "moved" / Path(saved["folder"]).relative_to(saved["name"])
    draft = read_draft(read_metadata(folder))
    ids = {operator.id: NewId(operator.id[::-1]) for operator in draft.savepoint.operators}
    absolute = any(not hasattr(file, "relative_path") for file in draft.files())
    if copied and draft.merges_files:
        with pytest.raises(NotWritten, match="merged"):
            self_contained(draft, Changes(ids=ids))
        return
    write_folder(
        str(tmp_path / "out"),
        self_contained(draft, Changes(ids=ids)) if copied else with_references(draft, Changes(ids=ids)),
    )
    found, before = inspect(tmp_path / "out"), inspect(folder)
    assert [operator["id"] for operator in found["operators"]] == [o["id"][::-1] for o in before["operators"]]
    if copied or not (absolute or draft.merges_files):
        assert compared(found) == compared(before)
        assert found["missing_files"] == []
    if copied:
        shutil.rmtree(tmp_path / "moved")
        (tmp_path / "out").rename(tmp_path / "elsewhere")
        assert inspect(tmp_path / "elsewhere")["missing_files"] == []


def test_relative_names_become_absolute_ones(tmp_path: Path) -> None:
    made = with_references(with_files(tmp_path / "savepoint", "a"), IDS)
    assert w.file(f"file:{tmp_path}/savepoint/a") in made.metadata
    assert made.references
    assert made.copies == ()


def test_absolute_names_stay(tmp_path: Path) -> None:
    draft = saved_in(tmp_path, w.file("hdfs://nn/a"), w.segment("file:/x/b"), w.file("file:/gone/c"))
    assert with_references(draft, Changes(ids={OLD: NewId(OLD)})).metadata == draft.data


def test_a_location_is_believed(tmp_path: Path) -> None:
    """The `_metadata` alone was fetched, the rest stays where Flink finds it."""
    made = with_references(saved_in(tmp_path, w.relative("a")), IDS, "s3a://bucket/savepoint-1/")
    assert w.file("s3a://bucket/savepoint-1/a") in made.metadata


@pytest.mark.parametrize("make", [with_references, self_contained])
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("gone", MissingStateFile),
        ("../secret", RefusedStateFile),
        ("/etc/passwd", RefusedStateFile),
        ("link", RefusedStateFile),
        ("a\0", RefusedStateFile),
        ("short", MissingStateFile),
    ],
)
def test_files_that_are_not_there_or_lead_out(
    tmp_path: Path, make: Any, name: str, error: type[SavepointError]
) -> None:
    (tmp_path / "secret").write_bytes(bytes(10))
    draft = saved_in(tmp_path / "savepoint", w.relative(name))
    (tmp_path / "savepoint" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "savepoint" / "short").write_bytes(b"1")
    with pytest.raises(error):
        make(draft, IDS)


def test_a_name_that_becomes_too_long_is_refused(tmp_path: Path) -> None:
    draft = saved_in(tmp_path, w.relative("a/" * 32_000))
    with pytest.raises(DamagedSavepoint, match="cannot be written anew"):
        with_references(draft, IDS, "s3://" + "b" * 2_000)


@pytest.mark.parametrize("name", ["../secret", "a/../../b", "link/../../x"])
def test_a_location_is_not_left(tmp_path: Path, name: str) -> None:
    with pytest.raises(RefusedStateFile):
        with_references(saved_in(tmp_path / "savepoint", w.relative(name)), IDS, "s3://bucket/savepoint-1")


def test_a_checkpoint_is_copied_with_what_it_shares(tmp_path: Path) -> None:
    job = tmp_path / "job"
    for at, name in enumerate(("chk-3/x", "shared/x", "taskowned/X")):
        (job / name).parent.mkdir(parents=True, exist_ok=True)
        (job / name).write_bytes(bytes([at]) * 10)
    uris = ("file:/old/chk-3/x", "file:/old/shared/x", "file:/old/taskowned/X", "file:/old/shared/x")
    draft = saved_in(job / "chk-3", *map(w.file, uris), tail=CHECKPOINT)
    write_folder(str(tmp_path / "out"), self_contained(draft, IDS))
    shutil.rmtree(job)
    assert {name: data[:1] for name, data in contents(tmp_path / "out").items() if name != "_metadata"} == {
        "x": b"\0",
        "x-2": b"\1",
        "X-3": b"\2",
    }
    assert [file.location.status for file in list_files(read_metadata(tmp_path / "out"))] == ["local"] * 3


def test_a_state_file_is_never_taken_for_the_metadata(tmp_path: Path) -> None:
    draft = saved_in(tmp_path / "savepoint", w.relative("_metadata"))
    write_folder(str(tmp_path / "out"), self_contained(draft, IDS))
    assert set(contents(tmp_path / "out")) == {"_metadata", "_metadata-2"}
    assert read_metadata(tmp_path / "out").operators[0].id == NEW


@pytest.mark.parametrize("occupied", ["file", "folder", "link", "savepoint"])
def test_nothing_is_written_over(tmp_path: Path, occupied: str) -> None:
    draft = with_files(tmp_path / "savepoint", "a")
    out = tmp_path / ("savepoint" if occupied == "savepoint" else "out")
    if occupied == "file":
        out.write_text("mine")
    elif occupied == "folder":
        out.mkdir()
        (out / "mine").touch()
    elif occupied == "link":
        (tmp_path / "empty").mkdir()
        out.symlink_to(tmp_path / "empty")
    before = contents(tmp_path)
    with pytest.raises(NotWritten, match="something is there already"):
        write_folder(str(out), with_references(draft, IDS))
    assert contents(tmp_path) == before


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write_folder(str(tmp_path / "out"), with_references(with_files(tmp_path / "savepoint", "a"), IDS))
    assert list(contents(tmp_path / "out")) == ["_metadata"]


def test_nothing_is_left_of_a_copy_that_fails(tmp_path: Path) -> None:
    made = self_contained(with_files(tmp_path / "savepoint", "a", "b"), IDS)
    (tmp_path / "savepoint" / "b").write_bytes(b"cut")
    with pytest.raises(MissingStateFile, match="3 bytes of 10"):
        write_folder(str(tmp_path / "out"), made)
    assert os.listdir(tmp_path) == ["savepoint"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    made = Remapped(b"", (StateCopy("gone", "a", 1),), False, LOCAL_FILES)
    for folder in (tmp_path / "file" / "out", f"{tmp_path}/a\0b"):
        with pytest.raises(NotWritten):
            write_folder(str(folder), made)


def test_files_of_another_savepoint_are_found(tmp_path: Path) -> None:
    draft = with_files(tmp_path / "savepoint", "a")
    write_folder(str(tmp_path / "out"), with_references(draft, IDS))
    (found,) = list_files(read_metadata(tmp_path / "out"))
    assert (found.location.status, found.location.path) == ("local", str(tmp_path / "savepoint" / "a"))
    (tmp_path / "savepoint" / "a").unlink()
    (found,) = list_files(read_metadata(tmp_path / "out"))
    assert found.missing


def test_files_of_another_checkpoint_are_found(tmp_path: Path) -> None:
    names = ("job/chk-3/own", "job/shared/s", "job/taskowned/deep/t")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(10))
    streams = [w.file(f"file:{tmp_path}/{names[0]}"), w.file(f"file:{tmp_path}/{names[1]}")]
    draft = saved_in(tmp_path / "job" / "chk-3", *streams, w.segment(f"file:{tmp_path}/{names[2]}"), tail=CHECKPOINT)
    write_folder(str(tmp_path / "out"), with_references(draft, IDS))
    assert [file.location.status for file in list_files(read_metadata(tmp_path / "out"))] == ["local"] * 3


@pytest.mark.parametrize("beside", ["nothing", "no savepoint", "a savepoint that does not name it", "a link"])
def test_other_files_are_not_found_by_their_full_names(tmp_path: Path, beside: str) -> None:
    secret = tmp_path / "private" / "secret"
    secret.parent.mkdir()
    secret.write_bytes(bytes(10))
    metadata = secret.parent / "_metadata"
    if beside == "no savepoint":
        metadata.write_text("mine")
    elif beside == "a savepoint that does not name it":
        metadata.write_bytes(w.metadata(w.operator(w.subtask(managed_operator=w.operator_stream(w.relative("other"))))))
    elif beside == "a link":
        trap = tmp_path / "trap"
        with_files(trap, "a")
        (trap / "a").unlink()
        (trap / "a").symlink_to(secret)
        secret = trap / "a"
    savepoint = saved_in(tmp_path / "out", w.file(f"file:{secret}")).savepoint
    assert [file.location.status for file in list_files(savepoint)] == ["missing"]


def test_a_savepoint_that_changed_is_read_anew(tmp_path: Path) -> None:
    draft = with_files(tmp_path / "savepoint", "a")
    write_folder(str(tmp_path / "out"), with_references(draft, IDS))
    saved_in(tmp_path / "savepoint", w.relative("another-one"))
    (found,) = list_files(read_metadata(tmp_path / "out"))
    assert found.missing


def test_a_second_time_refers_to_the_first_files(tmp_path: Path) -> None:
    draft = with_files(tmp_path / "savepoint", "a")
    write_folder(str(tmp_path / "one"), with_references(draft, IDS))
    again = read_draft(read_metadata(tmp_path / "one"))
    write_folder(str(tmp_path / "two"), with_references(again, Changes(ids={NEW: NewId(OLD)})))
    (found,) = list_files(read_metadata(tmp_path / "two"))
    assert found.location.path == str(tmp_path / "savepoint" / "a")
    assert replace(again, places=()).savepoint.operators[0].uid == "new"
