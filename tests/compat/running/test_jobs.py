"""Which job is meant, which snapshot is its last one, and what a cluster is asked for that: nothing that changes anything."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from compat.running import rest
from compat.running.jobs import Asked, ListedJob, listed, running_job
from compat.running.rest import Access, ClusterError, parse_headers
from tests.certificates import certificate
from tests.compat.running.clusters import JOB, OTHER, Answers, Several, answers, cluster, job, taken

PATH = "s3://bucket/chk-7"

MEANT: dict[str, tuple[tuple[dict[str, Any], ...], str]] = {
    "the one that there is": ((job(),), ""),
    "the one that runs": ((job(), job(OTHER, "old", "CANCELED", 2000)), ""),
    "by its name": ((job(), job(OTHER, "other")), "/small"),
    "by its id": ((job(), job(OTHER, "small")), f"/{JOB}"),
    "by a name that one had before it": ((job(), job(OTHER, "small", "FINISHED", 3000)), "/small"),
    "by a name with marks": ((job(name="a job/1"), job(OTHER)), "/a%20job%2F1"),
    "one that has ended, by its name": ((job(state="FAILED"), job(OTHER, "other")), "/small"),
}
REFUSED: dict[str, tuple[tuple[dict[str, Any], ...], str, str]] = {
    "none of several": (
        (job(), job(OTHER, "other")),
        "",
        f"several jobs: name one by its id. It has small ({JOB}, RUNNING), ",
    ),
    "a name of several": ((job(), job(OTHER)), "/small", "several jobs 'small': name one by its id"),
    "no name of any": ((job(),), "/smal", "has no job 'smal'. Did you mean 'small'?"),
    "nothing like it": ((job(),), "/word%20count", f"has no job 'word count'. It has small ({JOB}, RUNNING)."),
    "no id of any": ((job(),), f"/{OTHER}", f"has no job '{OTHER}'"),
}


@pytest.mark.parametrize("base", ["", "/flink/jobmanager"], ids=["at the root", "behind a path"])
@pytest.mark.parametrize("name", MEANT)
def test_the_job_that_is_meant(name: str, base: str) -> None:
    jobs, wanted = MEANT[name]
    with cluster(answers(*jobs, path=PATH), base) as told:
        found = running_job(f"flink:{told.url}{wanted}", Asked())
    assert found.details is not None
    assert (found.details.id, found.flink) == (JOB, "1.20")
    assert found.kept is not None
    assert (found.kept.path, found.kept.what) == (PATH, "checkpoint 7")
    assert {method for method, _ in told.asked} == {"GET"}


@pytest.mark.parametrize("name", REFUSED)
def test_a_job_that_is_not_clear_is_not_guessed(name: str) -> None:
    jobs, wanted, says = REFUSED[name]
    with cluster(answers(*jobs)) as told, pytest.raises(ClusterError) as refused:
        running_job(f"flink:{told.url}{wanted}", Asked())
    assert says in str(refused.value)


def last(completed: dict[str, Any] | None, savepoint: dict[str, Any] | None) -> str | None:
    told = answers()
    told.pages[f"/jobs/{JOB}/checkpoints"] = {"latest": {"completed": completed, "savepoint": savepoint}}
    with cluster(told):
        kept = running_job(f"flink:{told.url}", Asked()).kept
    return None if kept is None else kept.path


def test_the_later_of_checkpoint_and_savepoint_is_the_last_snapshot() -> None:
    early, late = taken("file:/a", at=1), taken("file:/b", savepoint=True, at=2)
    assert last(early, late) == "file:/b"
    assert last(taken("file:/a", at=3), late) == "file:/a"
    assert last(None, late) == "file:/b"
    assert last(None, None) is None
    assert last(early, late | {"discarded": True}) == "file:/a"
    in_memory = taken("<checkpoint-not-externally-addressable>", at=9)
    assert last(in_memory, late) == "file:/b"
    assert last(in_memory, None) is None


def test_a_checkpoint_that_another_one_followed_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_ASK_AGAIN", 0.01)
    told, gone = answers(), taken("file:/a") | {"discarded": True}
    views = [{"latest": {"completed": one, "savepoint": None}} for one in (gone, gone, taken("file:/b"))]
    told.pages[f"/jobs/{JOB}/checkpoints"] = Several(views)
    with cluster(told):
        kept = running_job(f"flink:{told.url}", Asked()).kept
    assert kept is not None
    assert kept.path == "file:/b"


def test_nobody_waits_for_another_checkpoint_of_a_job_that_has_ended() -> None:
    told = answers(job(state="CANCELED"))
    gone = {"latest": {"completed": taken("file:/a") | {"discarded": True}, "savepoint": None}}
    told.pages[f"/jobs/{JOB}/checkpoints"] = gone
    with cluster(told):
        (found,) = listed(told.url, Access(), everything=True)
    assert found.snapshot is None
    assert told.asked.count(("GET", f"/jobs/{JOB}/checkpoints")) == 1


def test_a_checkpoint_that_is_gone_for_good_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_LOOKS_ANEW", 0.01)
    assert last(taken("file:/a") | {"discarded": True}, None) is None


def test_a_job_without_checkpoints_has_no_snapshot() -> None:
    told = answers()
    del told.pages[f"/jobs/{JOB}/checkpoints"]
    with cluster(told):
        assert running_job(f"flink:{told.url}", Asked()).kept is None


def with_savepoint(*outcomes: dict[str, Any]) -> Answers:
    told = answers(path=PATH)
    told.pages[f"/jobs/{JOB}/savepoints"] = {"request-id": "1a2b"}
    told.pages[f"/jobs/{JOB}/savepoints/1a2b"] = Several(
        [
            {"status": {"id": "IN_PROGRESS"}, "operation": None},
            *({"status": {"id": "COMPLETED"}, "operation": outcome} for outcome in outcomes),
        ]
    )
    return told


def test_a_savepoint_is_taken_only_where_that_is_asked_for() -> None:
    with cluster(with_savepoint({"location": "file:/sp/savepoint-1"})) as told:
        found = running_job(f"flink:{told.url}", Asked(savepoint="file:/sp"))
    assert found.kept is not None
    assert found.kept.path == "file:/sp/savepoint-1"
    assert [one for one in told.asked if one[0] != "GET"] == [("POST", f"/jobs/{JOB}/savepoints")]


def test_a_savepoint_that_could_not_be_taken_says_why() -> None:
    trace = "outer\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: No space.\n\t... 3 more"
    failed = {"failure-cause": {"class": "java.util.concurrent.CompletionException", "stack-trace": trace}}
    with (
        cluster(with_savepoint(failed)) as told,
        pytest.raises(ClusterError, match=r"savepoint: java.io.IOException: No space\.$"),
    ):
        running_job(f"flink:{told.url}", Asked(savepoint=""))


def test_headers_tell_who_asks() -> None:
    told = answers(path=PATH)
    told.token = "Bearer 1a2b"
    with cluster(told):
        with pytest.raises(ClusterError, match=r"status 401. It asks who you are: --flink-headers\."):
            running_job(f"flink:{told.url}", Asked())
        access = Access(headers=parse_headers("Authorization: Bearer 1a2b\n\nX-Team: streams"))
        assert running_job(f"flink:{told.url}", Asked(access=access)).name == "small"
        assert told.headers["X-Team"] == "streams"


@pytest.mark.parametrize("text", ["Authorization", "a b: c", ": value", "Authorization: x\nnothing"])
def test_a_line_that_is_no_header_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d is no header: write Name: value"):
        parse_headers(text)


def test_a_certificate_of_an_authority_of_ones_own(tmp_path: Path) -> None:
    folder = certificate(tmp_path / "tls", "localhost")
    trusted, own = str(folder / "tls.crt"), str(tmp_path / "own.pem")
    Path(own).write_text((folder / "tls.key").read_text() + (folder / "tls.crt").read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    with cluster(answers(path=PATH), context=context) as told:
        with pytest.raises(ClusterError, match="CERTIFICATE_VERIFY_FAILED"):
            running_job(f"flink:{told.url}", Asked())
        assert running_job(f"flink:{told.url}", Asked(access=Access(ca=trusted, certificate=own))).flink == "1.20"


def test_a_file_that_is_no_certificate_is_named() -> None:
    with pytest.raises(ClusterError, match=f"{__file__} cannot be used for TLS"):
        running_job("flink:https://127.0.0.1:1", Asked(access=Access(ca=__file__)))


@pytest.mark.parametrize("answer", [{}, [], {"flink-version": 3}, "<html>"])
def test_what_is_not_flink_is_said_to_be_none(answer: object) -> None:
    told = Answers({"/config": answer, "/jobs/overview": answer})
    with cluster(told), pytest.raises(ClusterError, match="is no REST API of Flink"):
        running_job(f"flink:{told.url}", Asked())


@pytest.mark.parametrize("argument", ["flink:", "flink:jobmanager:8081", "flink:ftp://host/", "flink:http://"])
def test_an_address_that_is_none(argument: str) -> None:
    with pytest.raises(ClusterError, match="is no address of a JobManager: write flink:http://HOST:8081"):
        running_job(argument, Asked())


def test_a_cluster_that_is_away_is_named() -> None:
    with pytest.raises(ClusterError, match=r"http://127.0.0.1:1 does not answer: .*refused"):
        running_job("flink:http://127.0.0.1:1", Asked())


def test_the_jobs_of_a_cluster_with_their_last_snapshots() -> None:
    with cluster(answers(job(), job(OTHER, "old", "CANCELED", 2000), path=PATH)) as told:
        running = listed(told.url, Access(), everything=False)
        assert [one.job_id for one in listed(f"flink:{told.url}", Access(), everything=True)] == [OTHER, JOB]
    assert running == [
        ListedJob(
            job_id=JOB, name="small", status="RUNNING", started=1.0, snapshot=PATH, what="checkpoint 7", taken=1.79e9
        )
    ]
    assert {method for method, _ in told.asked} == {"GET"}
