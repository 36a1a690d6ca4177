"""Programs that give no plan: one clear message and exit code 2, in time."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.loader.advice import pip
from compat.loader.inputs import InputError, InputKind, opened

ROOT = Path(__file__).parents[3]
GOOD = """
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1], Types.INT()).map(lambda x: x, Types.INT()).print()
"""


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize(
    ("program", "rule", "says"),
    [
        ("raise ValueError('out of cheese')", "CMP901", "out of cheese"),
        ("while True: pass", "CMP902", "did not end within"),
        (
            "import selectors\nwaiting = selectors.DefaultSelector()\nwaiting.select()",
            "CMP902",
            "bad.py:3, in <module>",
        ),
        ("import sys; sys.exit(3)", "CMP901", "sys.exit(3)"),
        ("def broken(:", "CMP901", "SyntaxError"),
        ("import no_such_module_at_all\nno_such_module_at_all.begin()", "CMP901", "no_such_module_at_all"),
        (GOOD, "CMP903", "submits no job"),
        (
            "try:\n    1 / 0\nexcept Exception as e:\n    print('failed:', e)",
            "CMP903",
            "says: failed: division by zero",
        ),
        ("import os; os._exit(7)", "CMP901", "ended its process"),
        ("print('x' * 5_000_000)\nraise SystemExit('enough')", "CMP901", "enough"),
        (GOOD + "env.execute()\nenv.execute()", "CMP901", "No operators defined"),
    ],
    ids=[
        "raises",
        "loops",
        "waits",
        "exits",
        "syntax",
        "module",
        "no-job",
        "swallows",
        "dies",
        "prints",
        "executes-twice",
    ],
)
def test_check_says_why_and_ends_with_2(tmp_path, program, rule, says):
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text(program, encoding="utf-8")
    good.write_text(GOOD + "env.execute()", encoding="utf-8")
    result = run("check", str(good), str(bad), "--timeout", "3", "--output", "concise")
    assert result.exit_code == 2
    assert rule in result.output
    assert says in result.output


def test_a_module_that_a_package_of_another_name_gives_is_said_with_the_name_of_the_package(tmp_path):
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text("import MySQLdb\nMySQLdb.begin()", encoding="utf-8")
    good.write_text(GOOD + "env.execute()", encoding="utf-8")
    result = run("check", str(good), str(bad))
    assert result.exit_code == 2
    assert f"Run: {pip()} install mysqlclient\n" in result.output


WITH_CLIENT = """
class Listener:
    def on_job_submitted(self, client, error=None):
        raise AssertionError("told")

    def on_job_executed(self, result, error=None):
        raise AssertionError("told")

env.register_job_listener(Listener())
client = env.execute_async("counting")
"""


def test_a_program_may_ask_its_planned_job_for_anything(tmp_path):
    (tmp_path / "job.py").write_text(
        GOOD
        + WITH_CLIENT
        + """
assert client.trigger_savepoint("/x").result().startswith("/x/")
assert client.get_job_status().result().name == "CREATED"
assert client.get_job_execution_result().result().get_job_id() == client.get_job_id()
assert isinstance(client.stop_with_savepoint(False, "/x").result(), str)
assert client.cancel().result() is None
assert client.get_accumulators().result() == {}
""",
        encoding="utf-8",
    )
    result = run("plan", str(tmp_path / "job.py"))
    assert result.exit_code == 0, result.output


def test_a_loop_until_the_job_is_finished_is_told_of(tmp_path):
    waiting = 'import time\nwhile client.get_job_status().result().name != "FINISHED":\n    time.sleep(0.1)\n'
    (tmp_path / "job.py").write_text(GOOD + WITH_CLIENT + waiting, encoding="utf-8")
    result = run("plan", str(tmp_path / "job.py"), "--timeout", "10")
    assert result.exit_code == 0, result.output
    assert "until its job ends; what comes behind that is not judged." in " ".join(result.output.split())


def test_a_loop_until_the_job_is_finished_before_the_next_one_is_told_of(tmp_path):
    waiting = 'import time\nwhile client.get_job_status().result().name != "FINISHED":\n    time.sleep(0.1)\n'
    (tmp_path / "job.py").write_text(f"{GOOD}{WITH_CLIENT}{waiting}env.execute('next')\n", encoding="utf-8")
    result = run("plan", str(tmp_path / "job.py"), "--timeout", "5")
    assert result.exit_code == 2
    assert "a planned job stays CREATED" in " ".join(result.output.split())


def test_threads_left_behind_do_not_hold_the_result(tmp_path):
    program = tmp_path / "job.py"
    program.write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n" + GOOD + "env.execute()",
        encoding="utf-8",
    )
    assert run("plan", str(program), "--timeout", "10").exit_code == 0


def test_modules_of_the_program_may_bear_our_names(tmp_path):
    (tmp_path / "state.py").write_text("ANSWER = 42", encoding="utf-8")
    (tmp_path / "job.py").write_text(
        GOOD + "from state import ANSWER\nassert ANSWER == 42\nenv.execute()", encoding="utf-8"
    )
    result = run("plan", str(tmp_path / "job.py"))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"ops": [{"id": "a", "kind": "telepathy"}]}, "unknown kind"),
        ({"ops": [{"id": "a", "kind": "map", "inputs": ["b"]}]}, "no earlier entry"),
        ({"ops": [{"id": "a", "kind": "map", "inputs": ["a"]}]}, "reads itself"),
        ({"ops": [{"id": "a", "kind": "source", "parallelism": "many"}]}, "whole number"),
        ({"ops": "all"}, "the list of its calls"),
        ([], "JSON object"),
        ({"ops": [{"id": f"n{i}", "kind": "source"} for i in range(500_001)]}, "at most 500,000"),
    ],
    ids=["kind", "input", "cycle", "type", "ops", "list", "large"],
)
def test_topologies_are_refused_with_a_reason(tmp_path, spec, says):
    path = tmp_path / "job.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    result = run("plan", str(path))
    assert result.exit_code == 2
    assert says in result.output


def test_a_program_that_submits_two_jobs_is_compared_job_by_job(tmp_path):
    program = tmp_path / "two.py"
    program.write_text(GOOD + "env.execute('a')\n" + GOOD + "env.execute('b')", encoding="utf-8")
    result = run("check", str(program), str(program), "--output", "json")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.output)["reports"]) == 2
    assert run("check", str(program), str(program), "--job", "2").exit_code == 2
    assert run("explain", str(program), str(program), "Map").exit_code == 2


def test_a_plan_is_compared_with_the_job_that_is_named(tmp_path):
    program, plan = tmp_path / "two.py", tmp_path / "second.json"
    program.write_text(GOOD + "env.execute('a')\n" + GOOD + "env.execute('b')", encoding="utf-8")
    assert run("plan", str(program), "--job", "1", "-o", str(plan)).exit_code == 0
    for old, new in ((plan, program), (program, plan)):
        result = run("check", str(old), str(new), "--job", "1", "--output", "json")
        assert result.exit_code == 0, result.output
        assert [json.loads(result.output)[side]["job_name"] for side in ("old", "new")] == ["b", "b"]
    assert "there is no job 2" in run("check", str(plan), str(program), "--job", "2").output
    assert "there is no job 1" in run("check", str(plan), str(plan), "--job", "1").output


def test_a_file_may_be_compared_with_itself(tmp_path):
    program = tmp_path / "job.py"
    program.write_text(GOOD + "env.execute()", encoding="utf-8")
    assert run("check", str(program), str(program)).exit_code == 0


@pytest.mark.parametrize("name", ["job.py", "job.json"])
def test_a_file_that_must_not_be_read_is_refused(tmp_path, name):
    program = tmp_path / name
    program.write_text(GOOD, encoding="utf-8")
    program.chmod(0)
    # To root nothing is forbidden, unless it gives up the right to pass over the modes of files.
    as_owner = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*as_owner, sys.executable, "-m", "compat", "plan", str(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ermission" in done.stderr


@pytest.mark.parametrize("argument", ["missing.py", "."])
def test_what_is_no_file_is_refused(argument, tmp_path):
    good = tmp_path / "good.py"
    good.write_text(GOOD + "env.execute()", encoding="utf-8")
    assert run("check", argument, str(good)).exit_code == 2


@pytest.mark.parametrize(
    ("name", "what_to_do", "command"),
    [
        ("jobmanager.log", "compat diagnose reads logs", "compat diagnose"),
        ("Job.java", "Build the job, and give its jar.", None),
        ("job.ipynb", "Write its cells to a program", "jupyter nbconvert --to script"),
        ("notes.txt", "Name a program (job.py)", None),
    ],
)
def test_a_file_that_is_no_program_is_not_run(name, what_to_do, command, tmp_path):
    (tmp_path / name).write_text("raise SystemExit('was run')\n", encoding="utf-8")
    with pytest.raises(InputError) as error, opened(str(tmp_path / name)):
        pass
    assert f"its name ends in {Path(name).suffix}." in error.value.failure.message
    assert what_to_do in error.value.failure.hint
    assert error.value.failure.command == (command and f"{command} {shlex.quote(str(tmp_path / name))}")


def test_a_program_may_have_any_other_ending(tmp_path):
    (tmp_path / "job.v2").write_text("", encoding="utf-8")
    with opened(str(tmp_path / "job.v2")) as given:
        assert given.kind is InputKind.PROGRAM


def test_compat_plan_tells_the_command_that_mends_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.py").write_text("import redis\nredis.Redis()", encoding="utf-8")
    result = run("plan", "a b.py", "--layer", "job")
    assert result.exit_code == 2
    assert f"\nRun: {pip()} install redis\n" in result.output
    (tmp_path / "c.py").write_text("import sys\nsys.argv[1]", encoding="utf-8")
    assert "Run:" not in run("plan", "c.py").output
