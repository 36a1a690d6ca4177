"""The gate as CI uses it; the walk of the guide is typed with all other pages."""

from __future__ import annotations

import html
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml
from click.testing import CliRunner

from compat.cli import main
from tests.compat.service.running import ROOT

EXAMPLES = ROOT / "compat" / "examples"
V1, V2 = EXAMPLES / "word_count" / "v1.py", EXAMPLES / "word_count" / "v2.py"


def environment(**more):
    """Where ``compat`` is the one under test."""
    beside = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{beside}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **more}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def compat(service, *arguments, role="push"):
    runner = CliRunner()
    token = {} if role is None else {"COMPAT_TOKEN": service.tokens[role]}
    return runner.invoke(
        main, list(map(str, arguments)), env={"COMPAT_SERVER": service.url, "COMPAT_TOKEN": "", **token}
    )


def running_word_count(service, job):
    assert compat(service, "push", "--job", job, V1).exit_code == 0
    assert compat(service, "promote", "--job", job).exit_code == 0


def test_the_shell_script_lets_only_good_versions_through(service, job, tmp_path):
    running_word_count(service, job)
    token = environment(COMPAT_SERVER=service.url, COMPAT_TOKEN=service.tokens["push"])

    def gate(program):
        command = ["sh", str(EXAMPLES / "gate" / "gate.sh"), job, str(program)]
        return subprocess.run(command, env=token, capture_output=True, text=True, timeout=120, check=False)

    refused = gate(V2)
    assert refused.returncode == 1, refused.stderr
    assert service.client().get(f"/jobs/{job}").json()["versions"] == 1
    passed = gate(V1)
    assert passed.returncode == 0, passed.stderr
    assert f"{job}@1 runs now." in passed.stdout


def test_the_workflow_runs_commands_that_there_are():
    steps = yaml.safe_load((EXAMPLES / "gate" / "workflow.yml").read_text())["jobs"]["gate"]["steps"]
    commands = [step["run"].split() for step in steps if step.get("run", "").startswith("compat ")]
    named = [
        [word for word in command[1:3] if word in ("check", "registry", "push", "promote")] for command in commands
    ]
    assert named == [["check"], ["registry", "push"], ["registry", "promote"]]
    for command, names in zip(commands, named, strict=True):
        options = {option for option in command if option.startswith("--")}
        assert options <= set(re.findall(r"--[a-z-]+", CliRunner().invoke(main, [*names, "--help"]).output))


def test_the_page_of_a_check_shows_the_lines_of_both_programs(service, job):
    running_word_count(service, job)
    result = compat(service, "check", "--job", job, V2)
    number = re.search(r"/checks/(\d+)", result.stderr)[1]
    with httpx.Client(base_url=service.url, timeout=60) as client:
        page = html.unescape(client.get(f"/checks/{number}").text)
    finding = json.loads(re.search(r'id="view-data">(.*?)</script>', page, re.DOTALL)[1])["sections"][0]["findings"][0]
    for side, program in (("old", V1), ("new", V2)):
        source = finding[f"{side}_source"]
        line = int(source["place"].rpartition(":")[2])
        shown = next(each["text"] for each in source["lines"] if each["number"] == line)
        assert shown.strip() == program.read_text().splitlines()[line - 1].strip()
        assert shown in page


def test_a_check_is_recorded_with_commit_and_author(service, job):
    running_word_count(service, job)
    result = compat(service, "check", "--job", job, V2, "--commit", "abc", "--author", "Ada")
    assert result.exit_code == 1
    assert "CMP103" in result.output
    check = service.client().get(f"/jobs/{job}").json()["last_check"]
    assert (check["commit"], check["author"], check["verdict"]) == ("abc", "Ada", "incompatible")
    assert check["new"]["label"] == str(V2)
    assert f"/checks/{check['id']}" in result.stderr


def test_what_a_comment_lets_pass_here_an_admin_accepts_there_with_its_reason(service, job, tmp_path):
    running_word_count(service, job)
    silent = tmp_path / "silent.py"
    silent.write_text(
        V2.read_text().replace(
            ".filter(lambda word: len(word) > 2)", ".filter(lambda word: len(word) > 2)  # compat: ignore[CMP103]"
        )
    )
    told = compat(service, "check", "--job", job, silent, role="admin")
    assert told.exit_code == 1
    assert "without a reason" in told.stderr
    text = V2.read_text().replace(
        ".filter(lambda word: len(word) > 2)", ".filter(lambda word: len(word) > 2)  # compat: ignore[CMP103] agreed"
    )
    program = tmp_path / "job.py"
    program.write_text(text)
    assert "agreed" in text
    mine = compat(service, "check", "--job", job, program)
    assert mine.exit_code == 1
    assert "until an admin accepts them" in mine.stderr
    compat(service, "push", "--job", job, program)
    assert compat(service, "promote", "--job", job).exit_code == 1
    result = compat(service, "check", "--job", job, program, role="admin")
    assert result.exit_code == 0, result.output
    check = service.client().get(f"/jobs/{job}").json()["last_check"]
    assert check["passed"]
    report = service.client().get(f"/checks/{check['id']}").json()["report"]
    assert [finding["ignored"] for finding in report["suppressed"]] == ["agreed"]
    assert compat(service, "check", "--job", job, program).exit_code == 0
    promoted = compat(service, "promote", "--job", job)
    assert promoted.exit_code == 0
    assert "agreed" in promoted.output


def test_an_admin_accepts_findings_by_their_fingerprints(service, job):
    running_word_count(service, job)
    assert compat(service, "push", "--job", job, V2).exit_code == 0
    (version, *_) = service.client().get(f"/jobs/{job}/versions").json()["versions"]
    sides = {"old": {"job": job}, "new": {"job": job, "version": version["number"]}}
    report = service.client("admin").post("/checks", json={**sides, "record": False}).json()["report"]
    against = [each["fingerprint"] for each in report["findings"] if each["level"] in ("error", "unknown")]

    def accept(*words, role="admin"):
        return compat(service, "registry", "accept", "--job", job, "--reason", "agreed", *words, role=role)

    other = accept(*against, "CMP101|nothing")
    assert (other.exit_code, other.stderr) == (2, f"{job}@{version['number']} has no such finding: CMP101|nothing\n")
    assert accept(*against, role="push").exit_code == 2
    assert accept(against[0], "--version", "99").exit_code == 2
    told = accept(*against)
    assert told.exit_code == 0, told.output
    assert told.output.count("let pass: CMP") == len(against)
    assert compat(service, "registry", "accepted", "--job", job).output.count("agreed; a admin") == len(against)
    assert compat(service, "promote", "--job", job).exit_code == 0


def accept_all(service, job, program):
    """An admin lets everything pass that stands against a program; the fingerprints."""
    plan = json.loads(CliRunner().invoke(main, ["plan", str(program), "--format", "json"]).output)
    sides = {"old": {"job": job}, "new": {"plan": plan}}
    report = service.client("admin").post("/checks", json={**sides, "record": False}).json()["report"]
    found = [each["fingerprint"] for each in report["findings"] if each["level"] in ("error", "unknown")]
    accept = [{"fingerprint": each, "reason": "agreed"} for each in found]
    assert (
        service.client("admin").post("/checks", json={**sides, "options": {"accept": accept}}).json()["check"]["passed"]
    )
    return found


def test_what_was_accepted_can_be_taken_back(service, job):
    running_word_count(service, job)
    assert compat(service, "push", "--job", job, V2).exit_code == 0
    fingerprints = accept_all(service, job, V2)
    told = compat(service, "accepted", "--job", job)
    assert (told.exit_code, told.output.count("agreed; a admin")) == (0, len(fingerprints))
    assert all(each in told.output for each in fingerprints)
    shown = html.unescape(httpx.get(f"{service.url}/jobs/{job}").text)
    assert "Accepted findings" in shown
    assert fingerprints[0] in shown
    for role, reason in (("push", "no"), ("admin", " ")):
        refused = compat(service, "withdraw", "--job", job, fingerprints[0], "--reason", reason, role=role)
        assert refused.exit_code == 2, refused.output
    taken = compat(service, "withdraw", "--job", job, fingerprints[0], "--reason", "needed after all", role="admin")
    assert taken.exit_code == 0, taken.output
    assert "no more let pass: CMP" in taken.output
    assert fingerprints[0] not in compat(service, "accepted", "--job", job).output
    assert compat(service, "check", "--job", job, V2).exit_code == 1
    assert compat(service, "promote", "--job", job).exit_code == 1
    assert compat(service, "withdraw", "--job", job, fingerprints[0], "--reason", "x", role="admin").exit_code == 2
    entry = next(each for each in service.client("admin").get("/audit").json()["audit"] if each["action"] == "withdraw")
    assert (entry["job"], entry["by"], entry["detail"]["reason"]) == (job, "a admin", "needed after all")
    assert entry["detail"]["fingerprint"] == fingerprints[0]


def test_every_format_works_against_a_server(service, job, tmp_path):
    running_word_count(service, job)
    outputs = [
        f"--output={name}={tmp_path / name}" for name in ("json", "sarif", "junit", "markdown", "github", "html")
    ]
    assert compat(service, "check", "--job", job, V2, *outputs).exit_code == 1
    assert all((tmp_path / name).stat().st_size for name in ("json", "sarif", "junit", "markdown", "github", "html"))


def test_without_a_token_one_may_check_but_nothing_is_kept(service, job):
    running_word_count(service, job)
    result = compat(service, "check", "--job", job, V2, role=None)
    assert result.exit_code == 1
    assert "Not recorded" in result.stderr
    assert service.client().get(f"/jobs/{job}").json()["last_check"] is None
    assert compat(service, "push", "--job", job, V2, role=None).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check", "--job", "nobody", V1), "There is no job 'nobody'"),
        (("check", V1), "--job NAME"),
        (("check", "--job", "x", V1, "--pairs", V1), "--pairs"),
        (("promote", "--job", "nobody"), "There is no job 'nobody'"),
        (("promote", "--job", "x", "--force"), "go together"),
        (("push", "--job", "a/b", V1), "A job's name has"),
        (("push", "--job", "x", "nothing.py"), "There is no file"),
        (("push", "--job", "x", "--server", "file:///etc/passwd", V1), "is not an address"),
        (("check", "--job", "x", "--server", "ftp://localhost", V1), "is not an address"),
    ],
)
def test_what_cannot_be_asked_is_never_success(service, arguments, says):
    result = compat(service, *arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_a_server_that_is_no_service_is_told(monkeypatch):
    monkeypatch.setattr("compat.transport.PATIENCE", 0.0)
    result = CliRunner().invoke(main, ["push", "--job", "x", "--server", f"http://127.0.0.1:{free_port()}", str(V1)])
    assert result.exit_code == 2
    assert "does not answer" in result.output


def test_a_version_tells_of_which_program_it_is(service, job):
    pushed = compat(service, "push", "--job", job, V1)
    kept = service.client().get(f"/jobs/{job}/versions/1").json()["plan"]["program"]
    assert f"{job}@1 registered, of the program {kept}." in pushed.output
    assert kept in httpx.get(f"{service.url}/jobs/{job}/versions/1").text
    checked = compat(service, "check", "--job", job, V1)  # of a plan that nobody promoted
    assert checked.exit_code == 2
    assert compat(service, "promote", "--job", job).exit_code == 0
    assert compat(service, "check", "--job", job, V2).exit_code == 1
    compat(service, "push", "--job", job, V2)
    refused = compat(service, "promote", "--job", job)
    assert refused.exit_code == 1
    checks = service.client().get("/checks", params={"job": job}).json()["checks"]
    assert len(checks) == 1  # the plan that was checked is the plan that was pushed, with its program


def test_the_registry_names_the_operators_of_an_exception(service, job, tmp_path):
    running_word_count(service, job)
    log = tmp_path / "jm.log"
    log.write_text("IllegalStateException: There is no operator for the state 90bea66de1c231edf33913ecd54406c1\n")
    for named in ([], ["--server", service.url]):
        told = compat(service, "diagnose", log, "--job", job, *named)
        assert told.exit_code == 1, told.output
        assert "operator 'count words', id 90bea66de1c231edf33913ecd54406c1" in told.output
    assert "of an unknown name" in compat(service, "diagnose", log).output
    assert compat(service, "diagnose", log, "--job", "nobody's").exit_code == 2
    assert compat(service, "diagnose", log, "--server", service.url).exit_code == 2
