"""``compat savepoint``: of a job by its id, and ``convert`` for what Flink wrote."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from compat.cli import main


def run(*arguments):
    return CliRunner().invoke(main, ["savepoint", *map(str, arguments)])


@pytest.mark.parametrize("words", [["6f2c"], ["take", "6f2c"], ["6f2c", "somewhere"]])
def test_a_job_is_asked_for_with_and_without_the_word(words, tmp_path):
    found = run(*words, "--store", tmp_path)
    assert found.exit_code != 0
    assert "no one job '6f2c'" in found.output


def test_options_may_come_first(tmp_path):
    assert "no one job '6f2c'" in run("--store", tmp_path, "6f2c").output


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
