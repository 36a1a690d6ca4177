"""The commands of the README, on the shipped examples."""

import json
from pathlib import Path

from click.testing import CliRunner

from compat.cli import main

EXAMPLES = Path(__file__).parents[3] / "compat" / "examples"
OLD, NEW = str(EXAMPLES / "word_count" / "v1.py"), str(EXAMPLES / "word_count" / "v2.py")


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_the_main_job_says_that_the_state_goes_to_another_operator():
    result = run("check", OLD, NEW)
    assert result.exit_code == 1
    assert result.output.startswith("INCOMPATIBLE")
    assert "CMP103" in result.output


def test_a_program_is_compatible_with_itself_and_with_its_snapshot(tmp_path):
    snapshot = str(tmp_path / "job.plan.json")
    assert run("plan", OLD, "-o", snapshot).exit_code == 0
    assert run("check", OLD, OLD).exit_code == 0
    assert run("check", snapshot, OLD).exit_code == 0
    assert run("check", snapshot, NEW).exit_code == 1


def test_explain_tells_where_it_began():
    result = run("explain", OLD, NEW, "count words")
    assert result.exit_code == 0
    assert "->" in result.output


def test_rules_schema_and_help_work():
    assert "CMP101" in run("rules").output
    assert run("rule", "CMP101").exit_code == 0
    assert json.loads(run("schema", "report").output)
    assert "Examples:" in run("--help").output


def test_lines_of_topologies_give_lines_of_plans(tmp_path):
    path = tmp_path / "cases.jsonl"
    good = {"ops": [{"id": "a", "kind": "source"}, {"id": "b", "kind": "print", "inputs": ["a"]}]}
    path.write_text(f"{json.dumps({'spec': good})}\n{{broken\n{json.dumps(good)}\n", encoding="utf-8")
    result = run("plan", str(path), "--format", "json")
    plans = [json.loads(line) for line in result.output.splitlines()]
    assert [plan["error"] is None for plan in plans] == [True, False, True]
    assert result.exit_code == 2
