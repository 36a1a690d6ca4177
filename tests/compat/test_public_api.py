"""What ``import compat`` offers."""

from __future__ import annotations

import doctest
import inspect
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import compat
import compat.api
from tests.compat.fix.programs import INSERTED, program

EXAMPLES = Path(compat.__file__).parent / "examples"
SAVEPOINT = Path(__file__).parents[1] / "golden" / "savepoints" / "broadcast_p2_native_files"
OLD = program("numbers.map(identity, L).COUNTED.name('c')")
MOVED = program(f"{INSERTED}.COUNTED.name('c')")


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two versions of a job, which is the working directory."""
    (tmp_path / "v1.py").write_text(OLD)
    (tmp_path / "v2.py").write_text(MOVED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_name_is_exported_once_and_has_one_home() -> None:
    assert compat.__all__ == sorted(set(compat.__all__))
    homes = Counter(name for names in compat._HOMES.values() for name in names)
    assert set(homes) | {"__version__"} == set(compat.__all__)
    assert set(homes.values()) == {1}


@pytest.mark.parametrize("name", [name for name in compat.__all__ if name != "__version__"])
def test_each_name_works_and_is_documented(name: str) -> None:
    value = inspect.unwrap(getattr(compat, name))
    assert len(inspect.getdoc(value) or "") > 20
    assert value.__name__ == name
    (home,) = (home for home, names in compat._HOMES.items() if name in names)
    assert value.__module__ == home


@pytest.mark.parametrize("name", ["check", "inspect", "plan"])
def test_the_functions_say_what_they_take(name: str) -> None:
    assert inspect.signature(getattr(compat, name)) == inspect.signature(getattr(compat.api, name))


@pytest.mark.parametrize("module", [compat, compat.api], ids=lambda module: module.__name__)
def test_the_examples_of_the_docstrings_hold(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    finder = doctest.DocTestFinder(recurse=module is compat.api)
    runner = doctest.DocTestRunner()
    for test in finder.find(module, globs={}):
        runner.run(test)
    tried = runner.summarize()
    assert tried.attempted
    assert not tried.failed


def in_a_new_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import sys, compat; print([name for name in sys.modules if name.startswith('compat.')], 'typing' in sys.modules)"
    assert in_a_new_process(f"import sys; sys.modules.pop('typing', None)\n{code}") == "[] False"


@pytest.mark.parametrize(
    "first", ["import compat.check.findings, compat.plan.facts", "from compat import check, plan", ""]
)
def test_a_package_with_the_name_of_a_function_is_both_whoever_came_first(first: str) -> None:
    code = f"{first}\nimport compat\nimport compat.check.findings, compat.plan.facts\n"
    code += "print(callable(compat.check), callable(compat.plan), compat.check.findings.Level is compat.Level)"
    assert in_a_new_process(code) == "True True True"


def test_no_other_name_is_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        compat.chekc  # noqa: B018


def test_a_check_tells_both_ways_and_prints_nothing(versions: Path, capfd: pytest.CaptureFixture[str]) -> None:
    forward, back = compat.check("v1.py", versions / "v2.py", rollback=True)
    assert isinstance(forward, compat.Report)
    assert (forward.verdict, forward.direction) == (compat.Verdict.INCOMPATIBLE, "forward")
    assert (back.verdict, back.direction) == (compat.Verdict.INCOMPATIBLE, "rollback")
    (allowed,) = compat.check("v1.py", "v2.py", allow_non_restored_state=True)
    assert isinstance(allowed, compat.Report)
    assert compat.Level.ERROR not in {finding.level for finding in allowed.findings}
    (same,) = compat.check("v1.py", "v1.py")
    assert same.verdict is compat.Verdict.COMPATIBLE
    assert capfd.readouterr() == ("", "")


def test_a_check_that_cannot_be_made_is_undecided(versions: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (versions / "ends.py").write_text("import sys\nprint('hello')\nsys.exit(3)\n")
    (outcome,) = compat.check("v1.py", "ends.py")
    assert isinstance(outcome, compat.Undecided)
    assert outcome.verdict is compat.Verdict.UNKNOWN
    assert [failure.rule for failure in outcome.failures] == ["CMP901"]
    assert capfd.readouterr() == ("", "")


def test_a_plan_has_the_operators_of_each_job(versions: Path) -> None:
    (job,) = compat.plan("v1.py", flink="1.20", options={"parallelism.default": "3"})
    assert isinstance(job, compat.Program)
    assert job.flink == "1.20"
    (counted,) = (operator for operator in job.operators if operator.name == "c")
    assert counted.has_state
    assert counted.parallelism == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0\n", "ZeroDivisionError"),
        ("", "submits no job"),
        (program("numbers.COUNTED.uid('a').print()", "numbers.COUNTED.uid('a').print()"), "collision"),
    ],
    ids=["fails", "nothing", "refused"],
)
def test_a_program_without_a_plan_is_an_error(versions: Path, text: str, message: str) -> None:
    (versions / "bad.py").write_text(text)
    with pytest.raises(compat.InputError, match=message) as raised:
        compat.plan("bad.py")
    assert isinstance(raised.value.failure, compat.Failure)
    assert raised.value.failure.name == "bad.py"


def test_an_inspection_tells_operators_and_their_states(tmp_path: Path) -> None:
    folder = shutil.copytree(SAVEPOINT, tmp_path / "savepoint")
    found = compat.inspect(folder)
    assert isinstance(found, compat.Inspection)
    assert not found.missing_files
    assert found.bytes == sum(operator.bytes for operator in found.operators)
    assert any(state.name for operator in found.operators for state in operator.states)
    with pytest.raises(compat.InputError) as raised:
        compat.inspect(tmp_path / "nowhere")
    assert raised.value.failure.rule == "CMP501"


def test_the_version_is_told_once() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in project
    assert compat.__version__ not in project
