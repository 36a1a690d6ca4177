"""A version of a table has what it was committed with."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from compat.state.delta.compaction import compact
from compat.state.delta.errors import DamagedLog, StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.reading import LogFile
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row, write_rows
from compat.state.delta.savepoint import LogState, write_savepoint
from compat.state.delta.seals import is_of, is_whole, seal_of, sum_of

FILE = LogFile("part-a.parquet", 3, 100, ("a", "b"), (0, 5), (1, 2))


def commit(log: SnapshotLog, epoch: int) -> None:
    rows = [Row("a" * 32, Kind.VALUE, NO_KEY_GROUP, "s", b"", b"", b"%d" % (epoch % 7), b"%d" % epoch)]
    assert log.commit(epoch, [write_rows(log.path, rows, epoch)], {"token": f"t{epoch}", "runs": {"0/0": "r"}})


@pytest.fixture
def log(tmp_path: Path) -> SnapshotLog:
    """Four epochs."""
    made = SnapshotLog.create(tmp_path / "table")
    for epoch in range(1, 5):
        commit(made, epoch)
    return made


def commit_file(log: SnapshotLog, version: int) -> Path:
    return Path(log.path, "_delta_log", f"{version:020d}.json")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_commit_that_was_emptied_is_found(log: SnapshotLog, version: int) -> None:
    commit_file(log, version).write_bytes(b"")
    with pytest.raises(DamagedLog, match=r"is not as it was committed at checkpoint 4.*compat fsck"):
        _ = SnapshotLog.open(log.path).epoch
    before = SnapshotLog.open(log.path, version - 1)
    assert before.epoch == version - 1


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: text.replace("maxValues", "maxValuas"),
        lambda text: text.replace(r"\"epoch\": 3", r"\"epoch\": 2"),
        lambda text: text.replace(r"numRecords\": 1", r"numRecords\": 3"),
        lambda text: text.replace("part-", "past-"),
        lambda text: text.replace('"epoch":"3"', '"epoch":"1"'),
        lambda text: text.replace(r"\"t3\"", r"\"t1\""),
    ],
)
def test_a_commit_that_was_changed_is_found(log: SnapshotLog, harm: Callable[[str], str]) -> None:
    file = commit_file(log, 3)
    harmed = harm(file.read_text())
    assert harmed != file.read_text()
    file.write_text(harmed)
    with pytest.raises(StoreError):
        _ = SnapshotLog.open(log.path, 3).epoch


def test_flipped_bits_of_the_last_commit_are_found_or_change_nothing(log: SnapshotLog) -> None:
    """What Delta itself does not use, as times and names of programs, may be anything."""
    file = commit_file(log, 4)
    whole = file.read_bytes()
    expected = (4, SnapshotLog.open(log.path).files(), SnapshotLog.open(log.path).checkpoints()[0]["token"])
    chance = random.Random(1)
    for _ in range(300):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(7)
        file.write_bytes(bytes(data))
        try:
            found = SnapshotLog.open(log.path)
            told = (found.epoch, found.files(), found.checkpoints()[0]["token"])
        except (StoreError, ValueError, KeyError):
            continue
        assert told == expected


def test_nobody_commits_on_what_is_damaged(log: SnapshotLog) -> None:
    commit_file(log, 2).write_bytes(b"")
    damaged = SnapshotLog.open(log.path)
    with pytest.raises(DamagedLog):
        damaged.lead(7)
    with pytest.raises(DamagedLog):
        commit(damaged, 5)


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.lead(3),
        lambda log: log.end("FINISHED", None),
        lambda log: log.clean(1),
        lambda log: compact(log, {}),
        lambda log: DeltaTable(log.path).optimize.compact(),
        lambda log: DeltaTable(log.path).vacuum(0, dry_run=False, enforce_retention_duration=False),
        lambda log: DeltaTable(log.path).create_checkpoint(),
        lambda log: DeltaTable(log.path).restore(3),
        lambda log: commit(SnapshotLog.open(log.path), 5),
    ],
    ids=["lead", "end", "clean", "compact", "OPTIMIZE", "VACUUM", "checkpoint", "RESTORE", "another"],
)
def test_what_may_be_done_to_a_table_is_no_damage(log: SnapshotLog, change: Callable[[SnapshotLog], object]) -> None:
    change(log)
    found = SnapshotLog.open(log.path)
    assert found.epoch in (3, 4, 5)
    found.fence = found.leader
    commit(found, found.next_epoch)
    again = SnapshotLog.open(log.path)
    assert again.epoch == found.epoch
    assert again.files() == found.files()


def test_many_epochs_and_checkpoints_of_deltas(tmp_path: Path) -> None:
    """Also what is read from Delta's own checkpoints, behind which commits are removed."""
    log = SnapshotLog.create(tmp_path / "table")
    for epoch in range(1, 120):
        commit(log, epoch)
        if epoch % 20 == 0:
            compact(log, {})
            log.clean(1)
    assert any("checkpoint.parquet" in file.name for file in Path(log.path, "_delta_log").iterdir())
    assert SnapshotLog.open(log.path).epoch == 119


def test_a_file_of_which_nothing_is_known(tmp_path: Path) -> None:
    """It has no rows, or another wrote it: a savepoint of it is whole."""
    log = SnapshotLog.create(tmp_path / "table")
    assert log.commit(1, [write_rows(log.path, [], 1)], {"token": "t"})
    path = write_savepoint(LogState.of(log), tmp_path / "savepoint", {}, {})
    assert SnapshotLog.open(path).epoch == 1


def test_a_commit_behind_one_that_it_did_not_know_proves_nothing(log: SnapshotLog) -> None:
    DeltaTable(log.path).optimize.compact()
    commit(log, 5)  # this object has not seen what was done
    found = SnapshotLog.open(log.path)
    assert found.epoch == 5
    assert found.version == 6


def test_a_seal_is_of_all_that_it_seals() -> None:
    told = {"epoch": "4", "token": '"t"'}
    seal = seal_of(7, 99, 4, told)
    entry = {**told, "version": 7, "timestamp": 1}
    assert is_of(seal, 7)
    assert not is_of(seal, 8)
    assert is_whole(seal, 7, 99, 4, entry)
    assert not is_whole(seal, 7, 98, 4, entry)
    assert not is_whole(seal, 7, 99, 3, entry)
    assert not is_whole(seal, 7, 99, 4, {**entry, "token": '"u"'})
    assert not is_whole(seal, 7, 99, 4, {"epoch": "4"})
    assert not is_whole("7 x", 7, 99, 4, entry)


@given(st.permutations([FILE, *(LogFile(f"part-{n}.parquet", n, n, ("", ""), (n, n), (n, n)) for n in range(5))]))
def test_a_sum_is_of_the_files_in_any_order(files: list[LogFile]) -> None:
    assert sum_of(files) == sum_of(reversed(files))
    assert sum_of(files[3:]) == sum_of([], files[:3], sum_of(files))
    assert sum_of(files[:3], files[1:3], sum_of(files[3:])) == sum_of([files[0], *files[3:]])


@pytest.mark.parametrize(
    "other",
    [
        LogFile("part-b.parquet", 3, 100, ("a", "b"), (0, 5), (1, 2)),
        LogFile("part-a.parquet", 4, 100, ("a", "b"), (0, 5), (1, 2)),
        LogFile("part-a.parquet", 3, 101, ("a", "b"), (0, 5), (1, 2)),
        LogFile("part-a.parquet", 3, 100, ("a", "c"), (0, 5), (1, 2)),
        LogFile("part-a.parquet", 3, 100, ("a", "b"), (0, 6), (1, 2)),
        LogFile("part-a.parquet", 3, 100, ("a", "b"), (0, 5), (1, 3)),
    ],
)
def test_a_sum_is_of_all_of_a_file(other: LogFile) -> None:
    assert sum_of([FILE]) != sum_of([other])
