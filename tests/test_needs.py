"""What is skipped is told at the end: each reason once, with the number of tests and what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.needs import Need, reason

TESTS = Path(__file__).parent
SKIPPING = {"skip", "skipif", "importorskip", "SkipTest", "skipIf", "skipUnless"}
pytest_plugins = "pytester"

SUITE = """
import pytest
from tests import needs
from tests.needs import Need

@pytest.mark.parametrize("why", ["no route", "refused", "refused"])
def test_that_asks_the_index(why):
    needs.without(Need.MAVEN, why)

@needs.unless(None, Need.GIT)
def test_of_revisions():
    assert False

def test_that_asks_for_a_module():
    needs.module("no_such_module", "spark")

def test_of_mounts(tmp_path):
    needs.mounts(["ls", str(tmp_path / "absent")])

def test_that_has_all_it_needs():
    assert needs.module("json", "spark").dumps(1) == "1"
    needs.mounts(["true"])
"""
CONFTEST = "from tests.conftest import pytest_terminal_summary  # noqa: F401\n"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_each_reason_is_told_once(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_some=SUITE)
    pytester.makeconftest(CONFTEST)
    monkeypatch.setenv("PYTHONPATH", str(TESTS.parent))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:randomly", *workers)
    done.assert_outcomes(passed=1, skipped=6)
    told = [line for line in done.outlines if " skipped: " in line]
    assert told == [
        f"3 skipped: {reason(Need.MAVEN)}",
        f"1 skipped: {reason(Need.MOUNTS)}",
        f"1 skipped: {reason(Need.GIT)}",
        "1 skipped: needs the module no_such_module: pip install 'stream-compat[spark]'",
    ]


@pytest.mark.parametrize("need", Need)
def test_each_need_says_what_to_do(need: Need) -> None:
    what, colon, how = need.value.partition(": ")
    assert what
    assert colon
    assert how


def test_nothing_else_skips() -> None:
    """What skips by itself says nothing of what to install."""
    files = [path for path in TESTS.rglob("*.py") if path.name != "needs.py" and TESTS / "golden" not in path.parents]
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in SKIPPING
    ]
    assert found == []
