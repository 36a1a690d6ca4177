"""``flink:URL`` as OLD: the verdict on the last snapshot of a job that runs, and on one that nobody can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.state.stores.paths import place_of
from tests.compat.running.clusters import COUNT, JOB, SMALL, SOURCE, Several, answers, cluster, taken

FORKED = {SOURCE: "Source: n -> slow", COUNT: "Count -> Sink: Print to Std. Out"}
ALONE = {SOURCE: "Source: n", COUNT: "Count"}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "job.py"
    file.write_text(SMALL["program"])
    return file


def compat(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments], env=environment)


def said(result: Result) -> str:
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def test_the_last_checkpoint_of_the_job_is_old(program: Path) -> None:
    with cluster(answers(path=f"file:{SMALL['path']}", vertices=FORKED)) as told:
        same = compat("check", f"flink:{told.url}/small", program, "--names", program)
        program.write_text(program.read_text().replace('uid("count")', 'uid("counts")'))
        moved = compat("check", f"flink:{told.url}/small", program)
    assert same.exit_code == 0, same.output
    assert "OLD is checkpoint 7 of 2026-09-2" in said(same)  # the day depends on where one is
    assert "of small (RUNNING on Flink 1.20): file:" in said(same)
    assert 'flink run -s "$SAVEPOINT"' in said(same)
    assert moved.exit_code == 1
    assert "'Count'" in said(moved)  # the metadata of Flink 1.20 has no names: this one is the cluster's
    assert {method for method, _ in told.asked} == {"GET"}


def test_the_version_of_the_cluster_is_that_of_old(program: Path) -> None:
    """A savepoint of 1.20 does not tell whether 1.15 or 1.20 wrote it."""
    with cluster(answers(path=f"file:{SMALL['path']}", vertices=FORKED)) as told:
        stays, upgraded = (
            compat("check", f"flink:{told.url}", program, "--output", "json", *given)
            for given in ((), ("--flink", "2.3"))
        )
    sides = [{side: json.loads(one.stdout)[side]["flink"] for side in ("old", "new")} for one in (stays, upgraded)]
    assert sides == [{"old": "1.20", "new": "1.20"}, {"old": "1.20", "new": "2.3"}]
    assert "Judged as Flink 1.20: the job runs on 1.20." in json.loads(stays.stdout)["notes"]


@pytest.mark.parametrize(
    "path",
    [
        "file:/nowhere/chk-7",
        "<checkpoint-not-externally-addressable>",
        "http://169.254.169.254/chk-7",
        "s3://bucket/a::http://169.254.169.254/chk-7",
    ],
)
def test_a_snapshot_that_nobody_reads_is_never_compatible(program: Path, path: str) -> None:
    with cluster(answers(path=path, vertices=FORKED)) as told:
        forked = compat("check", f"flink:{told.url}", program)
    assert forked.exit_code == 2
    assert f"Count -> Sink: Print to Std. Out ({COUNT}) has 400 bytes of state" in said(forked)


def test_what_the_cluster_tells_of_single_operators_is_judged(program: Path) -> None:
    with cluster(answers(path="file:/nowhere/chk-7", vertices=ALONE)) as told:
        untold = compat("check", f"flink:{told.url}", program)
        program.write_text(program.read_text().replace('uid("count")', 'uid("counts")'))
        moved = compat("check", f"flink:{told.url}", program)
    assert untold.exit_code == 2
    assert "which cannot be read from here" in said(untold)
    assert "CMP410" in untold.output
    assert "'Count'" in said(untold)
    assert moved.exit_code == 1
    assert "CMP102" in moved.output


def test_a_checkpoint_that_is_gone_by_now_has_a_next_one(program: Path) -> None:
    told = answers(path="file:/gone/chk-7", vertices=FORKED)
    place = f"/jobs/{JOB}/checkpoints"
    later = {"latest": {"completed": taken(f"file:{SMALL['path']}", 8), "savepoint": None}}
    told.pages[place] = Several([told.pages[place], later])
    with cluster(told):
        assert "OLD is checkpoint 8" in said(compat("check", f"flink:{told.url}", program, "--names", program))


def test_a_checkpoint_in_a_bucket(program: Path, s3: str) -> None:
    place = place_of(s3) / "checkpoints" / "chk-7"
    for file in SMALL["path"].iterdir():
        (place / file.name).write(file.read_bytes())
    with cluster(answers(path=f"{place}", vertices=FORKED)) as told:
        result = compat("check", f"flink:{told.url}", program, "--names", program)
    assert result.exit_code == 0, result.output
    assert f"{place}" in "".join(result.output.split())


def test_a_job_without_snapshots_is_undecided_and_says_what_to_do(program: Path) -> None:
    with cluster(answers()) as told:
        result = compat("check", f"flink:{told.url}", program)
    assert result.exit_code == 2
    assert "small has no completed checkpoint or savepoint" in said(result)
    assert "--take-savepoint DIR" in said(result)


def test_headers_come_from_a_file_or_the_environment(program: Path, tmp_path: Path) -> None:
    told = answers(path=f"file:{SMALL['path']}", vertices=FORKED)
    told.token = "Bearer 1a2b"
    (tmp_path / "headers").write_text("Authorization: Bearer 1a2b\n")
    with cluster(told):
        asked = ("inspect", f"flink:{told.url}")
        assert compat(*asked).exit_code == 2
        assert compat(*asked, "--flink-headers", tmp_path / "headers").exit_code == 0
        assert compat(*asked, COMPAT_FLINK_HEADERS="Authorization: Bearer 1a2b").exit_code == 0
        assert "COMPAT_FLINK_HEADERS: line 1 is no header" in said(compat(*asked, COMPAT_FLINK_HEADERS="Bearer"))


def test_inspect_names_operators_as_the_cluster_does() -> None:
    with cluster(answers(path=f"file:{SMALL['path']}", vertices=FORKED)) as told:
        result = compat("inspect", f"flink:{told.url}", "--format", "json")
    names = {one["id"]: one["name"] for one in json.loads(result.stdout)["operators"]}
    assert (names[SOURCE], names[COUNT]) == ("Source: n", "Count")


def test_explain_tells_why_an_operator_of_the_job_has_another_id(program: Path) -> None:
    program.write_text(program.read_text().replace('uid("count")', 'uid("counts")'))
    with cluster(answers(path=f"file:{SMALL['path']}", vertices=FORKED)) as told:
        assert COUNT in said(compat("explain", f"flink:{told.url}", program, "Count"))


def test_the_jobs_of_a_cluster_are_listed() -> None:
    with cluster(answers(path="s3://bucket/chk-7")) as told:
        text = said(compat("list", "--flink", told.url))
        (told_job,) = json.loads(compat("job", "list", "--flink", told.url, "--format", "json").stdout)
    assert text.endswith(f": {JOB} : small (RUNNING, checkpoint 7: s3://bucket/chk-7)")
    assert told_job["snapshot"] == "s3://bucket/chk-7"
    assert "does not answer" in said(compat("list", "--flink", told.url))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("check", "job.py", "job.py", "--take-savepoint", "/sp"),
            "--take-savepoint has no effect here: OLD is no job that runs",
        ),
        (("check", "job.py", "flink:http://127.0.0.1:1"), "is a running job, which can only be OLD"),
        (("plan", "flink:http://127.0.0.1:1"), "is a running job, which can only be OLD"),
    ],
)
def test_what_has_no_effect_is_refused(
    program: Path, arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    result = compat(*arguments)
    assert result.exit_code == 2
    assert says in said(result)
