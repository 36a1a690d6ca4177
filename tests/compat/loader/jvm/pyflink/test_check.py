"""``compat check`` and ``compat plan`` of programs that PyFlink itself builds, or that it proves."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs
from msgspec.structs import replace

from compat.cli import main
from compat.loader.failure import Side
from compat.loader.inputs import Input, InputError, InputKind, LoadOptions, load, opened
from compat.loader.jvm.pyflink.proof import proved
from compat.loader.request import Crash, Loaded
from compat.loader.runtime_file import PLACE
from tests.compat.loader.jvm.pyflink.pairs import PAIRS, PYTHON, TABLES

GOLDEN = Path(__file__).parents[4] / "golden" / "pyflink-2.3"
ALL_STATES = GOLDEN / "programs" / "keyed_all_states.py"
SAVEPOINT = GOLDEN / "table_savepoint"
"""What PyFlink 2.3.0 wrote of the pairs' grouped orders, after some hundred rows."""


def run(*arguments):
    return CliRunner().invoke(main, [*arguments, "--timeout", "200"])


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(TABLES + PYTHON)
    Path("new.py").write_text(TABLES + PYTHON.replace('"count", Types.LONG()', '"total", Types.LONG()'))


def test_a_program_that_needs_pyflink_says_what_to_install(jobs, monkeypatch, tmp_path):
    monkeypatch.setenv("COMPAT_PYFLINK", str(tmp_path / "nowhere"))
    result = run("check", "old.py", "new.py", "--output", "json")
    assert result.exit_code == 2
    failures = json.loads(result.output)["failures"]
    assert {one["side"] for one in failures} == {"old", "new"}
    for one in failures:
        assert "pip install 'stream-compat[pyflink]'" in one["hint"]


LAID_OUT = """
import os
from ..common import Types
from helping import UID
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway

get_gateway()
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1], Types.LONG()).map(lambda one: one, Types.LONG()).uid(UID + os.environ["MARK"]).print()
env.execute("job")
"""


def test_pyflink_itself_finds_the_modules_of_a_project(tmp_path, monkeypatch, pyflink, build):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "own/__init__.py": "",
        "own/common.py": "from pyflink.common import Types\n",
        "own/jobs/job.py": LAID_OUT,
        "lib/helping.py": "UID = 'from lib'\n",
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    given = ("--pyfiles", "lib", "--env", "MARK=!", "--pyflink", pyflink.python)
    result = run("plan", "own/jobs/job.py", *given)
    assert (result.exit_code, "uid=from lib!" in result.output) == (0, True), result.output


def test_a_program_gets_the_properties_of_aws_service_where_they_are_given(tmp_path, monkeypatch, pyflink, build):
    monkeypatch.chdir(tmp_path)
    read = f"import json\nMARK = json.load(open({PLACE!r}))[0]['PropertyMap']['mark']\n"
    text = LAID_OUT.replace("from ..common", "from pyflink.common").replace("from helping import UID\n", read)
    Path("job.py").write_text(text.replace('UID + os.environ["MARK"]', "MARK"))
    Path("given.json").write_text('[{"PropertyGroupId": "job", "PropertyMap": {"mark": "from the file"}}]')
    without = run("plan", "job.py", "--pyflink", pyflink.python)
    assert "--runtime-properties gives it" in " ".join(without.output.split())
    result = run("plan", "job.py", "--pyflink", pyflink.python, "--runtime-properties", "given.json")
    assert (result.exit_code, "uid=from the file" in result.output) == (0, True), result.output


def test_states_of_the_datastream_part_are_compared(jobs, pyflink, build):
    result = run("check", "old.py", "new.py", "--output", "json", "--pyflink", pyflink.python)
    assert result.exit_code == 1, result.output
    report = json.loads(result.output)
    (renamed,) = (one for one in report["findings"] if one["rule"] == "CMP402")
    line = (
        Path("new.py")
        .read_text()
        .splitlines()
        .index('        self.count = context.get_state(ValueStateDescriptor("total", Types.LONG()))')
    )
    assert '"new.py"' in json.dumps(renamed)
    assert f'"line": {line + 1}' in json.dumps(renamed)


@pytest.mark.parametrize(
    ("new", "names", "code", "rules"),
    [
        ("same", (), 2, {"CMP104", "CMP713"}),
        ("same", ("--names", "old.py"), 0, {"CMP104"}),
        ("aggregate_added", (), 1, {"CMP104", "CMP404", "CMP713"}),
        ("aggregate_exchanged", ("--names", "old.py"), 1, {"CMP104", "CMP701"}),
    ],
)
def test_a_savepoint_that_a_job_of_the_table_api_wrote(tmp_path, monkeypatch, pyflink, build, new, names, code, rules):
    monkeypatch.chdir(tmp_path)
    pair = next(pair for pair in PAIRS if pair.name == new)
    Path("old.py").write_text(TABLES + pair.old)
    Path("new.py").write_text(TABLES + pair.new)
    result = run("check", str(SAVEPOINT), "new.py", *names, "--output", "json", "--pyflink", pyflink.python)
    assert result.exit_code == code, result.output
    findings = json.loads(result.output)["findings"]
    assert {one["rule"] for one in findings} == rules
    told = [fix for one in findings for fix in one["fixes"]]
    assert not [fix for fix in told if "uid" in (fix["call"] or "")]
    assert [fix["code"] for fix in told if "--names" in fix["text"]] == ['--names "$OLD_PROGRAM"'] * (not names)


def test_a_program_without_a_parallelism_has_the_same_one_either_way(pyflink, build, tmp_path):
    job = tmp_path / "job.py"
    job.write_text(
        "from pyflink.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1, 2]).map(str).print()\n"
        "env.execute()\n"
    )
    options = LoadOptions(timeout=200, exact=True)
    options = replace(options, jars=replace(options.jars, pyflink=pyflink.python))
    with opened(str(job)) as given:
        for said in ({}, {"parallelism.default": "7"}):
            exact, fast = replace(options, options=said), LoadOptions(options=said)
            assert load(given, exact) == load(given, fast)


def test_the_fast_way_is_proved(pyflink, build):
    options = LoadOptions(timeout=200, exact=True)
    options = replace(options, jars=replace(options.jars, pyflink=pyflink.python))
    with opened(str(ALL_STATES)) as given:
        assert load(given, options) == load(given, LoadOptions())


def test_what_pyflink_builds_otherwise_is_a_fault_of_ours():
    given = Input(str(ALL_STATES), str(ALL_STATES), InputKind.PROGRAM)
    (plan,) = load(given, LoadOptions())
    loaded = Loaded(plans=(plan,))
    assert proved(given, loaded, (plan,), None) == (plan,)
    first, *rest = plan.operators
    other = structs.replace(plan, operators=(structs.replace(first, parallelism=7), *rest))
    with pytest.raises(InputError, match="The parallelism of 'Source: Collection Source' is 7"):
        proved(given, loaded, (other,), Side.NEW)
    moved = structs.replace(plan, operators=(structs.replace(first, id="0" * 32), *rest))
    with pytest.raises(InputError, match="No operator has the id cbc357ccb763df2852fee8c4fc7d55f2"):
        proved(given, loaded, (moved,), Side.NEW)
    with pytest.raises(InputError, match=r"submits 0 job\(s\), not 1"):
        proved(given, loaded, (), None)
    assert proved(given, Loaded(plans=(), needs_pyflink=Crash(type="", message="", frames=())), (other,), None) == (
        other,
    )
