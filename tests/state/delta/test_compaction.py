"""Compaction changes the files of a log, never what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.state.delta import compaction, slices
from compat.state.delta.compaction import compact, latest
from compat.state.delta.errors import StoreError
from compat.state.delta.following import follow
from compat.state.delta.log import SnapshotLog
from compat.state.delta.replica import MemoryReplica, Position
from compat.state.delta.rows import Kind, Row, read_rows, together, write_rows
from compat.state.delta.sizes import state_sizes

Change = tuple[int, "int | None"]


def row(key: int, value: int | None, kind: str = Kind.VALUE) -> Row:
    data = None if value is None else b"%d" % value
    return Row("op", kind, key % 8, "count", b"%d" % key, b"", b"", data)


def written(log: SnapshotLog, epoch: int, changes: dict[int, int | None]) -> None:
    rows = [row(key, value) for key, value in changes.items()]
    log.commit(epoch, [write_rows(log.path, rows, epoch)] if rows else [], {"token": f"t{epoch}"})


def contents(log: SnapshotLog) -> dict[bytes, bytes]:
    return {each.key: each.value for each in read_rows(latest(together(list(log.read())))) if each.value is not None}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.dictionaries(st.integers(0, 30), st.one_of(st.none(), st.integers(0, 99)), max_size=12), min_size=1),
    st.sets(st.integers(0, 12)),
)
def test_the_contents_stay(tmp_path_factory: Any, epochs: list[dict[int, int | None]], compacted: set[int]) -> None:
    log = SnapshotLog.create(tmp_path_factory.mktemp("log"))
    expected: dict[bytes, bytes] = {}
    replica = MemoryReplica()
    for epoch, changes in enumerate(epochs, start=1):
        written(log, epoch, changes)
        for key, value in changes.items():
            expected.pop(b"%d" % key, None)
            if value is not None:
                expected[b"%d" % key] = b"%d" % value
        if epoch in compacted:
            compact(log, {"token": f"t{epoch}"})
        if epoch % 3 == 0:
            _follow(replica, log, epoch)
    assert contents(log) == expected
    _follow(replica, log, len(epochs))
    assert sorted(replica.entries.values()) == sorted(b"\0" + value for value in expected.values())


def _follow(replica: MemoryReplica, log: SnapshotLog, epoch: int) -> None:
    follow(
        replica,
        Position(epoch, f"t{epoch}"),
        lambda after: log.changes(after, range(8), frozenset(["op"])),
        lambda _: lambda data: data,
        log.tokens().get,
    )


def test_files_grow_geometrically(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path)
    written(log, 1, dict.fromkeys(range(50_000), 1))
    for epoch in range(2, 12):
        written(log, epoch, {epoch: epoch})
    assert compact(log, {"token": "t11"}) == 10
    assert [file.rows for file in log.files()] == [50_000, 10]
    assert log.floor == 0
    written(log, 12, dict.fromkeys(range(40_000)))
    assert compact(log, {"token": "t12"}) == 3
    assert [file.rows for file in log.files()] == [10_000]
    assert log.floor == 12


def test_a_checkpoint_that_is_not_retained_says_so(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path)
    for epoch in (1, 2, 3):
        written(log, epoch, {1: epoch})
    compact(log, {"token": "t3"})
    log.clean(retained=2)
    assert contents(SnapshotLog.open(tmp_path, log.version_of_epoch(2))) == {b"1": b"2"}
    log.clean(retained=1)
    assert contents(log) == {b"1": b"3"}
    with pytest.raises(StoreError, match="not retained"):
        contents(SnapshotLog.open(tmp_path, log.version_of_epoch(2)))


def test_keys_that_were_pickled_differently_are_one_entry(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path)
    first, second = (b"\1" + b"\0\0\0\1" + b"k" + pickled for pickled in (b"one way", b"another"))
    for epoch, key, value in ((1, first, b"1"), (2, second, None)):
        rows = [Row("op", Kind.VALUE, 0, "count", key, b"", b"", value)]
        log.commit(epoch, [write_rows(log.path, rows, epoch)], {"token": ""})
    compact(log, {"token": ""}, frozenset(["op"]))
    assert contents(log) == {}


def test_more_than_two_gigabytes_of_values_are_merged_in_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a budget of 64 kB in the place of 128 MB: no table that is merged at once is much larger, and nothing is lost."""
    monkeypatch.setattr(slices, "SLICE_BYTES", 1 << 16)
    monkeypatch.setattr(slices, "_SMALL_BYTES", 0)
    monkeypatch.setattr(compaction, "_FILE_BYTES", 1 << 15)
    merged: list[int] = []
    real = compaction.latest
    monkeypatch.setattr(
        compaction, "latest", lambda tables, pickled: merged.append((table := real(tables, pickled)).nbytes) or table
    )
    log = SnapshotLog.create(tmp_path)
    for epoch in (1, 2):
        rows = [
            Row("op", Kind.VALUE, key % 128, "count", b"%d" % key, b"", b"", b"%d" % epoch * 4096) for key in range(256)
        ]
        log.commit(epoch, [write_rows(log.path, rows, epoch)], {"token": f"t{epoch}"})
    compact(log, {"token": "t2"})
    assert max(merged) < 4 * (1 << 16)
    assert len(log.files()) >= 16
    found = {row.key: row.value for table in compaction.contents(log) for row in read_rows(table)}
    assert found == {b"%d" % key: b"2" * 4096 for key in range(256)}
    assert state_sizes(log)["op", "count"].keys == 256


@pytest.mark.slow
def test_more_than_two_gigabytes_of_values_as_they_are(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path)
    value = b"v" * (8 << 20)
    for epoch in range(1, 4):
        rows = [Row("op", Kind.VALUE, key % 4, "count", b"%d" % key, b"", b"", value) for key in range(100)]
        log.commit(epoch, [write_rows(log.path, rows, epoch)], {"token": f"t{epoch}"})
    compact(log, {"token": "t3"})
    assert sum(table.num_rows for table in compaction.contents(log)) == 100
