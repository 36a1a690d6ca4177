"""Uids that hold half a surrogate pair, as Java's strings may: UTF-8 has no bytes for it, JSON an escape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main

UID = "h\ud800é"
SPEC = {"env": {}, "ops": [{"id": "s", "kind": "source", "uid": UID}, {"id": "m", "kind": "map", "inputs": ["s"]}]}


@pytest.fixture(autouse=True)
def _jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.json").write_text(json.dumps(SPEC))
    Path("cases.jsonl").write_text(json.dumps({"spec": SPEC}) + "\n")
    Path("pairs.jsonl").write_text('{"old": "job.json", "new": "job.json"}\n')


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(
    "arguments", [("job.json",), ("job.json", "job.json"), ("cases.jsonl",)], ids=["one", "several", "lines"]
)
def test_plans(arguments: tuple[str, ...]) -> None:
    result = run("plan", *arguments, "--format", "json")
    lines = [result.stdout] if arguments == ("job.json",) else result.stdout.splitlines()
    assert [json.loads(line)["operators"][0]["uid"] for line in lines] == [UID] * len(lines)
    assert "é" in result.stdout


def test_a_plan_that_is_written_can_be_checked() -> None:
    run("plan", "job.json", "-o", "old.json")
    assert run("check", "old.json", "job.json").output.startswith("COMPATIBLE")


def test_pairs() -> None:
    (line,) = run("check", "--pairs", "pairs.jsonl").stdout.splitlines()
    assert json.loads(line)["mapping"][0]["old"]["uid"] == UID


def test_a_plan_that_cannot_be_written_is_told() -> None:
    for path in ("none/job.plan.json", "html=none/page.html"):
        result = CliRunner().invoke(main, ["plan", "job.json", "-o", path])
        assert result.exit_code == 2, result.output
        assert "cannot be written: No such file or directory" in result.output
