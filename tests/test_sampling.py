"""Of costly test functions a run takes some cases."""

from __future__ import annotations

from pathlib import Path

from tests.sampling import BUDGET, recorded, stays


def test_as_many_cases_stay_as_the_function_has_time_for() -> None:
    cases = [f"tests/test_it.py::test_all[{number}]" for number in range(1000)]
    assert all(stays(case, {}) for case in cases)
    assert all(stays(case, {"tests/test_it.py::test_all": BUDGET}) for case in cases)
    kept = [case for case in cases if stays(case, {"tests/test_it.py::test_all": 10 * BUDGET})]
    assert 150 < len(kept) < 250
    assert all(stays(case, {"tests/test_it.py::test_all": 5 * BUDGET}) for case in kept)


def test_seconds_are_added_up_by_function(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").touch()
    report = tmp_path / "junit.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_it" name="test_all[one]" time="2.0" />'
        '<testcase classname="tests.test_it" name="test_all[two]" time="0.26" />'
        '<testcase classname="tests.test_it" name="test_fast" time="0.9" />'
        '<testcase classname="tests.test_it.TestClass" name="test_method" time="3" />'
        '<testcase classname="tests.test_gone" name="test_all" time="3" />'
        '<testcase classname="" name="tests.test_skipped" time="0" /></testsuite></testsuites>'
    )
    assert recorded(report, tmp_path) == {
        "tests/test_it.py::TestClass::test_method": 3.0,
        "tests/test_it.py::test_all": 2.3,
    }
