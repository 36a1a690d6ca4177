"""How long checkpoints are kept: as many as are asked for, however long they took."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, Row, write_rows
from tests.state.delta.test_rewrites import contents, write


def commits(log: SnapshotLog) -> list[str]:
    return [name for name in os.listdir(Path(log.path, "_delta_log")) if name.endswith(".json")]


def test_checkpoints_of_hours_ago_are_kept(tmp_path: Path) -> None:
    """Some fifty were committed two hours ago, and a hundred since; the last 120 are to be kept."""
    log = SnapshotLog.create(tmp_path)
    expected = {}
    for number in range(160):
        epoch = write(log, {number % 7: number})
        expected[epoch] = contents(log)
        if number == 60:
            then = time.time() - 7200
            for file in Path(log.path, "_delta_log").iterdir():
                os.utime(file, (then, then))
    log.clean(120)
    kept = [entry["epoch"] for entry in log.checkpoints()[:120]]
    assert kept == list(range(160, 40, -1))
    for epoch in kept[::9]:
        assert contents(SnapshotLog.open(tmp_path, log.version_of_epoch(epoch))) == expected[epoch]


def test_commits_that_no_checkpoint_needs_are_removed(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path)
    for number in range(160):
        write(log, {number % 7: number})
    now = contents(log)
    log.clean(3)
    assert len(commits(log)) <= 53
    again = SnapshotLog.open(tmp_path)
    assert (again.epoch, contents(again)) == (160, now)
    assert [entry["epoch"] for entry in again.checkpoints()[:3]] == [160, 159, 158]
    assert write(again, {1: 1}) == 161
    with pytest.raises(StoreError):
        again.version_of_epoch(20)


def test_files_of_attempts_that_failed_are_swept(tmp_path: Path) -> None:
    """Files that an older version has, or that an OPTIMIZE replaced, stay; those that no commit names go."""
    log = SnapshotLog.create(tmp_path)
    expected = {}
    for number in range(6):
        write_rows(
            str(tmp_path), [Row("op", Kind.VALUE, 0, "state", b"k", b"", b"", b"v")], number
        )  # nobody commits it
        epoch = write(log, {number % 7: number})
        expected[epoch] = contents(log)
        if number == 3:
            DeltaTable(str(tmp_path)).optimize.compact()
            log.refresh()
    log.sweep()
    assert len(list(tmp_path.glob("*.parquet"))) == 6 + 1
    again = SnapshotLog.open(tmp_path)
    for epoch, kept in expected.items():
        assert contents(SnapshotLog.open(tmp_path, again.version_of_epoch(epoch))) == kept
