"""The promises of the formats for machines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from msgspec.structs import replace

from compat import schemas
from compat.check.findings import Fate, Level, Verdict
from compat.loader.failure import Failure, Undecidable
from compat.report import FORMATS, ReportContext, Undecided, UnknownFormatError, render
from compat.report.following import next_step
from compat.report.locations import uri
from compat.report.summary import verdict_of
from compat.state.model.source_line import SourceLine
from tests.compat.builders import SOURCES, finding, moved_report, program, report
from tests.compat.report.cases import CASES, CONTEXT


def loaded(form: str, case: str) -> Any:
    return json.loads(FORMATS[form](CASES[case], CONTEXT))


@pytest.mark.parametrize("case", CASES)
def test_json_follows_its_schema(case: str) -> None:
    validator = jsonschema.Draft202012Validator(schemas.load("report"))
    validator.check_schema(validator.schema)
    validator.validate(loaded("json", case))


def test_a_long_ledger_says_what_it_leaves_out() -> None:
    outcome = CASES["compatible"]
    account = outcome.accounts[0]
    missing = replace(account, evidence=None, fate=Fate.UNKNOWN, gap="not told")
    context = replace(CONTEXT, verbose=True)
    for accounts, left_out in (
        ([account] * 1_000 + [missing], "and 1,000 states more; --format json has all"),
        ([missing] * 101, "and 1 state more; --format json has all"),
        ([account] * 100, None),
    ):
        text = FORMATS["text"](replace(outcome, accounts=tuple(accounts)), context)
        assert ("states more" in text or "state more" in text) == (left_out is not None)
        assert left_out is None or left_out in text


def test_several_checks_in_one_document() -> None:
    document = json.loads(render("json", list(CASES.values()), CONTEXT))
    jsonschema.Draft202012Validator(schemas.load("report")).validate(document)
    assert [each["verdict"] for each in document["reports"]] == list(map(verdict_of, CASES.values()))
    (run,) = json.loads(render("sarif", list(CASES.values()), CONTEXT))["runs"]
    assert [each["verdict"] for each in run["properties"]["checks"]] == list(map(verdict_of, CASES.values()))
    assert len(ElementTree.fromstring(render("junit", list(CASES.values()), CONTEXT))) == len(CASES)


def test_keys_are_in_the_same_order_in_every_report() -> None:
    first, *others = (list(loaded("json", case)) for case in CASES)
    for keys in others:
        assert [*first, *(["rehearsal"] if "rehearsal" in keys else [])] == keys


@pytest.mark.parametrize("form", FORMATS)
def test_a_failure_never_looks_like_success(form: str) -> None:
    document = FORMATS[form](CASES["undecided"], CONTEXT)
    signs = {
        "text": "UNDECIDED",
        "concise": "CMP901 failure",
        "json": '"verdict": "unknown"',
        "github": "::error ",
        "sarif": '"executionSuccessful": false',
        "junit": 'errors="1"',
        "markdown": "UNDECIDED",
        "html": "Not decided",
    }
    assert signs[form] in document
    assert "splitt" in document


@pytest.mark.parametrize("form", FORMATS)
def test_what_was_not_checked_is_in_every_format_and_no_failure(form: str) -> None:
    document = FORMATS[form](CASES["new"], CONTEXT)
    signs = {
        "text": "NOT CHECKED: word_count_v2.py is new",
        "concise": "word_count_v2.py: CMP908 note ",
        "json": '"verdict": "not-checked"',
        "github": "::notice title=CMP908 not-checked::",
        "sarif": '"level": "note"',
        "junit": '<skipped message="word_count_v2.py is new',
        "markdown": "NOT CHECKED",
        "html": "Not checked",
    }
    assert signs[form] in document
    assert "main has no such file" in document.replace("&#46;", ".")
    assert "::error" not in document
    assert '"executionSuccessful": false' not in document
    several = render(form, [CASES["compatible"], CASES["new"], CASES["moved"]], CONTEXT)
    if form in ("text", "markdown", "html", "sarif"):
        assert "2 checks: 1 compatible, 1 incompatible. Not checked: 1 new." in several.replace("\\", "")


def test_junit_has_one_failure_a_failing_job_and_real_paths() -> None:
    broken = replace(CASES["one_cause"], findings=tuple(
        replace(one, old_line=SourceLine("git:main:jobs/job.py", 4)) for one in CASES["one_cause"].findings
    ))  # fmt: skip
    both = ElementTree.fromstring(render("junit", [broken, CASES["moved"], CASES["undecided"]], CONTEXT))
    assert (both.get("failures"), both.get("errors")) == ("2", "1")
    (failure,) = both[0].iter("failure")
    assert (failure.text or "").count("CMP302") == 3
    assert not [case.get("file") for case in both.iter("testcase") if "git:" in (case.get("file") or "")]


def test_fingerprints_and_the_category_of_sarif_are_those_of_the_next_revision_too() -> None:
    def prints(revision: str) -> list[object]:
        failure = Failure(rule=Undecidable.PROGRAM_FAILED, message="failed", name=f"git:{revision}:job.py")
        undecided = Undecided(failures=(failure,), old=f"git:{revision}:job.py", new="job.py")
        (run,) = json.loads(render("sarif", [undecided, CASES["moved"]], CONTEXT))["runs"]
        return [run["automationDetails"], *(result["partialFingerprints"] for result in run["results"])]

    assert prints("a1b2c3") == prints("d4e5f6")


@pytest.mark.parametrize("form", [name for name in FORMATS if name != "json"])
def test_ids_of_commits_have_seven_digits_for_people(form: str) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    told = finding(title=f"'a' finds no state in git:{commit}:job.py", new_line=SourceLine(f"git:{commit}:job.py", 4))
    told_of = report(Verdict.INCOMPATIBLE, told, old=program(f"git:{commit}:job.py"))
    printed = FORMATS[form](told_of, CONTEXT).replace("&#58;", ":")
    assert "0123456:job.py" in printed
    assert commit not in printed


@pytest.mark.parametrize("form", ["concise", "github", "sarif", "junit"])
@pytest.mark.parametrize("verdict", [Verdict.INCOMPATIBLE, Verdict.UNKNOWN])
def test_a_bad_verdict_without_findings_is_still_said(form: str, verdict: Verdict) -> None:
    assert verdict.name in FORMATS[form](report(verdict), CONTEXT)


@pytest.mark.parametrize("case", CASES)
def test_sarif_essentials(case: str) -> None:
    log = loaded("sarif", case)
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["help"]["text"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["partialFingerprints"]["compat/v1"]
        for location in result.get("locations", []):
            physical = location["physicalLocation"]
            assert not physical["artifactLocation"]["uri"].startswith("/")
            assert physical["region"]["startLine"] >= 1


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/work tree/jobs/a b.py", ("jobs/a%20b.py", True)),
        ("job.py", ("job.py", True)),
        ("git:main:jobs/job.py", ("jobs/job.py", True)),
        ("/elsewhere/job.py", ("file:///elsewhere/job.py", False)),
        ("c:job.py", ("c%3Ajob.py", True)),
    ],
)
def test_uris(file: str, expected: tuple[str, bool]) -> None:
    assert uri(file, CONTEXT) == expected


def test_junit_has_a_case_for_each_stateful_operator_of_old() -> None:
    suite = ElementTree.fromstring(FORMATS["junit"](CASES["moved"], CONTEXT))[0]
    names = [case.get("name", "") for case in suite]
    assert [name.split(" [")[0] for name in names[:2]] == ["Source: lines", "Count"]
    assert len(suite[0].findall("failure")) == 0
    assert len(suite[1].findall("failure")) == 1


def test_warnings_fail_a_junit_case_only_if_they_fail_the_check() -> None:
    warned = report(Verdict.COMPATIBLE, finding("CMP104", Level.WARNING, "no uids"))
    assert "<failure" not in FORMATS["junit"](warned, CONTEXT)
    assert "<failure" in FORMATS["junit"](warned, replace(CONTEXT, fail_on=Level.WARNING))


def test_files_of_another_revision_are_no_files_of_the_work_tree() -> None:
    gone = report(Verdict.INCOMPATIBLE, finding(old_line=SourceLine("git:main:job.py", 4)))
    line = FORMATS["github"](gone, CONTEXT)
    assert "file=" not in line
    assert "git:main:job.py:4" in line


def test_colour_only_when_asked_for() -> None:
    assert "\x1b[" not in FORMATS["text"](moved_report(), CONTEXT)
    assert "\x1b[" in FORMATS["text"](moved_report(), replace(CONTEXT, color=True))


def test_the_first_and_the_last_line_are_whole_on_a_narrow_terminal() -> None:
    lines = FORMATS["text"](moved_report(), replace(CONTEXT, width=40)).splitlines()
    assert lines[0].endswith("(1 operator loses its state).")
    assert lines[-1] == "Next: compat rule CMP102"


@pytest.mark.parametrize(
    ("old", "allowed", "expected"),
    [
        ("program", False, "Next: flink run -s \"$SAVEPOINT\" -py 'my job.py'"),
        ("program", True, "Next: flink run -s \"$SAVEPOINT\" -n -py 'my job.py'"),
        ("snapshot", False, "Next: compat job run 'my job.py' -s sp-1"),
        ("savepoint", False, "Next: flink run -s sp-1 -py 'my job.py'"),
    ],
)
def test_what_to_run_next(old: str, allowed: bool, expected: str) -> None:
    done = report(
        Verdict.COMPATIBLE, old=program("sp-1", kind=old), new=program("my job.py"), allow_non_restored=allowed
    )
    assert next_step(done, CONTEXT) == expected


def test_sources_come_from_a_function_too_and_may_be_missing() -> None:
    by_function = replace(CONTEXT, sources=SOURCES.get)
    assert FORMATS["text"](moved_report(), by_function) == FORMATS["text"](moved_report(), CONTEXT)
    without = FORMATS["text"](moved_report(), replace(CONTEXT, sources={}))
    assert " | .process(" not in without
    assert "+ .set_uid_hash(" in without


def test_sources_are_read_from_disk_by_default(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("a = 1\nb = 2\n")
    context = ReportContext(cwd=tmp_path)
    assert context.lines("job.py") == ["a = 1", "b = 2"]
    assert context.lines("none.py") is None
    assert context.lines("nul\0.py") is None


def test_unknown_formats_and_empty_failures_are_refused() -> None:
    with pytest.raises(UnknownFormatError, match="known are text, concise"):
        render("xml", [], CONTEXT)
    with pytest.raises(ValueError, match="says why"):
        Undecided(failures=())


def test_importing_the_package_imports_no_format() -> None:
    code = (
        "import sys, compat.report; print([n for n in sys.modules if n.split('.')[0] in ('rich', 'click') "
        "or n.startswith('compat.compiler.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
