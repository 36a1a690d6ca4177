"""The hook of pre-commit, the GitHub Action, and the command behind both: each job against its last revision."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from compat.cli import main
from tests import needs
from tests.compat import walks
from tests.compat.fix.programs import INSERTED, program
from tests.needs import Need
from tests.repositories import committed

ROOT = Path(__file__).parents[3]
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
*_, INSTALL, CHECK = ACTION["runs"]["steps"]

OLD = program("numbers.map(identity, L).COUNTED.name('c')")
MOVED = program(f"{INSERTED}.COUNTED.name('c')")

pytestmark = needs.unless(shutil.which("git"), Need.GIT)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a job and a module beside it, both committed; the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    Path("jobs/count.py").write_text(OLD)
    Path("jobs/words.py").write_text("WORDS = ['to', 'be']\n")
    committed()
    return tmp_path


def against(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "--against", "HEAD", "--output", "concise", *arguments])


def test_what_did_not_change_or_is_no_job_or_is_new_passes(project: Path) -> None:
    Path("jobs/new.py").write_text(OLD)
    result = against("jobs/count.py", "jobs/words.py", "jobs/new.py")
    assert result.exit_code == 0, result.output
    assert "error" not in result.stdout
    assert [line for line in result.stdout.splitlines() if "CMP908" in line] == [
        "jobs/words.py: CMP908 note jobs/words.py is a module that others import: it makes no job.",
        "jobs/new.py: CMP908 note jobs/new.py is new: HEAD has no such file.",
    ]


def test_a_moved_operator_fails_from_any_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("jobs/count.py").write_text(MOVED)
    assert against("jobs/count.py").exit_code == 1
    monkeypatch.chdir("jobs")
    result = against("count.py")
    assert result.exit_code == 1
    assert "count.py:23: CMP102 error" in result.output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--against", "nowhere", "jobs/count.py"], "knows no revision 'nowhere'"),
        (["--against", "--upload-pack=x", "jobs/count.py"], "knows no revision"),
        (["--against", "HEAD"], "--against takes files"),
        (["--against", "HEAD", "jobs/cuont.py"], "There is no file 'jobs/cuont.py', neither here nor at HEAD"),
        (["--against", "HEAD", "jobs/count.py", "--fix"], "--fix has no effect with --against"),
        (["jobs/count.py", "jobs/count.py", "jobs/words.py"], "jobs/words.py is a third one"),
    ],
)
def test_wrong_usage_is_told(project: Path, arguments: list[str], reason: str) -> None:
    result = CliRunner().invoke(main, ["check", *arguments])
    assert result.exit_code == 2
    assert reason in " ".join(result.output.split())


def test_the_hook_runs_as_pre_commit_would(project: Path) -> None:
    command = [sys.executable, "-m", *shlex.split(HOOK["entry"])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    Path("jobs/count.py").write_text(MOVED)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("jobs/count.py:23: CMP102 error")


def test_the_hook_says_all_that_pre_commit_asks_for() -> None:
    assert {"id", "name", "entry", "language"} <= HOOK.keys()
    assert HOOK["language"] == "python"
    assert HOOK["require_serial"] is True
    assert HOOK["pass_filenames"] is False
    assert HOOK["always_run"] is True


def test_the_action_is_well_formed() -> None:
    assert {"name", "description", "runs"} <= ACTION.keys()
    assert ACTION["runs"]["using"] == "composite"
    for step in ACTION["runs"]["steps"]:
        assert "uses" in step or {"run", "shell"} <= step.keys()
        assert "${{" not in step.get("run", ""), "inputs reach a script by its environment, or they are run as code"
    used = {*CHECK["env"], *INSTALL["env"]} - {"ACTION_PATH"}
    assert {name.lower().replace("_", "-") for name in used} <= ACTION["inputs"].keys()


def run_action(project: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], str, str]:
    """Run the action's script as a runner does; gives the run, the summary and the outputs."""
    tools, summary, outputs = project / ".tools", project / "summary.md", project / "outputs"
    tools.mkdir()
    python = shlex.quote(sys.executable)
    (tools / "compat").write_text(f'#!/bin/sh\nexec {python} -m compat "$@"\n')
    (tools / "python").write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    values = {
        name.upper().replace("-", "_"): str(given.get("default", "")) for name, given in ACTION["inputs"].items()
    } | inputs
    environment = {
        **os.environ,
        **values,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(outputs),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", CHECK["run"]]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return done, summary.read_text(encoding="utf-8") if summary.exists() else "", outputs.read_text(encoding="utf-8")


def test_the_action_annotates_and_fails_with_the_check(project: Path) -> None:
    Path("jobs/count.py").write_text(MOVED)
    done, summary, outputs = run_action(project, JOBS="jobs/*.py", AGAINST="HEAD", SARIF="report.sarif")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=jobs/count.py,line=23,title=CMP102 operator-moved::")
    assert "INCOMPATIBLE" in summary
    assert outputs == "exit-code=1\n"
    assert Path("report.sarif").exists()


def test_the_action_without_jobs_takes_those_that_the_change_concerns(project: Path) -> None:
    Path("jobs/count.py").write_text(MOVED)
    done, summary, outputs = run_action(project, AGAINST="HEAD")
    assert (done.returncode, outputs) == (1, "exit-code=1\n"), done.stderr
    assert "::error file=jobs/count.py" in done.stdout
    assert "INCOMPATIBLE" in summary


def test_the_action_tells_of_a_job_that_is_gone(project: Path) -> None:
    Path("jobs/count.py").unlink()
    done, summary, outputs = run_action(project, JOBS="jobs/*.py", AGAINST="HEAD")
    assert (done.returncode, outputs) == (2, "exit-code=2\n"), done.stderr
    assert "CMP909" in done.stdout
    assert "CMP909" in summary


def test_the_action_passes_options_on(project: Path) -> None:
    Path("jobs/count.py").write_text(MOVED)
    options = "--allow-non-restored-state -D 'pipeline.name=a job'"
    done, _, outputs = run_action(project, JOBS="jobs/count.py\njobs/words.py\n", AGAINST="HEAD", OPTIONS=options)
    assert done.returncode == 0, done.stderr
    assert outputs == "exit-code=0\n"


def test_the_action_checks_against_what_is_given(project: Path) -> None:
    Path("old.py").write_text(OLD)
    done, _, outputs = run_action(project, JOBS="jobs/count.py", OLD="old.py")
    assert (done.returncode, outputs) == (0, "exit-code=0\n"), done.stderr


def test_the_action_checks_jars_with_the_class_path_that_is_given(project: Path) -> None:
    for name in ("old.jar", "new.jar"):
        shutil.copy(ROOT / "compat" / "examples" / "payments" / "v1.jar", name)
    done, _, outputs = run_action(project, JOBS="new.jar", OLD="old.jar", CLASS_PATH="nowhere/*")
    assert outputs == "exit-code=2\n"
    assert "nowhere" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("inputs", "installed"),
    [
        ({}, ["pip install --quiet /action"]),
        ({"EXTRAS": "jvm,fix"}, ["pip install --quiet /action[jvm,fix]"]),
        ({"REQUIREMENTS": "the jobs.txt"}, ["pip install --quiet /action -r the jobs.txt"]),
        ({"PYFLINK": "1.20"}, ["pip install --quiet /action", "setup pyflink 1.20"]),
    ],
    ids=["itself", "extras", "requirements", "pyflink"],
)
def test_the_action_installs_what_is_asked_for(tmp_path: Path, inputs: dict[str, str], installed: list[str]) -> None:
    for tool, told in (("python", '"${@:2}"'), ("compat", '"$@"')):
        (tmp_path / tool).write_text(f'#!/bin/bash\necho {told} >> "{tmp_path}/told"\n')
        (tmp_path / tool).chmod(0o755)
    empty = dict.fromkeys(INSTALL["env"], "")
    environment = {**empty, "ACTION_PATH": "/action", **inputs, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["bash", "-eo", "pipefail", "-c", INSTALL["run"]], env=environment, check=True)
    assert (tmp_path / "told").read_text().splitlines() == installed


def block(guide: str, language: str) -> str:
    """The block of a guide in a language."""
    page = (ROOT / "docs" / "pages" / "howto" / guide).read_text(encoding="utf-8")
    (found,) = [one.text for one in walks.blocks(page) if one.language == language]
    return found


def test_the_guides_hook_and_action_are_the_ones_there_are() -> None:
    hooks = yaml.safe_load(block("pre-commit.md", "yaml"))
    workflow = yaml.safe_load(block("github-actions.md", "yaml"))
    (used,) = hooks["repos"][0]["hooks"]
    assert used["id"] == HOOK["id"]
    assert used.keys() <= HOOK.keys()
    assert workflow["jobs"]["state"]["steps"][-1]["with"].keys() <= ACTION["inputs"].keys()
