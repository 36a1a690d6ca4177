"""The panel of findings: as wide as one wants, code to take along, findings of one cause, lines of the programs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.check.findings import Verdict
from compat.plan.lines import with_lines
from compat.plan.reading import from_plain
from compat.state.model.code import UserCode
from compat.state.model.job import Plan
from compat.state.model.source_line import SourceLine
from tests.compat.browser.conftest import settle
from tests.compat.browser.samples import branches, check_page, plan, plan_page, report_page
from tests.compat.browser.test_accessibility import serious
from tests.compat.browser.test_file import click, go
from tests.compat.builders import finding, operator, program, report

ROOT = Path(__file__).parents[3]
LINE = "    total = orders.key_by(lambda order: order.customer).process(Count(), output_type=Types.LONG())  # line"


def lined(made: Plan, text: str) -> Plan:
    """The plan with a line of a program for each operator; all of them say ``text`` and their number."""
    places = (replace(one, source=SourceLine("job.py", 3 * n + 1)) for n, one in enumerate(made.operators))
    return with_lines(
        replace(made, operators=tuple(places)), lambda _: [f"{text} {n}" for n in range(1, 4 * len(made.operators))]
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory: Any) -> str:
    """A check of programs without uids that carry their lines; what moved their ids is one cause for many."""
    folder = tmp_path_factory.mktemp("findings")
    return check_page(folder, lined(plan(*OLD), f"{LINE} of old"), lined(plan("filtered", *OLD), f"{LINE} of new"))


OLD = tuple(f"step {number}" for number in range(12))


def width(page: Any) -> float:
    found: float = page.locator(".findings").bounding_box()["width"]
    return found


def test_the_panel_is_widened_by_the_pointer_and_stays_so(open_page: Any, address: str) -> None:
    page = open_page(address, width=1440)
    before, picture = width(page), page.locator(".views").bounding_box()["width"]
    grip = page.get_by_role("separator", name="Width of the findings")
    box = grip.bounding_box()
    page.mouse.move(box["x"] + 7, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 207, box["y"] + 100, steps=4)
    page.mouse.up()
    assert width(page) == pytest.approx(before + 200, abs=3)
    assert page.locator(".views").bounding_box()["width"] == pytest.approx(picture - 200, abs=3)
    assert float(grip.get_attribute("aria-valuenow")) == pytest.approx(before + 200, abs=3)
    page.reload()
    settle(page)
    assert width(page) == pytest.approx(before + 200, abs=3)
    grip.dblclick()
    assert width(page) == before


def test_the_panel_is_widened_by_the_keyboard(open_page: Any, address: str) -> None:
    page = open_page(address, width=1440)
    before = width(page)
    page.locator(".grip").focus()
    for key, expected in (
        ("ArrowRight", before + 24),
        ("ArrowLeft", before),
        ("Home", 240),
        ("End", 900),
        ("Enter", before),
    ):
        page.keyboard.press(key)
        assert width(page) == pytest.approx(expected, abs=2), key
    assert serious(page) == []
    narrow = open_page(address, width=800)
    assert narrow.locator(".grip").is_hidden()


def test_code_scrolls_and_is_copied_as_it_is(open_page: Any, address: str) -> None:
    page = open_page(address, permissions=["clipboard-read", "clipboard-write"])
    panel = page.locator(".findings")
    assert panel.evaluate("e => e.scrollWidth <= e.clientWidth")
    code = page.locator(".finding .source pre").first
    assert code.evaluate("e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === 'auto'")
    button = page.locator(".copy").first
    button.click()
    page.wait_for_function("() => document.querySelector('.copy').textContent === 'Copied'")
    assert page.locator("#told").text_content() == "Copied"
    assert page.evaluate("navigator.clipboard.readText()") == button.get_attribute("data-copy")
    assert button.get_attribute("data-copy").startswith(".set_uid_hash(")


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080), (800, 900)])
def test_no_suggested_edit_is_cut(open_page: Any, tmp_path: Path, address: str, size: tuple[int, int]) -> None:
    plain = check_page(tmp_path, branches(2), branches(2, moved=((1, 1),)))
    beyond = """() => [...document.querySelectorAll('.finding .code')].flatMap(code => {
        const edge = code.querySelector('pre').getBoundingClientRect().right;
        const lines = code.querySelectorAll('.added').length ? code.querySelectorAll('.added') : [code.querySelector('pre')];
        const range = document.createRange();
        return [...lines].map(line => {
            range.selectNodeContents(line);
            return Math.max(...[...range.getClientRects()].map(r => r.right)) - edge;
        });
    })"""
    for each in (plain, address):
        page = open_page(each, width=size[0], height=size[1])
        found = page.evaluate(beyond)
        assert found
        assert max(found) <= 0
    page = open_page(plain, width=1280)
    edit = page.locator(".finding .code > pre").first
    assert edit.inner_text().startswith(".set_uid_hash(")
    assert edit.evaluate("e => e.clientHeight < 2.5 * parseFloat(getComputedStyle(e).fontSize) + 16")


def test_copying_works_where_a_page_may_not_use_the_clipboard(open_page: Any, address: str) -> None:
    page = open_page(address)
    page.evaluate("Object.defineProperty(window, 'isSecureContext', { value: false })")
    taken = "window.taken = [name, String(getSelection()) || document.activeElement.value]"
    page.evaluate(f"document.execCommand = (name) => {{ {taken}; return true; }}")
    button = page.locator(".copy").first
    button.click()
    page.wait_for_function("() => document.querySelector('.copy').textContent === 'Copied'")
    assert page.evaluate("window.taken") == ["copy", button.get_attribute("data-copy")]


def test_findings_of_one_cause_are_one_that_lists_whom_it_concerns(open_page: Any, tmp_path: Path) -> None:
    olds = [operator(f"step {number}", node=number) for number in range(9)]
    found = [
        finding(
            title=f"step {number} runs with another parallelism",
            old=each,
            new=each,
            cause="run with parallelism 200",
            new_line=SourceLine("job.py", number + 1),
        )
        for number, each in enumerate(olds)
    ]
    outcome = report(Verdict.INCOMPATIBLE, *found, old=program("old.py", *olds), new=program("new.py", *olds))
    page = open_page(report_page(tmp_path, outcome))
    assert page.locator(".finding").count() == 1
    assert page.locator(".finding .what").inner_text() == "9 operators run with parallelism 200"
    jumps = page.locator(".finding .jump:visible")
    assert [each.inner_text() for each in jumps.all()] == [
        f"{side}: step {number}" for side in ("OLD", "NEW") for number in range(4)
    ]
    page.get_by_text("NEW: 5 more operators").click()
    page.locator(".jump", has_text="NEW: step 8").click()
    settle(page)
    assert page.locator(".drawer h2").text_content() == "step 8"
    assert "about" in page.locator(".finding").get_attribute("class")
    assert page.locator(".drawer [data-go-finding]").count() == 1
    assert page.locator(".canvas .mark.error").count() == 18
    assert page.locator(".finding details", has_text="more places").count() == 1


def test_both_programs_show_their_own_lines_though_the_files_have_one_name(open_page: Any, address: str) -> None:
    page = open_page(address)
    body = page.locator(".finding .body").first
    shown = [each.text_content() for each in body.locator(".source pre").all()]
    assert "of old" in shown[0]
    assert "of new" in shown[1]
    click(page, '[data-at^="old:"].op')
    assert "of old" in page.locator(".drawer .source pre").text_content()


def test_of_a_query_the_statement_and_what_flink_calls_it(open_page: Any, tmp_path: Path) -> None:
    with gzip.open(ROOT / "tests" / "golden" / "sql" / "plans.json.gz") as file:
        kept = json.load(file)
    old, new = (from_plain(kept[f"aggregate_of_a_join/{side}"]) for side in ("old", "new"))
    page = open_page(check_page(tmp_path, old, new, names=("old.sql", "new.sql")))
    article = page.locator(".finding", has=page.get_by_text("CMP701"))
    assert [each.text_content().split()[:2] for each in article.locator(".source pre").all()] == [
        ["4INSERT", "INTO"]
    ] * 2
    assert "start NEW without the savepoint" in article.locator(".fix").last.inner_text()
    article.locator(".jump").last.click()
    settle(page)
    text = page.locator(".drawer").inner_text()
    assert "What it does, in Flink's words" in text
    assert "GroupAggregate(groupBy=" in text
    assert "new.sql:4" in text


def test_of_java_the_method_and_the_users_code(open_page: Any, tmp_path: Path) -> None:
    made = branches(1, 1)
    place = SourceLine("Payments.java", 56, class_name="com.acme.Payments", method="main")
    java = replace(
        made,
        operators=tuple(
            replace(one, source=place, function=UserCode(name="com.acme.Payments$Total")) for one in made.operators
        ),
    )
    page = open_page(plan_page(tmp_path, java) + "#/0/picture/job?at=new:1")
    text = page.locator(".drawer").inner_text()
    assert "Payments.java:56 in com.acme.Payments.main" in text
    assert "com.acme.Payments$Total" in text
    go(page, "t")
    page.locator('[data-row="new:1"]', has_text="in com.acme.Payments.main").wait_for()
