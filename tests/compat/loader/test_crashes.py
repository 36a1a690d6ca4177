"""What a program that failed is told: what it said, the option that gives it what it wants, and no name or fault of ours."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat import __version__
from compat.cli import main

GOOD = """
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1], Types.INT())
stream.map(lambda x: x, Types.INT()).print()
"""
PARSING = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--topic", required=True)
topic = parser.parse_args().topic
"""
CLICK = """
import click
@click.command()
@click.option("--topic", required=True)
def job(topic):
    env.execute(topic)
job()
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOPIC", raising=False)
    Path("good.py").write_text(GOOD + "env.execute()")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def words(result: Result) -> str:
    return " ".join(result.output.split())


WANTS = {
    "argparse": (PARSING, ["the following arguments are required: --topic", "usage:"], "args '--topic TOPIC'."),
    "click": (CLICK, ["Missing option '--topic'"], "args 'ARGUMENTS'"),
    "argparse, several": (
        PARSING.replace(
            "topic = ", "parser.add_argument('-k', '--key-by', required=True)\nparser.add_argument('mode')\ntopic = "
        ),
        ["the following arguments are required: --topic, -k/--key-by, mode"],
        "args '--topic TOPIC --key-by KEY-BY MODE'.",
    ),
    "argv": ("import sys\ntopic = sys.argv[1]", ["IndexError"], "args 'ARGUMENTS': it reads sys.argv[1]."),
    "several of argv": (
        "import sys\ntopic = sys.argv[1]\nkey = sys.argv[2]",
        ["IndexError"],
        "args 'ARGUMENTS': it reads sys.argv[1] to sys.argv[2].",
    ),
    "what it raises": (
        "import sys\nif '--mode' not in sys.argv:\n    raise RuntimeError('say the mode')",
        ["RuntimeError: say the mode", "The program raises this itself. If it needs arguments"],
        "args 'ARGUMENTS'",
    ),
    "its own usage": (
        "import sys\nprint('usage: job.py TOPIC', file=sys.stderr)\nsys.exit(1)",
        ["usage: job.py TOPIC", "sys.exit(1)"],
        "args 'ARGUMENTS'",
    ),
    "environ": (
        "import os\ntopic = os.environ['TOPIC']",
        ["KeyError: 'TOPIC'", "topic = os.environ['TOPIC']"],
        "env TOPIC=VALUE",
    ),
    "input": ("topic = input('Which topic? ')", ["EOFError"], "env NAME=VALUE"),
    "a file": ("open('conf/topics.txt')", ["conf/topics.txt"], "relative paths count from where compat is called"),
    "a module": ("import absent\nabsent.call()", ["absent.call"], "Install what provides the module 'absent'"),
}


@pytest.mark.parametrize(("text", "says", "advice"), WANTS.values(), ids=WANTS)
def test_a_program_that_wants_something_is_told_how_to_get_it(text: str, says: list[str], advice: str) -> None:
    Path("job.py").write_text(GOOD + "\n" + text + "\nenv.execute()\n")
    as_new, as_old, alone = run("check", "good.py", "job.py"), run("check", "job.py", "good.py"), run("plan", "job.py")
    for result in (as_new, as_old, alone):
        assert result.exit_code == 2, result.output
        for one in says:
            assert one in words(result), result.output
    for prefix, result in (("--", as_new), ("--old-", as_old), ("--", alone)):
        expected = f"{prefix}{advice}" if advice.startswith(("args", "env")) else advice
        assert expected in words(result), result.output


def test_the_options_give_it() -> None:
    Path("job.py").write_text(GOOD + PARSING + "import os\nenv.execute(topic + os.environ['TOPIC'])\n")
    given = ("--args", "--topic a", "--env", "TOPIC=b=c")
    assert "Job 'ab=c'" in run("plan", "job.py", *given).output
    assert run("check", "job.py", "job.py", *given, "--old-args", "--topic a").exit_code == 0
    assert run("check", "job.py", "job.py", *given, "--old-args", "--topic a", "--old-env", "TOPIC=d").exit_code == 0
    assert run("plan", "job.py", "--env", "TOPIC").exit_code == 2


def test_what_it_said_is_bounded() -> None:
    Path("job.py").write_text(
        "import sys\nfor one in range(9999): print('line', one, 'x' * 99, file=sys.stderr)\nsys.exit(4)"
    )
    result = run("plan", "job.py")
    assert "line 9998" in result.output
    assert len(result.output) < 3_000


def test_a_file_beside_the_program_is_told(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    Path("jobs/conf.txt").write_text("")
    Path("jobs/job.py").write_text("open('conf.txt')")
    assert "conf.txt is in jobs: call compat there" in words(run("plan", "jobs/job.py"))


def test_the_places_of_modules_are_told(tmp_path: Path) -> None:
    (tmp_path / "project" / "jobs").mkdir(parents=True)
    Path("project/setup.py").write_text("")
    Path("project/jobs/job.py").write_text("import absent\nabsent.x()")
    told = words(run("plan", "project/jobs/job.py"))
    assert (
        "it was searched in project/jobs (the program's folder), project (the project's root, by its setup.py)" in told
    )
    assert "add other places with --pyfiles" in told


# Names


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("from pyflink.datastream import NoSuch", "cannot import name 'NoSuch' from 'pyflink.datastream'"),
        (
            "from pyflink.datastream.functions import NoSuch",
            "cannot import name 'NoSuch' from 'pyflink.datastream.functions'",
        ),
        ("from pyflink.common.typeinfo import NoSuch", "cannot import name 'NoSuch' from 'pyflink.common.typeinfo'"),
        ("import pyflink.common\npyflink.common.nosuch", "module 'pyflink.common' has no attribute 'nosuch'"),
        ("import pyflink.datastream.nosuch", "No module named 'pyflink.datastream.nosuch'"),
        ("stream.no_such()", "'DataStreamSource' object has no attribute 'no_such'"),
        ("stream.map()", "DataStream.map() missing"),
        ("raise ValueError(f'{type(stream)}')", "<class 'pyflink.datastream.data_stream.DataStreamSource'>"),
    ],
)
def test_messages_have_the_names_of_pyflink(line: str, says: str) -> None:
    Path("job.py").write_text(GOOD + line + "\nenv.execute()\n")
    result = run("plan", "job.py")
    assert result.exit_code == 2
    assert says in words(result), result.output
    assert "compiler" not in result.output


def test_a_runtime_context_has_the_name_of_pyflinks() -> None:
    Path("job.py").write_text(
        GOOD
        + "class Count(KeyedProcessFunction):\n    def open(self, context):\n        context.get_broadcast_state(1)\n"
        + "    def process_element(self, value, context): yield value\n"
        + "stream.key_by(lambda x: x, Types.INT()).process(Count(), Types.INT()).uid('c')\nenv.execute()\n"
    )
    result = run("check", "job.py", "job.py", "--output", "json")
    assert "'RuntimeContext' object has no attribute 'get_broadcast_state'" in result.output
    assert "_Recorder" not in result.output


@pytest.mark.parametrize(
    "line",
    [
        "from pyflink.java_gateway import get_gateway",
        "env._j_stream_execution_environment.getConfig()",
        "import pyflink.table; pyflink.table.StreamTableEnvironment.create(env)",
    ],
)
def test_the_line_that_needs_pyflink_itself_is_told(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("job.py").write_text(GOOD + line + "\nenv.execute()\n")
    for arguments in (("plan", "job.py"), ("check", "good.py", "job.py")):
        result = run(*arguments, "--pyflink", "no-such-python")
        assert result.exit_code == 2
        told = words(result).replace("| ", "")
        assert f'File "job.py", line 7, in <module> {line}' in told or "source: job.py:7" in told, result.output
        assert line in told


# Faults of ours


BREAKING = "import compat.plan.encode\ncompat.plan.encode._operators = None\n"


def test_a_fault_of_ours_is_no_failure_of_the_program() -> None:
    Path("job.py").write_text(GOOD + BREAKING + "env.execute('secret')\n")
    for arguments in (["plan", "job.py"], ["check", "good.py", "job.py", "--args", "s3cret", "--env", "KEY=s3cret"]):
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert "compat itself failed: TypeError: 'NoneType' object is not callable" in words(result)
        assert "Please report it" in words(result)
        assert f"compat {__version__}, Python {platform.python_version()}" in words(result)
        assert 'File "compat/plan/encode.py"' in words(result)
        assert "The program failed" not in result.output
        assert "s3cret" not in result.output
        assert os.getcwd() not in result.output
    assert "CMP906" in run("check", "good.py", "job.py", "--output", "json").output


def test_what_a_program_passes_wrongly_is_its_own_failure() -> None:
    Path("job.py").write_text(GOOD + "env.set_parallelism('many')\nenv.execute()\n")
    result = run("plan", "job.py")
    assert result.exit_code == 2
    assert "env.set_parallelism('many')" in result.output
    assert "If PyFlink itself accepts it, please report" in words(result)
