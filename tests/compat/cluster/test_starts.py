"""Jobs that do not start: they fail after so many attempts, and can be cancelled all the while."""

from __future__ import annotations

import sys
import time
import uuid
from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.cluster import keeping, starts
from compat.cluster.layout import ClusterFolder
from compat.cluster.records import Action, ClusterJob
from compat.cluster.settings import ClusterSettings
from compat.compiler.executiongraph.states import JobStatus
from tests.compat.cluster.offline import OfflineCluster, submission


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OfflineCluster:
    """One whose JobMasters end with an error at once, and where nothing waits."""
    made = OfflineCluster(tmp_path)
    monkeypatch.setattr(made.dispatcher._masters, "ended", lambda *_: 1)
    monkeypatch.setattr(type(made.place.spark), "find", lambda _: object())
    monkeypatch.setattr(starts.Backoff, "over", True)
    return made


def submitted(cluster: OfflineCluster) -> ClusterJob:
    return cluster.dispatcher.submit(uuid.uuid4().hex, submission().encoded(), "me")


def rounds(cluster: OfflineCluster, job: ClusterJob, count: int) -> ClusterJob:
    for _ in range(count):
        cluster.dispatcher._round()
    return cluster.jobs.get(job.id)


def test_a_job_that_never_starts_fails_and_says_where_its_checkpoint_is(cluster: OfflineCluster) -> None:
    job = submitted(cluster)
    assert rounds(cluster, job, 10).status is not JobStatus.FAILED
    ended = rounds(cluster, job, 20)
    assert ended.status is JobStatus.FAILED
    assert ended.attempt == starts.MOST_STARTS
    assert str(cluster.place.store.directory(job.id)) in ended.message


FIXED = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "3"}
RATE = {"restart-strategy": "failure-rate", "restart-strategy.failure-rate.max-failures-per-interval": "2"}
GROWING = {
    "restart-strategy.type": "exponential-delay",
    "restart-strategy.exponential-delay.attempts-before-reset-backoff": "5",
}


@pytest.mark.parametrize(
    ("options", "attempts"),
    [
        ({"restart-strategy.type": "none"}, 1),
        ({"restart-strategy.type": "off"}, 1),
        (FIXED, 4),
        (RATE, 3),
        (GROWING, 6),
        ({"restart-strategy.fixed-delay.attempts": "3"}, starts.MOST_STARTS),  # it chooses none
        ({"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "x"}, starts.MOST_STARTS),
    ],
)
@pytest.mark.parametrize("of", ["job", "cluster"])
def test_a_job_that_never_starts_fails_by_its_restart_strategy(
    cluster: OfflineCluster, options: dict[str, str], attempts: int, of: str
) -> None:
    more: dict[str, object] = {"restarts": options}
    if of == "cluster":
        cluster.dispatcher.settings = replace(cluster.dispatcher.settings, restarts=options)
        more = {}
    job = cluster.dispatcher.submit(uuid.uuid4().hex, submission(**more).encoded(), "me")
    ended = rounds(cluster, job, 30)
    assert (ended.status, ended.attempt) == (JobStatus.FAILED, attempts)
    assert "restart strategy" in ended.message


def test_the_strategy_of_a_job_goes_before_that_of_its_cluster(cluster: OfflineCluster) -> None:
    cluster.dispatcher.settings = replace(cluster.dispatcher.settings, restarts=FIXED)
    data = submission(restarts={"restart-strategy": "none"}).encoded()
    assert rounds(cluster, cluster.dispatcher.submit(uuid.uuid4().hex, data, "me"), 30).attempt == 1


def test_the_delay_of_a_strategy_is_waited_for() -> None:
    tried = starts.Starts(starts.starts_of({**FIXED, "restart-strategy.fixed-delay.delay": "1 h"}))
    assert tried.failed()
    assert not tried.backoff.over
    assert tried.backoff.until - time.monotonic() > 3500


@pytest.mark.parametrize("fault", ["killed", "without Spark"])
def test_what_is_ended_from_outside_is_started_again(
    cluster: OfflineCluster, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "killed":
        monkeypatch.setattr(cluster.dispatcher._masters, "ended", lambda *_: -9)
    else:
        monkeypatch.setattr(type(cluster.place.spark), "find", lambda _: None)
    assert rounds(cluster, submitted(cluster), 50).status is not JobStatus.FAILED


def test_a_job_that_waits_for_its_next_attempt_is_cancelled_at_once(
    cluster: OfflineCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submitted(cluster)
    monkeypatch.setattr(starts.Backoff, "over", False)
    rounds(cluster, job, 2)
    cluster.dispatcher.ask(job.id, Action.CANCEL)
    until = time.monotonic() + 10
    while time.monotonic() < until and not rounds(cluster, job, 1).status.terminal:
        time.sleep(0.05)
    assert cluster.jobs.get(job.id).status is JobStatus.CANCELED


def test_options_are_not_on_the_command_line_of_the_process_that_keeps_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/cat")  # fails, and says what it was given
    folder = ClusterFolder(tmp_path)
    options = {"spark.hadoop.fs.s3a.secret.key": "hunter2"}
    started = keeping.start_spark(folder, ClusterSettings(slots=1, master="local[1]", options=options))
    started.wait(10)
    assert "hunter2" not in " ".join(map(str, started.args))  # type: ignore[arg-type]
