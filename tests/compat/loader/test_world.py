"""What a program read of the world and nobody told is named in its plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.loader.failure import Undecidable
from compat.loader.inputs import Input, InputError, InputKind, LoadOptions, load
from compat.state.model.job import Assumed, Plan

JOB = """\
import os
import sys
{lines}
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).print()
env.execute()
os.environ.get("READ_TOO_LATE")
"""
ARGUMENTS = Assumed(what="arguments")


def read_by(folder: Path, lines: str, arguments: tuple[str, ...] = (), **environment: str) -> tuple[Assumed, ...]:
    path = folder / "job.py"
    path.write_text(JOB.format(lines=lines), encoding="utf-8")
    given = Input(str(path), str(path), InputKind.PROGRAM, arguments=arguments)
    (plan,) = load(given, LoadOptions(environment=environment))
    assert isinstance(plan, Plan)
    return tuple(one for one in plan.assumed if one.what != "option")


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        ("", ()),
        ("sys.argv[0]", ()),
        ("len(sys.argv) > 1", (ARGUMENTS,)),
        ("sys.argv[1:]", (ARGUMENTS,)),
        ("list(sys.argv)", (ARGUMENTS,)),
        ("import argparse; argparse.ArgumentParser().parse_args()", (ARGUMENTS,)),
        ("os.environ.get('TOPIC')", (Assumed(what="variable", name="TOPIC"),)),
        ("os.getenv('TOPIC', 'a'); 'TOPIC' in os.environ", (Assumed(what="variable", name="TOPIC"),)),
        ("import tempfile; tempfile.gettempdir()", ()),  # that is Python's own matter
    ],
)
def test_what_the_program_read(lines: str, read: tuple[Assumed, ...], tmp_path: Path) -> None:
    assert read_by(tmp_path, lines) == read


def test_what_was_told_is_not_assumed(tmp_path: Path) -> None:
    assert read_by(tmp_path, "sys.argv[1]; os.environ['TOPIC']", ("--fast",), TOPIC="a") == ()


@pytest.mark.parametrize("lines", ["sys.argv[1]", "os.environ['NOBODY_SET_IT']"])
def test_what_is_not_there_is_the_programs_matter(lines: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as found:
        read_by(tmp_path, lines)
    assert found.value.failure.rule is Undecidable.PROGRAM_FAILED


@pytest.mark.parametrize(
    ("lines", "option"),
    [
        ("os.environ.get('KEY') or exec('raise RuntimeError(\\'KEY is required\\')')", '--env KEY="$KEY"'),
        ("os.getenv('SERVERS').split(',')", '--env SERVERS="$SERVERS"'),
        ("os.getenv('SERVERS', '').split(',')[1]", None),
        ("os.getenv('SERVERS')\nos.getenv('KEY').split(',')", None),
        ("os.getenv('SERVERS')\n[][1]", None),
    ],
)
def test_a_variable_that_is_none_is_told_where_a_failure_comes_of_it(tmp_path: Path, lines: str, option: str) -> None:
    with pytest.raises(InputError) as error:
        read_by(tmp_path, lines)
    assert error.value.failure.rule is Undecidable.PROGRAM_FAILED
    assert error.value.failure.option == option
