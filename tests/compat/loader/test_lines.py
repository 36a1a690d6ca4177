"""The commands that keep or send a plan put the program's lines into it."""

from __future__ import annotations

import json

from click.testing import CliRunner

from compat.cli import main
from compat.loader.inputs import LoadOptions, load, opened
from compat.loader.lines import carrying, carrying_from
from tests.repositories import committed

PROGRAM = """\
from pyflink.datastream import StreamExecutionEnvironment
from steps import counted

env = StreamExecutionEnvironment.get_execution_environment()
counted(env.from_collection([1, 2])).print()
env.execute("numbers")
"""
STEPS = """\
def counted(stream):
    return stream.map(lambda x: x + 1)  # one more
"""


def project(folder):
    (folder / "job.py").write_text(PROGRAM)
    (folder / "steps.py").write_text(STEPS)


def test_a_plan_as_json_has_the_lines_of_the_program_and_of_its_modules(tmp_path, monkeypatch):
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    told = json.loads(CliRunner().invoke(main, ["plan", "job.py", "--format", "json"]).output)
    lines = {file: dict(map(tuple, lines)) for file, lines in told["lines"].items()}
    assert lines["job.py"][5] == "counted(env.from_collection([1, 2])).print()"
    assert lines["steps.py"] == {1: "def counted(stream):", 2: "    return stream.map(lambda x: x + 1)  # one more"}
    assert CliRunner().invoke(main, ["plan", "job.py", "-o", "kept.json"]).exit_code == 0
    assert json.loads((tmp_path / "kept.json").read_text())["lines"] == told["lines"]


def test_of_a_revision_the_lines_are_those_of_then(tmp_path, monkeypatch):
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    committed()
    (tmp_path / "job.py").write_text("raise SystemExit\n")
    with opened("git:HEAD:job.py") as given:
        (plan,) = (carrying(plan, given) for plan in load(given, LoadOptions()))
    assert dict(plan.lines["git:HEAD:job.py"])[6] == 'env.execute("numbers")'
    assert dict(plan.lines["git:HEAD:steps.py"])[1] == "def counted(stream):"


def test_a_kept_plan_keeps_its_lines_and_others_take_those_at_hand(tmp_path, monkeypatch):
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(main, ["plan", "job.py", "-o", "kept.json"])
    (tmp_path / "job.py").write_text("# nothing\n" * 10)
    with opened("kept.json") as given:
        (plan,) = load(given, LoadOptions())
        assert carrying(plan, given) is plan
    assert carrying_from(plan, {"job.py": ["other"] * 9}) is plan
    assert dict(plan.lines["job.py"])[6] == 'env.execute("numbers")'


def test_lines_read_already_come_before_those_of_the_files(tmp_path, monkeypatch):
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    with opened("job.py") as given:
        (plan,) = load(given, LoadOptions())
    found = carrying_from(plan, {"job.py": ["as it was"] * 9})
    assert dict(found.lines["job.py"])[5] == "as it was"
    assert dict(found.lines["steps.py"])[1] == "def counted(stream):"
