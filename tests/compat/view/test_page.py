"""The file that holds the page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from compat.report import FORMATS, render
from compat.view.page import SCRIPTS, STYLES, static
from tests.compat.report.cases import CASES, CONTEXT
from tests.compat.test_escaping import NASTY, nasty_failure, nasty_report


class Tags(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_loaded_from_anywhere(case):
    tags = Tags(FORMATS["html"](CASES[case], CONTEXT)).found
    for tag, attributes in tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert "src" not in attributes
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")


def test_the_policy_lets_only_these_scripts_run():
    page = render("html", [CASES["moved"]], CONTEXT)
    policy = next(each["content"] for tag, each in Tags(page).found if each.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "blob:" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == len(SCRIPTS) + 1
    assert policy.count("sha256-") == len(scripts) + len(STYLES)


@settings(max_examples=40, deadline=None)
@given(NASTY)
def test_names_make_no_elements(name):
    plain, nasty = (
        {(tag, *attributes) for tag, attributes in Tags(FORMATS["html"](nasty_report(text), CONTEXT)).found}
        for text in ("name", name)
    )
    assert nasty <= plain


@settings(max_examples=40, deadline=None)
@given(NASTY)
def test_the_data_can_be_read_back(name):
    for outcome in (nasty_report(name), nasty_failure(name), nasty_report(name + "</script><!--<script>")):
        page = FORMATS["html"](outcome, CONTEXT)
        data = re.search(r'id="view-data">(.*?)</script>', page, re.DOTALL)
        assert json.loads(data[1])["sections"][0]["kind"] in ("check", "failure")


@pytest.mark.parametrize("name", [*STYLES, *SCRIPTS])
def test_no_part_ends_the_element_that_it_stands_in(name):
    assert static(name)
