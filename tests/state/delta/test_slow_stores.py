"""On storage where each file is a request, what a job goes on from is fetched side by side."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from compat.compiler.spark.driver.restore import saved_operators
from compat.state.delta import table as of_table
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row, write_rows
from compat.state.delta.slices import Source, cut, read_slice
from compat.state.stores.local import LocalFiles
from compat.state.stores.paths import Place

EPOCHS = 40


class Elsewhere(LocalFiles):
    """Files of this machine as files elsewhere: each takes a while, and who reads at once is counted."""

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    @property
    def local(self) -> bool:
        return False

    def read(self, path: str) -> bytes:
        with self._lock:
            self.reads[path] += 1
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            time.sleep(0.01)
            return super().read(path)
        finally:
            with self._lock:
                self._now -= 1


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Elsewhere, SnapshotLog]:
    """A log of many epochs, a file each."""
    log = SnapshotLog.create(tmp_path / "table")
    for epoch in range(1, EPOCHS + 1):
        rows = [
            Row("a" * 32, Kind.OPERATOR, NO_KEY_GROUP, "states", b"", b"", b"", b"{}"),
            Row("a" * 32, Kind.VALUE, epoch % 8, "s", b"%d" % epoch, b"", b"", b"%d" % epoch),
        ]
        assert log.commit(epoch, [write_rows(log.path, rows, epoch)], {"token": f"t{epoch}"})
    system = Elsewhere()
    place = Place(system, log.path)
    monkeypatch.setattr(of_table, "place_of", lambda path, *_: place)
    return system, SnapshotLog(place, DeltaTable(log.path))


def test_what_a_driver_and_its_tasks_recover(elsewhere: tuple[Elsewhere, SnapshotLog]) -> None:
    system, log = elsewhere
    assert sum(table.num_rows for table in log.read()) == 2 * EPOCHS
    assert sum(table.num_rows for table in log.changes(-1, range(8), frozenset({"a" * 32}))) == 2 * EPOCHS
    assert len(log.checkpoints()) == EPOCHS
    assert 4 <= system.most <= 16
    assert max(count for path, count in system.reads.items() if path.endswith(".parquet")) == 2


def test_the_newest_commit_alone_is_read_for_the_epoch(elsewhere: tuple[Elsewhere, SnapshotLog]) -> None:
    system, log = elsewhere
    assert log.epoch == EPOCHS
    assert sum(system.reads.values()) == 1


def test_slices_and_what_describes_operators(
    elsewhere: tuple[Elsewhere, SnapshotLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    system, log = elsewhere
    monkeypatch.setattr("compat.state.delta.slices.place_of", lambda path: log.place)
    slices = cut([Source(log.path, file) for file in log.files()]).slices
    assert sum(read_slice(each).num_rows for each in slices) == 2 * EPOCHS
    with pytest.raises(KeyError, match="name"):  # the rows of this test describe nothing
        saved_operators(log)
    assert 4 <= system.most <= 16
