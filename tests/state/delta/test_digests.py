"""Damage in data files: found by the digest in a name, and by the checksums of pages."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from compat.state.delta import reading
from compat.state.delta.digests import Damaged, prove_bytes, prove_file
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import NO_KEY_GROUP, DataFile, Kind, Row, read_rows, write_rows
from compat.state.delta.savepoint import LogState, write_savepoint
from compat.state.stores.paths import place_of

ROWS = [
    Row("a" * 32, Kind.VALUE, number % 128 or NO_KEY_GROUP, "count", b"%d" % number, b"", b"", os.urandom(8))
    for number in range(400)
]


def table(folder: Path) -> tuple[SnapshotLog, Path]:
    """A table of one file, and that file."""
    log = SnapshotLog.create(folder)
    written = write_rows(log.path, ROWS, 1)
    assert log.commit(1, [written], {"token": "t"})
    return log, folder / written.path


def flip(file: Path, place: int) -> None:
    with open(file, "r+b") as opened:
        opened.seek(place)
        byte = opened.read(1)[0]
        opened.seek(place)
        opened.write(bytes([byte ^ (1 << place % 8)]))


def read(log: SnapshotLog) -> list[Row]:
    return [row for part in SnapshotLog.open(log.path).parts() for row in read_rows(part)]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    log, file = table(tmp_path)
    assert read(log) == ROWS
    prove_file(place_of(file))
    assert set(os.listdir(tmp_path)) == {"_delta_log", file.name}


def test_each_flipped_bit_of_a_small_file_is_found(tmp_path: Path) -> None:
    log, file = table(tmp_path)
    for place in range(0, file.stat().st_size, 13):
        flip(file, place)
        with pytest.raises(StoreError, match=r"cannot be read: .*damaged.* compat fsck"):
            read(log)
        with pytest.raises(Damaged):
            prove_file(place_of(file))
        flip(file, place)
    assert read(log) == ROWS


def test_flipped_bits_of_a_large_file_are_found_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_WHOLE_BYTES", 0)
    log, file = table(tmp_path)
    found = 0
    places = random.Random(5).sample(range(4, file.stat().st_size // 2), 60)  # pages, before the footer
    for place in places:
        flip(file, place)
        try:
            assert read(log) == ROWS, "read as something else, in silence"
        except StoreError:
            found += 1
        flip(file, place)
    assert found > 30


def test_a_file_that_is_cut_off_is_found(tmp_path: Path) -> None:
    log, file = table(tmp_path)
    os.truncate(file, file.stat().st_size - 1)
    with pytest.raises(StoreError, match="damaged"):
        read(log)


def test_no_savepoint_is_made_of_a_damaged_file(tmp_path: Path) -> None:
    log, file = table(tmp_path / "job")
    flip(file, 100)
    target = tmp_path / "savepoint"
    with pytest.raises(StoreError, match="damaged"):
        write_savepoint(LogState.of(log), target, {})
    assert not target.exists()


def test_a_file_of_another_writer_has_no_digest(tmp_path: Path) -> None:
    prove_bytes("/t/part-00000-1a2b.snappy.parquet", b"whatever")
    (tmp_path / "part-1.parquet").write_bytes(b"whatever")
    prove_file(place_of(tmp_path / "part-1.parquet"))


def test_names_tell_files_of_the_same_content_apart(tmp_path: Path) -> None:
    one, other = (write_rows(str(tmp_path), ROWS, 1) for _ in range(2))
    assert isinstance(one, DataFile)
    assert one.path != other.path
    assert one.path[-40:] == other.path[-40:]
