"""A new leader: whoever saw the log before it can commit no more, and what is in the log stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, Row, write_rows


def write(log: SnapshotLog, epoch: int) -> bool:
    rows = [Row("operator", Kind.VALUE, 0, "count", b"key", b"", b"", b"%d" % epoch)]
    told: dict[str, Any] = {"token": f"t{epoch}", "records": 7, "runs": {"a": "b"}}
    return log.commit(epoch, [write_rows(log.path, rows, epoch)], told)


@pytest.mark.parametrize("epochs", [0, 1, 3])
def test_a_sleeper_commits_no_more(tmp_path: Path, epochs: int) -> None:
    sleeper = SnapshotLog.create(tmp_path)
    for epoch in range(1, epochs + 1):
        assert write(sleeper, epoch)
    log = SnapshotLog.open(tmp_path)
    before = (log.epoch, log.next_epoch, log.tokens("a"), log.runs(), log.floor, log.files())
    checkpoints = [{**each, "version": 0, "time": 0} for each in log.checkpoints()]
    log.lead(1)
    assert (log.epoch, log.next_epoch, log.tokens("a"), log.runs(), log.floor, log.files()) == before
    again = SnapshotLog.open(tmp_path)
    assert [{**each, "version": 0, "time": 0} for each in again.checkpoints()] == checkpoints
    with pytest.raises(StoreError, match="Another process drives the job"):
        write(sleeper, epochs + 1)
    again.lead(1)
    assert write(again, epochs + 1)
    assert SnapshotLog.open(tmp_path).epoch == epochs + 1


def test_a_fence_gives_way_to_what_was_committed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    awake, log = SnapshotLog.create(tmp_path), SnapshotLog.open(tmp_path)
    real, calls = SnapshotLog._transact, []

    def meanwhile(self: SnapshotLog, *arguments: Any) -> None:
        calls.append(self)
        if calls == [log]:
            assert write(awake, 1)
        real(self, *arguments)

    monkeypatch.setattr(SnapshotLog, "_transact", meanwhile)
    log.lead(1)
    assert (log.epoch, calls) == (1, [log, awake, log])
    with pytest.raises(StoreError):
        write(awake, 2)


def test_a_fence_outlives_compaction_of_the_floor(tmp_path: Path) -> None:
    log = SnapshotLog.create(tmp_path)
    for epoch in (1, 2):
        assert write(log, epoch)
    log.replace(log.files(), [write_rows(log.path, [], 2)], {"token": "t2", "runs": {}, "floor": 2})
    log.lead(1)
    assert log.floor == 2
    assert log.tokens() == {2: "t2"}
