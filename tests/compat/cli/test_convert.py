"""``compat job savepoint``: of a job by its id, and ``convert`` for what Flink wrote."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from compat.cli import main


def run(*arguments):
    return CliRunner().invoke(main, ["savepoint", *map(str, arguments)])


@pytest.mark.parametrize("words", [["6f2c"], ["take", "6f2c"], ["6f2c", "somewhere"]])
def test_a_job_is_asked_for_with_and_without_the_word(words, tmp_path):
    found = run(*words, "--store", tmp_path)
    assert found.exit_code != 0
    assert "no single job '6f2c'" in found.output


def test_options_may_come_first(tmp_path):
    assert "no single job '6f2c'" in run("--store", tmp_path, "6f2c").output


def test_help_tells_of_both():
    told = run("--help").output
    assert "convert" in told
    assert "take" in told
    assert "trust" in run("convert", "--help").output


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["missing", "out"], "--program"),
        (["missing", "out", "--program", "missing.py"], "missing.py"),
    ],
)
def test_what_is_not_given_is_asked_for(arguments, word):
    found = run("convert", *arguments)
    assert found.exit_code == 2
    assert word in found.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The program submits no job: call env.execute()."),
        (
            "from pyflink.datastream import StreamExecutionEnvironment as E\n"
            "env = E.get_execution_environment()\nenv.from_collection([1]).print()\nenv.execute()\n",
            "The program submits 1 jobs, and none of number 3.",
        ),
    ],
    ids=["no job", "one job"],
)
def test_a_program_without_the_job_is_told_as_when_it_is_run(text, said, tmp_path):
    (tmp_path / "job.py").write_text(text)
    arguments = ["savepoint", "convert", "missing", "out", "--program", "job.py", "--job", "3"]
    found = subprocess.run(
        [sys.executable, "-m", "compat", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr.strip()) == (2, said)
