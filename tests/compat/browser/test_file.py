"""The page of one file, in a browser: what it shows and how it is walked through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.check.findings import Verdict
from compat.check.undecided import Undecided
from compat.loader.failure import Failure
from tests.compat.browser.conftest import settle
from tests.compat.browser.samples import NEW, OLD, all_fates, check_page, plan, plan_page, report_page, wide_plan


@pytest.fixture(scope="module")
def address(tmp_path_factory: Any) -> str:
    return check_page(tmp_path_factory.mktemp("page"), plan(*OLD), plan(*NEW))


def go(page: Any, key: str) -> None:
    page.keyboard.press(key)
    settle(page)


def click(page: Any, selector: str, **options: Any) -> None:
    page.locator(selector).first.click(**options)
    settle(page)


def node(page: Any, side: str, name: str) -> Any:
    return page.locator(f'.canvas .op[data-at^="{side}:"]').filter(has=page.locator(f'.name:text-is("{name}")'))


def test_what_belongs_together_is_on_one_line(open_page: Any, address: str) -> None:
    page = open_page(address + "#/0/picture/stream")
    for name in ("Source: words", "count", "sum"):
        old, new = (node(page, side, name).bounding_box() for side in ("old", "new"))
        assert old["y"] == pytest.approx(new["y"], abs=1)
        assert old["x"] + old["width"] < new["x"]
    assert node(page, "old", "filtered").count() == 0
    assert node(page, "new", "filtered").count() == 1


def test_state_carried_is_drawn(open_page: Any, tmp_path: Path) -> None:
    page = open_page(report_page(tmp_path, all_fates()) + "#/0/picture/stream")
    drawn = {link.get_attribute("class").split()[1] for link in page.locator(".link").all()}
    assert drawn == {"restored", "migrated", "dropped", "refused", "wrong-hands", "lost", "unknown", "empty"}
    ends = page.locator(".link.dropped .end, .link.refused .end, .link.lost .end")
    assert ends.count() == 3
    assert page.locator(".link.empty circle").count() == 1
    assert page.locator(".tag.migrated .pill-text").text_content() == "migrated"


def test_layers_and_views_by_click_and_by_key(open_page: Any, address: str) -> None:
    page = open_page(address)
    assert page.locator(".box.chain.open").count() == 2
    click(page, "[data-layer=execution]")
    assert page.locator(".pips").count() == 7
    assert page.locator(".edge-label").first.text_content() == "OLD: all to all, 4 connections"
    go(page, "1")
    assert page.locator(".op").count() == 9
    assert page.locator(".pips").count() == 0
    go(page, "2")
    go(page, "t")
    assert page.locator(".picture").is_hidden()
    assert page.locator("table.mapping").is_visible()
    click(page, "[data-view=picture]")
    assert page.locator(".picture").is_visible()
    assert page.url.endswith("#/0/picture/job")


def test_chains_open_and_close_and_the_address_keeps_it(open_page: Any, address: str) -> None:
    page = open_page(address)
    click(page, ".toggle")
    assert page.locator(".box.chain.open").count() == 0
    assert "open=" in page.url
    again = open_page(page.url)
    assert again.locator(".box.chain").count() == 2
    assert again.locator(".box.chain.open").count() == 0
    click(again, "[data-chains]")
    assert again.locator(".box.chain.open").count() == 2
    again.locator(".vertex").first.focus()
    go(again, "o")
    assert again.locator(".box.chain.open").count() == 0


def test_the_drawer_tells_what_is_known_and_leads_on(open_page: Any, address: str) -> None:
    page = open_page(address)
    node(page, "old", "sum").click()
    settle(page)
    drawer = page.locator(".drawer")
    text = drawer.inner_text()
    for told in ("OLD · keyed process", "not restored", "operator id", "timers", "max parallelism", "128 (derived)"):
        assert told in text
    drawer.get_by_text("In NEW:").locator("a").click()
    settle(page)
    assert "NEW · keyed process" in drawer.inner_text()
    assert "starts empty" in drawer.inner_text()
    assert page.locator(".node.selected .name").text_content() == "sum"
    assert page.locator(".node.partner").count() == 1
    page.go_back()
    settle(page)
    assert "OLD · keyed process" in drawer.inner_text()
    go(page, "Escape")
    assert drawer.is_hidden()
    assert page.locator(".selected").count() == 0


def test_a_vertex_tells_its_chain_and_key_groups(open_page: Any, address: str) -> None:
    page = open_page(address + "#/0/picture/execution?at=new:v0")
    text = page.locator(".drawer").inner_text()
    assert "job vertex" in text
    assert "0 to 63" in text
    assert "64 to 127" in text


def test_findings_jump_to_their_nodes_and_back(open_page: Any, address: str) -> None:
    page = open_page(address)
    finding = page.locator('[data-finding="0"]')
    finding.locator(".jump").first.click()
    settle(page)
    assert "selected" in finding.get_attribute("class")
    name = page.locator(".node.selected .name").text_content()
    assert name in finding.inner_text()
    page.locator(".drawer [data-go-finding]").first.click()
    settle(page)
    assert page.locator(".finding.selected").count() == 1
    go(page, "n")
    first = page.url
    go(page, "n")
    assert page.url != first
    go(page, "p")
    assert page.url == first


def test_the_table_tells_the_same(open_page: Any, address: str) -> None:
    page = open_page(address)
    links = page.locator(".link").count()
    nodes = {each.get_attribute("data-at") for each in page.locator(".op").all()}
    go(page, "t")
    assert page.locator("table.mapping tbody tr").count() == links
    rows = {each.get_attribute("data-row") for each in page.locator("[data-row]").all()}
    assert rows == nodes
    page.locator("table.mapping a").first.click()
    settle(page)
    assert page.locator(".drawer").is_visible()
    assert page.locator("tr.selected").count() == 3


def test_search_by_keyboard(open_page: Any, address: str) -> None:
    page = open_page(address)
    page.keyboard.press("/")
    page.keyboard.type("sum")
    assert page.locator(".hits [data-hit]").count() == 2
    page.keyboard.press("ArrowDown")
    go(page, "Enter")
    assert "at=new" in page.url
    assert page.locator(".drawer h2").text_content() == "sum"
    assert page.locator(".hits").is_hidden()
    search = page.locator("input[type=search]")
    for text, hits in (("the source", 2), ("timers", 5), ("no such thing", 0)):
        search.fill(text)
        assert page.locator(".hits [data-hit]").count() == hits
    page.keyboard.press("Escape")
    assert search.input_value() == ""


def test_arrows_go_from_box_to_box_and_across(open_page: Any, address: str) -> None:
    page = open_page(address + "#/0/picture/stream")
    node(page, "old", "count").focus()
    at = lambda: page.evaluate("document.activeElement.dataset.at")  # noqa: E731
    page.keyboard.press("ArrowRight")
    assert at() == node(page, "new", "count").get_attribute("data-at")
    page.keyboard.press("ArrowUp")
    assert at() == node(page, "new", "filtered").get_attribute("data-at")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert at() == node(page, "old", "count").get_attribute("data-at")
    assert page.locator('.canvas .node[tabindex="0"]').count() == 1
    go(page, "Enter")
    assert page.locator(".drawer h2").text_content() == "count"


def test_help_and_zoom(open_page: Any, address: str) -> None:
    page = open_page(address, width=1440)
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("1")
    assert page.url.endswith("page.html")
    page.locator("[data-close-help]").click()
    assert page.locator("dialog").is_hidden()
    before = page.locator(".sheet").bounding_box()["width"]
    page.keyboard.press("+")
    assert page.locator(".sheet").bounding_box()["width"] > before
    page.keyboard.press("0")
    assert page.locator(".sheet").bounding_box()["width"] == pytest.approx(before, abs=1)


def test_the_ledger_tells_of_each_state_what_happens_and_how_that_is_known(open_page: Any, address: str) -> None:
    page = open_page(address + "#/0/tables/stream")
    ledger = page.get_by_role("region", name="The ledger")
    assert ledger.is_visible()
    assert [each.inner_text() for each in ledger.locator("thead th").all()] == [
        "State",
        "Operator",
        "In OLD",
        "In NEW",
        "What happens",
        "How it is known",
    ]
    rows = [[each.inner_text() for each in row.locator("th, td").all()] for row in ledger.locator("tbody tr").all()]
    assert [row[4] for row in rows] == ["not restored", "handed to another operator", "restored", "restored"]
    moved, wrong, *_, kept = rows
    assert moved[0] == "timers"
    assert moved[2:4] == ["keyed timers", "no operator has its id"]
    assert "in filtered" in wrong[3]
    assert kept[3] == kept[2]
    assert kept[5].endswith("by our readers")
    assert "operators" in ledger.locator("caption").inner_text()
    ledger.locator("a").first.click()
    settle(page)
    assert ledger.locator("tr.selected").count() == 1


def test_an_address_opens_its_view(open_page: Any, address: str) -> None:
    page = open_page(address + "#/0/tables/stream?at=old:1&finding=1")
    assert page.locator("table.mapping").is_visible()
    assert page.locator(".finding.selected").get_attribute("data-finding") == "1"
    assert page.locator(".drawer").is_visible()


@pytest.mark.parametrize(
    "hash", ["#/9/no/such?at=old:99&finding=77&open=x", "#%", "#/0/picture/job?at=new:v99", "#main"]
)
def test_an_address_of_nothing_shows_the_start(open_page: Any, address: str, hash: str) -> None:
    page = open_page(address + hash)
    assert page.locator(".picture").is_visible()
    assert page.locator(".drawer").is_hidden()


def test_light_and_dark(open_page: Any, address: str) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    page = open_page(address, color_scheme="dark")
    dark = page.evaluate(colour)
    page.locator("#theme").click()
    light = page.evaluate(colour)
    assert light != dark
    page.locator("#theme").click()
    assert page.evaluate(colour) == dark
    page.reload()
    assert page.locator("#theme").inner_text().endswith("Dark")
    assert open_page(address, color_scheme="light").evaluate(colour) == light


def test_three_hundred_boxes_at_once(open_page: Any, tmp_path: Path) -> None:
    wide = wide_plan(149)
    page = open_page(plan_page(tmp_path, wide) + "#/0/picture/stream")
    assert page.locator(".op").count() == 299
    assert page.locator(".reason").is_hidden()


def test_larger_graphs_are_collapsed_by_vertex_and_say_why(open_page: Any, tmp_path: Path) -> None:
    page = open_page(plan_page(tmp_path, wide_plan(160)) + "#/0/picture/stream")
    assert "321 operators are more than the 300 that are drawn at once" in page.locator(".reason").inner_text()
    assert page.locator(".box.chain").count() == 160
    assert page.locator(".box.chain.open").count() == 0
    click(page, ".toggle")
    assert page.locator(".box.chain.open").count() == 1
    page.locator("input[type=search]").fill("count 77")
    go(page, "Enter")
    assert page.locator(".node.selected").is_visible()


def test_the_largest_graphs_show_the_surroundings(open_page: Any, tmp_path: Path) -> None:
    page = open_page(plan_page(tmp_path, wide_plan(400)))
    assert "401 vertices are more than the 300" in page.locator(".reason").inner_text()
    assert page.locator(".canvas .box").count() == 300
    page.locator("input[type=search]").fill("count 399")
    go(page, "Enter")
    assert page.locator(".node.selected").is_visible()
    assert page.locator(".canvas .box").count() == 300


HOSTILE = '</script><img src=x onerror="alert(1)"><b>&amp;{{7*7}}'


def test_names_are_text(open_page: Any, tmp_path: Path) -> None:
    page = open_page(check_page(tmp_path, plan(HOSTILE), plan("other", HOSTILE)) + "#/0/picture/stream")
    assert page.locator("main img").count() == 0
    assert node(page, "old", "x").count() == 0
    assert HOSTILE in [each.text_content() for each in page.locator(".canvas .op .name").all()]
    click(page, '[data-at="old:1"]')
    assert page.locator(".drawer h2").text_content() == HOSTILE
    page.locator("input[type=search]").fill("onerror")
    assert page.locator(".hits [data-hit]").count() == 2
    page.keyboard.press("Escape")
    go(page, "t")
    assert page.locator("table.mapping").get_by_text("</script>").count() >= 1
    assert page.locator("main img").count() == 0


def test_without_scripts_the_findings_and_tables_are_there(open_page: Any, address: str) -> None:
    page = open_page(address, java_script_enabled=False)
    assert page.locator("table.mapping").is_visible()
    assert page.locator("[data-finding] .body").first.is_visible()
    assert page.locator(".picture").is_hidden()
    assert page.locator(".toolbar").is_hidden()


def test_several_checks_in_one_file(open_page: Any, tmp_path: Path) -> None:
    failed = Undecided(
        failures=(Failure(rule="CMP901", message="It raised.", name="new.py"),), old="old.py", new="new.py"
    )
    page = open_page(report_page(tmp_path, all_fates(), failed))
    assert page.locator(".section:visible").count() == 1
    page.locator('[data-section-link="1"]').click()
    settle(page)
    assert "It raised." in page.locator(".section:visible").inner_text()
    assert page.locator(".section:visible .verdict").inner_text() == "Not decided"


def test_of_several_checks_the_worst_is_shown_first_and_all_are_counted(open_page: Any, tmp_path: Path) -> None:
    fine = replace(all_fates(), verdict=Verdict.COMPATIBLE, findings=())
    page = open_page(report_page(tmp_path, fine, all_fates()))
    assert page.locator(".section:visible .verdict").inner_text() == "Incompatible"
    assert page.locator(".totals").inner_text() == "2 checks: 1 compatible, 1 incompatible."
    page.locator('[data-section-link="0"]').click()
    settle(page)
    assert page.locator(".section:visible .verdict").inner_text() == "Compatible"


def test_eight_hundred_pixels_are_enough(open_page: Any, address: str) -> None:
    for hash in ("#/0/picture/job?at=new:2", "#/0/tables/job"):
        page = open_page(address + hash, width=800)
        assert page.evaluate("document.documentElement.scrollWidth") <= 800
        assert page.locator("h1").is_visible()
