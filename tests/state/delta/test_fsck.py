"""A table is verified: its commits and its files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from compat.state.delta.errors import StoreError
from compat.state.delta.fsck import verify
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row, write_rows
from compat.state.stores.paths import place_of


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three epochs of a file each."""
    log = SnapshotLog.create(tmp_path / "table")
    for epoch in (1, 2, 3):
        rows = [Row("a" * 32, Kind.VALUE, NO_KEY_GROUP, "s", b"", b"", b"%d" % epoch, os.urandom(50)) for _ in range(9)]
        assert log.commit(epoch, [write_rows(log.path, rows, epoch)], {"token": "t"})
    return tmp_path / "table"


def a_file(table: Path) -> Path:
    return min(table.glob("*.parquet"))


def flip(table: Path) -> None:
    data = bytearray(a_file(table).read_bytes())
    data[len(data) // 2] ^= 1
    a_file(table).write_bytes(bytes(data))


def cut(table: Path) -> None:
    os.truncate(a_file(table), 100)


def lose(table: Path) -> None:
    a_file(table).unlink()


def empty_commit(table: Path) -> None:
    (table / "_delta_log" / f"{3:020d}.json").write_bytes(b"")


def lose_commit(table: Path) -> None:
    (table / "_delta_log" / f"{2:020d}.json").unlink()


def test_a_whole_table(table: Path) -> None:
    found = verify(place_of(table))
    assert (found.epoch, found.files, found.problems) == (3, 3, ())
    assert found.size == sum(file.stat().st_size for file in table.glob("*.parquet"))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (flip, r"The file .*\.parquet cannot be read: it is damaged"),
        (cut, r"has 100 bytes; \d+ were written"),
        (lose, r"\.parquet is gone"),
        (empty_commit, r"The commit .*3\.json is empty or damaged"),
        (lose_commit, r"The commit .*2\.json is gone"),
    ],
)
def test_what_is_wrong_is_told_once(table: Path, harm: Callable[[Path], None], told: str) -> None:
    import re

    harm(table)
    problems = verify(place_of(table)).problems
    assert len([each for each in problems if re.search(told, each)]) == 1, problems


def test_a_file_of_another_writer_is_read_by_page(table: Path) -> None:
    before = set(table.glob("*.parquet"))
    DeltaTable(table).optimize.compact()
    (others,) = set(table.glob("*.parquet")) - before
    assert verify(place_of(table)).problems == ()
    data = bytearray(others.read_bytes())
    data[60] ^= 1
    others.write_bytes(bytes(data))
    assert len(verify(place_of(table)).problems) == 1


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no snapshot table"):
        verify(place_of(tmp_path))
