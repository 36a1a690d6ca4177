"""What a cluster tells over HTTP of jobs: checkpoints, exceptions, vertices, logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.cluster import observation
from compat.cluster.cache import Recent
from compat.cluster.observation import Failure, tail
from compat.cluster.records import Room
from compat.compiler.executiongraph.states import JobStatus
from tests.compat.cluster.served import VERTEX, Served, checkpoint

TRACEBACK = "Traceback (most recent call last):\n  File 'job.py', line 3\nshop.NoPrice: 7"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(observation, "SECONDS", 0.0)
    served = Served(tmp_path)
    yield served
    served.close()


def told(cluster: Served, address: str, status: int = 200) -> Any:
    answer = cluster.get(address)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_job_that_waits_has_nothing_to_tell_yet(cluster: Served) -> None:
    job = cluster.job(runs=False)
    found = told(cluster, f"/jobs/{job.id}/checkpoints")
    assert found["counts"] == {"restored": 0, "total": 0, "completed": 0, "in_progress": 0, "failed": 0}
    assert (found["history"], found["latest"]["completed"], found["summary"]["state_size"]["max"]) == ([], None, 0)
    assert told(cluster, f"/jobs/{job.id}/exceptions") == {"exceptionHistory": {"entries": [], "truncated": False}}
    assert "has not begun" in told(cluster, f"/jobs/{job.id}/vertices/{VERTEX}", 404)["detail"]
    assert cluster.get(f"/jobs/{job.id}/log").text == ""


def test_checkpoints_have_sizes_and_durations(cluster: Served) -> None:
    job = cluster.job()
    cluster.tell(job, [{"event": "started", "checkpoint": 7, "restored": {"path": "/old", "keys": 3}}])
    cluster.tell(job, [checkpoint(8, added_bytes=10), checkpoint(9, added_bytes=30, seconds=1.5)])
    cluster.tell(job, [{"event": "savepoint", "path": "/saved"}])
    found = told(cluster, f"/jobs/{job.id}/checkpoints")
    assert found["counts"] == {"restored": 1, "total": 3, "completed": 3, "in_progress": 0, "failed": 0}
    assert {(each["id"], each["is_savepoint"]) for each in found["history"]} == {(8, False), (9, False), (None, True)}
    times = [each["latest_ack_timestamp"] for each in found["history"]]
    assert times == sorted(times, reverse=True)
    last = found["latest"]["completed"]
    state = cluster.place.store.state(job.id)
    assert (last["id"], last["state_size"], last["checkpointed_size"]) == (9, 9000, 30)
    assert (last["end_to_end_duration"], last["external_path"]) == (1500, f"{state}@9")
    assert last["latest_ack_timestamp"] - last["trigger_timestamp"] == 1500
    assert found["latest"]["savepoint"]["external_path"] == "/saved"
    assert found["latest"]["restored"]["external_path"] == "/old"
    assert found["summary"]["end_to_end_duration"] == {
        "min": 250,
        "max": 1500,
        "avg": 875,
        "p50": 250.0,
        "p90": 1500.0,
        "p95": 1500.0,
        "p99": 1500.0,
        "p999": 1500.0,
    }
    assert found["summary"]["checkpointed_size"]["avg"] == 20


def test_exceptions_are_those_of_the_program_and_of_processes(cluster: Served) -> None:
    job = cluster.job()
    cluster.tell(job, [{"event": "restarting", "delay": 1.0, "error": TRACEBACK, "task": "count (1/2)", "attempt": 2}])
    cluster.jobs.failed(job.id, 1, "The JobMaster was ended by SIGKILL.")
    found = told(cluster, f"/jobs/{job.id}/exceptions")["exceptionHistory"]
    names = {(each["exceptionName"], each["taskName"]) for each in found["entries"]}
    assert names == {("", None), ("shop.NoPrice", "count (1/2)")}
    assert {each["stacktrace"] for each in found["entries"]} == {TRACEBACK, "The JobMaster was ended by SIGKILL."}
    one = told(cluster, f"/jobs/{job.id}/exceptions?maxExceptions=1")["exceptionHistory"]
    assert (len(one["entries"]), one["truncated"], found["truncated"]) == (1, True, False)
    assert told(cluster, f"/jobs/{job.id}/exceptions?maxExceptions=x", 422)["pointer"] == "maxExceptions"


@pytest.mark.parametrize(
    ("cause", "headline", "exception"),
    [
        (TRACEBACK, "shop.NoPrice: 7", "shop.NoPrice"),
        ("KeyError", "KeyError", "KeyError"),
        ("Epoch 3 is late: it took 10 s", "Epoch 3 is late: it took 10 s", ""),
        ("", "no cause is known", ""),
        ("x" * 300 + ": far too long", "x" * 300 + ": far too long", ""),
    ],
)
def test_a_failure_is_told_in_a_line(cause: str, headline: str, exception: str) -> None:
    failure = Failure(at=0, attempt=1, cause=cause)
    assert (failure.headline, failure.exception) == (headline, exception)


def test_a_vertex_has_the_records_of_its_operators(cluster: Served) -> None:
    job = cluster.job()
    listed = told(cluster, f"/jobs/{job.id}")["vertices"]
    assert [each["metrics"] for each in listed] == [
        {"read-records": 1000, "write-records": 100},
        {"read-records": 2000, "write-records": 200},
        {"read-records": 3000, "write-records": None},
    ]
    found = told(cluster, f"/jobs/{job.id}/vertices/{VERTEX}")
    assert found["metrics"] == {"read-records": 1000, "write-records": 100}
    assert (found["status"], found["tasks"]["RUNNING"], found["failure"]) == ("RUNNING", 1, None)
    assert [each["metrics"]["mine.seen"] for each in found["operators"]] == [1]
    last = told(cluster, f"/jobs/{job.id}/vertices/{listed[-1]['id']}")
    assert last["metrics"] == {"read-records": 3000, "write-records": None}
    assert "no vertex 'none'" in told(cluster, f"/jobs/{job.id}/vertices/none", 404)["detail"]


def test_a_log_is_told_from_the_beginning_of_a_line(cluster: Served) -> None:
    job = cluster.job()
    cluster.place.log_of(job.id).write_bytes("first\nzwölf \n".encode() + b"\xff\n")
    answer = cluster.get(f"/jobs/{job.id}/log")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == "first\nzwölf \n\ufffd\n"
    assert cluster.get(f"/jobs/{job.id}/log?bytes=12").text == "zwölf \n\ufffd\n"
    for bytes_ in ("0", "x", "99999999999"):
        assert cluster.get(f"/jobs/{job.id}/log?bytes={bytes_}").status_code == 422


def test_of_a_large_log_only_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 5000 + b"\nlast\n")
    assert (tail(log, 1000).text, tail(log, 1000).before) == ("last\n", 5001)
    assert tail(log, 10_000).before == 0
    assert tail(tmp_path / "none", 10).text == ""


def test_the_overview_counts_jobs_that_have_ended(cluster: Served) -> None:
    running, waiting = cluster.job(slots=3), cluster.job(slots=2, runs=False)
    done = cluster.job()
    cluster.jobs.end(done.id, JobStatus.FINISHED)
    found = told(cluster, "/overview")
    assert (found["slots-total"], found["slots-available"], found["jobs-running"]) == (4, 1, 2)
    assert (found["jobs-finished"], found["jobs-failed"]) == (1, 0)
    assert [
        seen.job.id for seen in observation.Observer(cluster.place, cluster.jobs, Room(slots=4)).cluster().unfinished
    ] == [
        waiting.id,
        running.id,
    ]


def test_what_many_look_at_is_made_once() -> None:
    made: list[str] = []
    recent = Recent[str, int](lambda key: made.append(key) or len(made), seconds=60, most=2)
    assert [recent.get(key) for key in "aabab"] == [1, 1, 2, 1, 2]
    recent.get("c")  # a goes
    assert (recent.get("b"), recent.get("a"), made) == (2, 4, ["a", "b", "c", "a"])
    recent.forget("a")
    assert recent.get("a") == 5


def test_what_fails_to_be_made_is_made_anew() -> None:
    tries: list[str] = []

    def make(key: str) -> int:
        tries.append(key)
        if len(tries) == 1:
            raise OSError("not now")
        return 7

    recent = Recent[str, int](make, seconds=60, most=2)
    with pytest.raises(OSError, match="not now"):
        recent.get("a")
    assert recent.get("a") == 7


def test_however_many_look_a_job_is_read_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation, "SECONDS", 60.0)
    served = Served(tmp_path)
    job, reads = served.job(), []
    entry = type(served.place.store).entry

    def counted(store: Any, id: str) -> Any:
        reads.append(id)
        return entry(store, id)

    monkeypatch.setattr(type(served.place.store), "entry", counted)
    for _ in range(5):
        assert told(served, f"/jobs/{job.id}/checkpoints")["counts"]["total"] == 0
        assert told(served, f"/jobs/{job.id[:8]}/vertices/{VERTEX}")["parallelism"] == 1
    assert reads == [job.id]
    served.close()
