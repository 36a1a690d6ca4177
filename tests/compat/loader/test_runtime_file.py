"""Programs in Python that read the properties of AWS's Managed Service for Apache Flink."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import compat
from compat.cli import main
from compat.loader.inputs import FlinkJars
from compat.loader.runtime_file import PLACE, served, wants

PROGRAM = f"""
import json
import os

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

PROPERTIES = "{PLACE}"


def properties():
    if os.path.isfile(PROPERTIES):
        with open(PROPERTIES) as file:
            return json.load(file)


def main():
    (group,) = properties()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1], Types.INT()).print()
    env.execute(group["PropertyMap"]["name"])


main()
"""
GIVEN = '[{"PropertyGroupId": "job", "PropertyMap": {"name": "shop"}}]'


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(PROGRAM)
    return path


def test_what_names_the_file_of_the_service_gets_the_one_that_is_given(program: Path) -> None:
    given = program.with_name("given.json")
    given.write_text(GIVEN)
    (plan,) = compat.plan(str(program), jars=FlinkJars(runtime_properties=str(given)))
    assert plan.job_name == "shop"


@pytest.mark.parametrize("beside", [True, False])
def test_a_program_that_fails_without_it_is_told_how_to_give_it(program: Path, beside: bool) -> None:
    file = program.with_name("application_properties.json")
    if beside:
        file.write_text(GIVEN)
    result = CliRunner().invoke(main, ["check", str(program), str(program)])
    assert result.exit_code == 2
    told = " ".join(result.output.split())
    assert f"--runtime-properties gives it {file if beside else 'a file'} instead" in told
    given = str(file) if beside else '"$FILE"'
    assert f"Next: compat check {program} {program} --runtime-properties {given}" in told


def test_the_file_is_more_likely_than_a_variable_that_nothing_names(program: Path) -> None:
    asks = PROGRAM.replace("def main():", "def main():\n    local = os.environ.get('IS_LOCAL')")
    program.write_text(asks)
    result = CliRunner().invoke(main, ["check", str(program), str(program)])
    assert '--runtime-properties "$FILE"' in result.output
    program.write_text(asks.replace("(group,) = properties()", "raise RuntimeError('IS_LOCAL is None')"))
    result = CliRunner().invoke(main, ["check", str(program), str(program)])
    assert '--env IS_LOCAL="$IS_LOCAL"' in result.output


def test_a_program_that_fails_for_another_reason_is_told_that(program: Path) -> None:
    program.write_text(f"# {PLACE}\nimport no_such_module_at_all\nno_such_module_at_all.begin()")
    result = CliRunner().invoke(main, ["check", str(program), str(program)])
    assert "--runtime-properties" not in result.output


def test_only_the_whole_constant_is_replaced_in_functions_too() -> None:
    source = f"a = {PLACE!r}\ndef f(): return {PLACE!r}, {PLACE + '/x'!r}\nb = f()"
    scope: dict[str, object] = {}
    exec(served(compile(source, "job.py", "exec"), "given.json"), scope)
    assert (scope["a"], scope["b"]) == ("given.json", ("given.json", PLACE + "/x"))
    assert wants(source.encode())
