"""``assert_compatible`` in the tests of a team."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from compat.testing import IncompatibleError, assert_compatible
from tests.compat.fix.programs import INSERTED, program, spelled

pytest_plugins = ["pytester"]

# An installed compat is found by its entry point; naming it as well would be once too often.
PLUGIN = (
    ()
    if any(one.value == "compat.pytest_plugin" for one in entry_points(group="pytest11"))
    else ("-p", "compat.pytest_plugin")
)

OLD = program("numbers.map(identity, L).COUNTED.name('c')")
MOVED = program(f"{INSERTED}.COUNTED.name('c')")


@pytest.fixture
def jobs(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with two versions of a job, and tests in a folder of their own."""
    pytester.makeini("[pytest]\n")
    pytester.mkdir("jobs")
    (pytester.path / "jobs" / "v1.py").write_text(OLD)
    (pytester.path / "jobs" / "v2.py").write_text(MOVED)
    return pytester


def outcome(pytester: pytest.Pytester, test: str) -> pytest.RunResult:
    """Run a test as a team would, from another folder than the root."""
    folder = pytester.mkdir("checks")
    (folder / "test_jobs.py").write_text(test)
    pytester.syspathinsert(Path(__file__).parents[2])
    return pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider", "checks")


def test_versions_that_restore_pass(jobs: pytest.Pytester) -> None:
    result = outcome(jobs, "def test_it(assert_compatible):\n    assert_compatible('jobs/v1.py', 'jobs/v1.py')\n")
    result.assert_outcomes(passed=1)


def test_a_failure_shows_the_report_and_the_line_of_the_test(jobs: pytest.Pytester) -> None:
    result = outcome(jobs, "def test_it(assert_compatible):\n    assert_compatible('jobs/v1.py', 'jobs/v2.py')\n")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "> " in text
    assert "assert_compatible('jobs/v1.py', 'jobs/v2.py')" in text
    assert "INCOMPATIBLE: jobs/v2.py cannot restore the state of jobs/v1.py" in text
    assert 'Add .set_uid_hash("' in text
    assert "compat/testing.py" not in text
    assert "comparison.py" not in text


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ("allow_non_restored_state=True", True),
        ("fail_on='warning'", False),
        ("options={'pipeline.max-parallelism': '64'}", False),
        ("job=0, flink='2.3', timeout=20, call_open=False, allow_unknown=True", False),
    ],
)
def test_options_are_those_of_the_command(jobs: pytest.Pytester, options: str, passes: bool) -> None:
    test = f"def test_it(assert_compatible):\n    assert_compatible('jobs/v1.py', 'jobs/v2.py', {options})\n"
    outcome(jobs, test).assert_outcomes(passed=int(passes), failed=int(not passes))


def test_the_way_back_is_checked_where_it_is_asked_for(jobs: pytest.Pytester) -> None:
    first = OLD.replace(".name('c')", ".uid('c')")
    more = first.replace("env.execute", spelled("numbers.COUNTED.uid('more')") + "\nenv.execute")
    (jobs.path / "jobs" / "v1.py").write_text(first)
    (jobs.path / "jobs" / "v3.py").write_text(more)
    result = outcome(
        jobs,
        "def test_forward(assert_compatible):\n    assert_compatible('jobs/v1.py', 'jobs/v3.py')\n"
        "def test_back(assert_compatible):\n    assert_compatible('jobs/v1.py', 'jobs/v3.py', rollback=True)\n",
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "jobs/v1.py cannot restore the state of jobs/v3.py after a rollback" in result.stdout.str()


def test_the_project_s_settings_hold(jobs: pytest.Pytester) -> None:
    (jobs.path / "compat.toml").write_text("allow-non-restored-state = true\n")
    result = outcome(jobs, "def test_it(assert_compatible):\n    assert_compatible('jobs/v1.py', 'jobs/v2.py')\n")
    result.assert_outcomes(passed=1)


def test_without_pytest_it_is_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v1.py").write_text(OLD)
    Path("v2.py").write_text(MOVED)
    (report,) = assert_compatible(Path("v1.py"), "v1.py")
    assert report.verdict.value == "compatible"
    assert [each.direction for each in assert_compatible("v1.py", "v1.py", rollback=True)] == ["forward", "rollback"]
    with pytest.raises(IncompatibleError, match=r"cannot restore the state of v1\.py"):
        assert_compatible("v1.py", "v2.py")
    with pytest.raises(IncompatibleError, match=r"There is no file 'v3\.py'"):
        assert_compatible("v1.py", "v3.py")


def test_the_plugin_costs_nothing_until_it_is_used() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import compat.pytest_plugin; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('_')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['compat', 'compat.pytest_plugin']"
