"""Whatever a program calls its operators, no format breaks and nothing is read as a command."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compat.check.findings import Fate, Level, MappingRow, Report, Verdict
from compat.escaping import fence, github_property, markdown, no_command, visible
from compat.report import FORMATS, Failure, ReportContext, Undecided
from compat.state.model.source_line import SourceLine
from tests.compat.builders import finding, operator, program, report

TROUBLE = "\n\r\x1b\x00\x85\u2028\u202e\ud800\ufffe`|<>&:%,]*_@#\"'\\"
NASTY = st.text(st.one_of(st.characters(), st.sampled_from(TROUBLE)), max_size=30)
CONTEXT = ReportContext(sources={}, cwd=Path("/somewhere"))


def nasty_report(name: str) -> Report:
    """A report in which everything that a user names is called ``name``."""
    place = SourceLine(name, 3)
    one = operator(name, uid=name, at=place)
    said = finding(title=name, consequence=name, reason=name, old=one, new=one, state=name, related=((name, place),))
    loose = finding("CMP602", Level.WARNING, name, ignored=name)
    return report(
        Verdict.INCOMPATIBLE,
        said,
        loose,
        mapping=(MappingRow(old=one, new=one, fate=Fate.LOST, by=name, note=name),),
        old=program(name, one, job_name=name, settings={name: name}),
        new=program(name, one),
        suppressed=(loose,),
        notes=(name,),
    )


def nasty_failure(name: str) -> Undecided:
    failure = Failure(rule="CMP901", message=name, name=name, source=SourceLine(name, 1), traceback=name, hint=name)
    return Undecided(failures=(failure,), old=name, new=name)


def is_clean(text: str) -> bool:
    return all(visible(line) == line for line in text.split("\n"))


NAMES = given(NASTY)


@NAMES
@example("x\n::error::injected")
@example("##[add-mask]x")
def test_names_stay_visible_on_one_line(name: str) -> None:
    shown = visible(name)
    assert visible(shown) == shown
    assert len(shown.splitlines()) <= 1
    assert "##[" not in shown
    shown.encode("utf-8")


@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("form", FORMATS)
@NAMES
@example("::error::x")
@example("a\n::stop-commands::x")
@example("\x1b]0;title\x07")
def test_no_format_breaks(form: str, name: str) -> None:
    for outcome in (nasty_report(name), nasty_failure(name)):
        document = FORMATS[form](outcome, CONTEXT)
        document.encode("utf-8")
        assert is_clean(document)
        if form in ("json", "sarif"):
            json.loads(document)
        elif form == "junit":
            ElementTree.fromstring(document)
        elif form == "github":
            assert all(line.startswith(("::error ", "::warning ")) for line in document.splitlines())
        else:
            assert not any(line.lstrip().startswith("::") for line in document.splitlines())


@pytest.mark.parametrize("form", ["concise", "github"])
@NAMES
def test_one_line_a_finding(form: str, name: str) -> None:
    assert len(FORMATS[form](nasty_report(name), CONTEXT).splitlines()) == 2
    assert len(FORMATS[form](nasty_failure(name), CONTEXT).splitlines()) == 1


@NAMES
@example("<script>alert(1)</script>")
@example("@everyone see #1, http://x.y and [a](b) `c` | d")
def test_markdown_has_no_markup_from_names(name: str) -> None:
    shown = markdown(name)
    assert not set("<>`|*[]@") & set(shown)
    assert "://" not in shown


def test_a_fence_outlasts_backticks_in_its_lines() -> None:
    assert fence(["a ```` b"]) == ["`````", "a ```` b", "`````"]


def test_properties_of_a_command_end_where_they_should() -> None:
    assert github_property("a:b,c%d") == "a%3Ab%2Cc%25d"


def test_a_line_that_looks_like_a_command_is_defused() -> None:
    assert no_command("  ::error::x") == "  \\x3a:error::x"


def test_names_in_other_scripts_are_kept() -> None:
    assert visible("счёт 数える café") == "счёт 数える café"
