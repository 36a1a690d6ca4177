"""``compat check`` alone, in a project whose settings name its jobs and the revision that they are held against."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from tests.compat.fix.programs import program
from tests.repositories import committed, git

COUNTED = program("numbers.COUNTED.uid('count').print()")
RENAMED = program("numbers.COUNTED.uid('counts').print()")
SETTINGS = '[tool.compat]\njobs = ["jobs/*.py", "other.py"]\nbaseline = "git:main"\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPAT_SERVER", raising=False)
    Path("jobs").mkdir()
    for name in ("jobs/a.py", "jobs/b.py", "other.py"):
        Path(name).write_text(COUNTED, encoding="utf-8")
    Path("jobs/tools.py").write_text("x = 1\n", encoding="utf-8")
    Path("pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    committed()
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments])


def test_all_jobs_are_checked_and_what_is_no_job_is_passed_over() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.split(" restores")[0] for line in lines[:3]] == [
        "COMPATIBLE: jobs/a.py",
        "COMPATIBLE: jobs/b.py",
        "COMPATIBLE: other.py",
    ]
    assert lines[3:] == [
        "NOT CHECKED: jobs/tools.py is a module that others import: it makes no job.",
        "",
        "3 checks: 3 compatible. Not checked: 1 no job.",
    ]


def test_a_job_that_broke_fails_the_check_and_the_next_command_is_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("jobs/b.py").write_text(RENAMED, encoding="utf-8")
    result = run()
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-2] == "3 checks: 2 compatible, 1 incompatible. Not checked: 1 no job."
    assert result.stdout.splitlines()[-1].startswith("Next: compat check git:main:jobs/b.py jobs/b.py")
    monkeypatch.chdir("jobs")
    below = run()
    assert below.exit_code == 1
    assert "INCOMPATIBLE: b.py " in below.stdout


def test_one_file_is_checked_against_the_same_revision() -> None:
    Path("jobs/b.py").write_text(RENAMED, encoding="utf-8")
    assert run("jobs/a.py").exit_code == 0
    alone = run("jobs/b.py")
    assert alone.exit_code == 1
    assert "git:main:jobs/b.py" in alone.stdout


def test_another_revision_may_be_named() -> None:
    Path("jobs/b.py").write_text(RENAMED, encoding="utf-8")
    git("commit", "-qam", "renamed")
    assert run().exit_code == 0
    assert run("--against", "HEAD~1").exit_code == 1


def test_two_files_are_compared_as_ever() -> None:
    result = run("jobs/a.py", "jobs/b.py")
    assert result.exit_code == 0
    assert result.stdout.startswith("COMPATIBLE: jobs/b.py restores the state of jobs/a.py")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ('jobs = ["none/*.py"]\nbaseline = "git:main"', "jobs: there is no file 'none/*.py'"),
        ('jobs = ["jobs/*.py"]', 'add --against REF, or set baseline = "git:origin/main" there'),
        ('jobs = ["../*.py"]', "they are below the folder of the settings"),
        ('jobs = ["other.py"]\nbaseline = ["git:main", "git:HEAD"]', "must be the path of a file with findings"),
        ('jobs = ["other.py"]\nbaseline = "git:"', "must be the path of a file with findings"),
        ("jobs = 3", "must be a path or a pattern"),
        ("", "Two programs are needed"),
    ],
)
def test_settings_that_say_too_little_or_nonsense(settings: str, reason: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.compat]\n{settings}\n", encoding="utf-8")
    result = run()
    assert result.exit_code == 2
    assert reason in " ".join(result.output.replace("│", " ").split())


def test_a_revision_and_known_findings_go_together() -> None:
    Path("jobs/b.py").write_text(RENAMED, encoding="utf-8")
    Path("pyproject.toml").write_text(SETTINGS.replace('"git:main"', '["git:main", "known.json"]'), encoding="utf-8")
    assert run("--write-baseline", "git:main:jobs/b.py", "jobs/b.py").exit_code == 0
    assert run().exit_code == 0


def test_a_baseline_of_the_whole_project_is_written_where_the_settings_name_it() -> None:
    Path("jobs/b.py").write_text(RENAMED, encoding="utf-8")
    Path("pyproject.toml").write_text(SETTINGS.replace('"git:main"', '["git:main", "known.json"]'), encoding="utf-8")
    assert "known.json: no such baseline; write one with --write-baseline" in run().output
    written = run("--write-baseline")
    assert (written.exit_code, Path("known.json").exists()) == (0, True), written.output
    assert run().exit_code == 0


def test_jobs_that_the_settings_do_not_name_are_told() -> None:
    for name in ("jobs/orders/main.py", "jobs/orders/left_out.py", "tests/test_job.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(COUNTED, encoding="utf-8")
    entry = '[[tool.compat.job]]\npath = "jobs/orders/left_out.py"\ncheck = false\n'
    Path("pyproject.toml").write_text(SETTINGS + entry, encoding="utf-8")
    result = run()
    assert result.exit_code == 0, result.output
    assert "NOT CHECKED: jobs/orders/main.py is not among the jobs that the settings name." in result.stdout
    assert result.stdout.splitlines()[-1] == "3 checks: 3 compatible. Not checked: 1 no job, 1 not named."
