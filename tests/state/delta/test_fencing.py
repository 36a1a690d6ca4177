"""Fencing tokens: of several processes that all believe to lead a job, one commits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compat.state.delta.errors import StoreError, Superseded
from compat.state.delta.log import SnapshotLog
from compat.state.delta.past import Ended


def opened(path: Path, fence: int = 0) -> SnapshotLog:
    log = SnapshotLog.open(path)
    if fence:
        log.lead(fence)
    return log


def commit(log: SnapshotLog, epoch: int) -> None:
    assert log.commit(epoch, [], {"token": f"{log.fence}"})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    SnapshotLog.create(tmp_path / "state")
    return tmp_path / "state"


def test_a_leader_commits_epoch_after_epoch(table: Path) -> None:
    log = opened(table, 3)
    commit(log, 1)
    commit(log, 2)
    assert (opened(table).leader, opened(table).epoch) == (3, 2)


def test_a_leader_sees_another_that_came_right_behind_its_commit(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, refresh = opened(table, 3), SnapshotLog.refresh
    assert log.next_epoch == 1

    def overtaken(self: SnapshotLog) -> None:
        monkeypatch.setattr(SnapshotLog, "refresh", refresh)
        opened(table, 5)
        refresh(self)

    monkeypatch.setattr(SnapshotLog, "refresh", overtaken)
    commit(log, 1)
    assert (log.leader, log.next_epoch) == (5, 2)


@pytest.mark.parametrize(
    "late",
    [
        lambda log: commit(log, 2),
        lambda log: log.replace([], [], {}),
        lambda log: log.end("FINISHED", None),
    ],
    ids=["an epoch", "a compaction", "its end"],
)
@pytest.mark.parametrize("fence", [0, 1])
def test_whatever_the_former_leader_commits_is_refused_although_it_has_not_seen_the_new_one(
    table: Path, late: Callable[[SnapshotLog], None], fence: int
) -> None:
    former = opened(table, fence)
    commit(former, 1)
    opened(table, 2)
    with pytest.raises(StoreError):
        late(former)
    assert opened(table).epoch == 1
    assert opened(table).ended is None


def test_the_former_leader_is_told_that_it_was_superseded(table: Path) -> None:
    former = opened(table, 1)
    commit(opened(table, 2), 1)
    with pytest.raises(Superseded, match="its token is 2, this one's 1"):
        commit(former, 1)


def test_the_new_leader_goes_on_from_what_the_former_one_committed_last(table: Path) -> None:
    former, new = opened(table, 1), opened(table)
    commit(former, 1)
    new.lead(2)  # it had not seen the epoch
    assert new.epoch == 1
    commit(new, 2)


def test_a_smaller_token_does_not_lead_again(table: Path) -> None:
    opened(table, 2)
    with pytest.raises(Superseded):
        opened(table, 1)


def test_the_same_token_leads_again_after_a_restart_of_the_job(table: Path) -> None:
    commit(opened(table, 2), 1)
    commit(opened(table, 2), 2)


def test_the_end_stands_in_the_log_for_whoever_leads_then(table: Path) -> None:
    log = opened(table, 1)
    commit(log, 1)
    log.end("FINISHED", "/savepoints/a")
    assert opened(table, 2).ended == Ended("FINISHED", "/savepoints/a")
    assert (opened(table).epoch, opened(table).checkpoints()[0]["epoch"]) == (1, 1)


def test_a_job_that_runs_has_no_end(table: Path) -> None:
    assert opened(table).ended is None
    commit(opened(table, 1), 1)
    assert opened(table).ended is None
