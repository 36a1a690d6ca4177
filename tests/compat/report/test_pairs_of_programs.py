"""Several checks in one report: each format says which pair, and which way, a line is about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from tests.compat.fix.programs import program

FORMATS = ("text", "concise", "json", "github", "sarif", "junit", "markdown")
FORWARD, SECOND = "one.py -> new.py", "two.py -> new.py"
BACK, BACK_TO_SECOND = "rollback: new.py -> one.py", "rollback: new.py -> two.py"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Result, dict[str, str]]]:
    """A check of two OLDs and back: NEW has what one.py has, and more; nothing finds the state of two.py."""
    folder = tmp_path_factory.mktemp("several")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("one.py").write_text(program("numbers.COUNTED.uid('a')"))
        Path("two.py").write_text(program("numbers.COUNTED.uid('b')"))
        Path("new.py").write_text(program("numbers.COUNTED.uid('a')", "numbers.COUNTED.uid('c').name('more')"))
        options = [f"--output={name}=report.{name}" for name in FORMATS]
        result = CliRunner().invoke(main, ["check", "one.py", "new.py", "--also", "two.py", "--rollback", *options])
        yield result, {name: Path(f"report.{name}").read_text(encoding="utf-8") for name in FORMATS}


def test_the_exit_code_is_the_worst_of_all(reports: tuple[Result, dict[str, str]]) -> None:
    result, texts = reports
    assert result.exit_code == 1, result.output
    assert json.loads(texts["json"])["reports"][0]["verdict"] == "compatible"


def test_json(reports: tuple[Result, dict[str, str]]) -> None:
    shown = [
        (each["old"]["name"], each["new"]["name"], each["direction"])
        for each in json.loads(reports[1]["json"])["reports"]
    ]
    assert shown == [
        ("one.py", "new.py", "forward"),
        ("two.py", "new.py", "forward"),
        ("new.py", "one.py", "rollback"),
        ("new.py", "two.py", "rollback"),
    ]


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_reports_for_people(reports: tuple[Result, dict[str, str]], name: str) -> None:
    text = reports[1][name].replace("&#46;", ".")
    for sentence in (
        "COMPATIBLE: new.py restores the state of one.py (",
        "INCOMPATIBLE: new.py cannot restore the state of two.py (",
        "INCOMPATIBLE: one.py cannot restore the state of new.py after a rollback (",
        "INCOMPATIBLE: two.py cannot restore the state of new.py after a rollback (",
        "Next: compat check one.py new.py --also two.py --rollback",
    ):
        assert sentence in text


def test_the_text_ends_with_one_command_for_all(reports: tuple[Result, dict[str, str]]) -> None:
    lines = reports[1]["text"].splitlines()
    assert lines[-2:] == [
        "4 checks: 1 compatible, 3 incompatible.",
        "Next: compat check one.py new.py --also two.py --rollback --fix",
    ]
    assert sum(line.startswith("Next:") for line in lines) == 1


@pytest.mark.parametrize("name", ["concise", "github"])
def test_every_line_names_its_pair(reports: tuple[Result, dict[str, str]], name: str) -> None:
    lines = reports[1][name].splitlines()
    assert all(any(line.endswith(f" [{pair}]") for pair in (FORWARD, SECOND, BACK, BACK_TO_SECOND)) for line in lines)
    moved = [line for line in lines if "CMP101" in line or "CMP102" in line]
    assert {line.rpartition("[")[2].rstrip("]") for line in moved} == {SECOND, BACK, BACK_TO_SECOND}


def test_junit_has_a_suite_a_pair(reports: tuple[Result, dict[str, str]]) -> None:
    suites = ElementTree.fromstring(reports[1]["junit"])
    assert [suite.get("name") for suite in suites] == [FORWARD, SECOND, BACK, BACK_TO_SECOND]
    assert [suite.get("failures") == "0" for suite in suites] == [True, False, False, False]


def test_sarif_has_one_run_that_tells_the_pair_of_each_result(reports: tuple[Result, dict[str, str]]) -> None:
    (run,) = json.loads(reports[1]["sarif"])["runs"]
    assert run["automationDetails"]["id"] == "compat/"
    pairs = [FORWARD, SECOND, BACK, BACK_TO_SECOND]
    assert [check["check"] for check in run["properties"]["checks"]] == pairs
    told = {result["message"]["text"].rpartition("The check: ")[2] for result in run["results"]}
    assert told == set(pairs)
    prints = [result["partialFingerprints"]["compat/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


def test_one_pair_is_not_named_in_each_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.py").write_text(program("numbers.COUNTED.uid('a')"))
    Path("new.py").write_text(program("numbers.COUNTED.uid('b')"))
    for name in ("concise", "github"):
        assert FORWARD not in CliRunner().invoke(main, ["check", "one.py", "new.py", "--output", name]).output


def test_what_fails_on_the_way_back_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.py").write_text("1 / 0\n")
    Path("new.py").write_text(program("numbers.COUNTED.uid('b')"))
    result = CliRunner().invoke(main, ["check", "one.py", "new.py", "--rollback", "--output", "json"])
    assert result.exit_code == 2
    assert [each["direction"] for each in json.loads(result.output)["reports"]] == ["forward", "rollback"]
    assert "one.py could not be checked against new.py after a rollback" in result.output
