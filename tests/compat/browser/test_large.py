"""Pages of jobs with hundreds of operators: what is shown of them, and what can still be told apart."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.compat.browser.conftest import settle
from tests.compat.browser.samples import branches, chained, check_page
from tests.compat.browser.test_file import click, go
from tests.compat.browser.test_picture import overlap

MOVED = ((0, 1), (20, 0))
LONG = (
    "pipelines/customers/orders/current/production/jobs/orders_old.py",
    "git:refs/heads/feature/a-long-name-of-a-branch:pipelines/customers/orders/next/orders_new.py",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: Any) -> str:
    """A check of 201 operators, two of which moved."""
    folder = tmp_path_factory.mktemp("large")
    return check_page(folder, branches(50), branches(50, moved=MOVED), names=LONG)


@pytest.fixture(scope="module")
def small(tmp_path_factory: Any) -> str:
    """A check of 13 operators in three branches, one of which moved."""
    return check_page(tmp_path_factory.mktemp("small"), branches(3), branches(3, moved=((2, 1),)), names=LONG)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("count 2", "count 2"),
        ("count 23", "count 23"),
        ("COUNT  23", "count 23"),
        ("count 14", "count 14"),
        ("uid of count 7", "count 7"),
        ("the source", "Source: orders"),
        ("23", "count 23"),
        ("orders", "Source: orders"),
    ],
)
def test_search_opens_what_is_called_exactly_so(open_page: Any, address: str, query: str, first: str) -> None:
    page = open_page(address)
    page.locator("input[type=search]").fill(query)
    go(page, "Enter")
    assert page.locator(".drawer h2").text_content() == first


def test_search_finds_ids_by_their_beginning_and_names_before_them(open_page: Any, address: str) -> None:
    page = open_page(address + "#/0/picture/job?at=old:5")
    id = page.locator(".drawer code").first.text_content()
    name = page.locator(".drawer h2").text_content()
    search = page.locator("input[type=search]")
    for query in (id, id[:8]):
        search.fill(query)
        assert name in page.locator(".hits [data-hit]").first.inner_text()
    search.fill("count 1")
    names = [each.inner_text().split(" uid")[0].split(" ", 1)[1] for each in page.locator(".hits [data-hit]").all()]
    assert names[:2] == ["count 1", "count 1"]
    assert all(each.startswith("count 1") for each in names)


def test_above_sixty_operators_only_what_changed_is_drawn(open_page: Any, address: str) -> None:
    page = open_page(address)
    toggle = page.locator("[data-changed]")
    assert toggle.get_attribute("aria-pressed") == "true"
    assert "Drawn are 6 of 151 vertices" in page.locator(".reason").inner_text()
    drawn = {each.text_content() for each in page.locator(".canvas .op .name").all()}
    assert {"count 1", "count 60"} < drawn
    assert "count 90" not in drawn
    assert page.locator(".edge.bridge").count() == 0
    go(page, "c")
    assert toggle.get_attribute("aria-pressed") == "false"
    assert "show=all" in page.url
    assert page.locator(".reason").is_hidden()
    assert page.locator(".canvas .box").count() == 2 * 151
    assert open_page(page.url).locator("[data-changed]").get_attribute("aria-pressed") == "false"
    click(page, "[data-changed]")
    assert page.locator(".canvas .box").count() < 40
    page.locator("input[type=search]").fill("count 90")
    go(page, "Enter")
    assert page.locator(".node.selected .name").text_content() == "count 90"


def test_below_that_all_is_drawn_until_asked(open_page: Any, small: str) -> None:
    page = open_page(small + "#/0/picture/stream")
    assert page.locator("[data-changed]").get_attribute("aria-pressed") == "false"
    assert page.locator(".canvas .op").count() == 26
    go(page, "c")
    assert page.locator(".canvas .op").count() == 6
    assert page.locator(".canvas .op .name").first.text_content().startswith("count")


def test_what_is_left_out_between_two_is_one_arrow(open_page: Any, tmp_path: Path) -> None:
    page = open_page(check_page(tmp_path, branches(1, 70), branches(1, 70, moved=((0, 5), (0, 50)))))
    bridge = page.locator(".edge-label", has_text="unchanged")
    assert [each.text_content() for each in bridge.all()] == ["⋯ 42 unchanged"]
    assert page.locator(".edge.bridge").count() == 1


def test_programs_that_are_the_same_are_drawn_whole(open_page: Any, tmp_path: Path) -> None:
    page = open_page(check_page(tmp_path, branches(25), branches(25)))
    assert "Nothing changed" in page.locator(".reason").inner_text()
    assert page.locator(".canvas .box").count() == 2 * 76


@pytest.mark.parametrize("layer", ["stream", "job", "execution"])
def test_fit_shows_all_columns_with_both_sides(open_page: Any, address: str, layer: str) -> None:
    page = open_page(address + f"#/0/picture/{layer}?show=all")
    click(page, '[data-zoom="fit"]')
    canvas = page.locator(".canvas").bounding_box()
    frames = page.evaluate(
        "[...document.querySelectorAll('.canvas .box')].map(e => e.getBoundingClientRect()).map(e => [e.left, e.right])"
    )
    assert len(frames) > 300
    assert min(left for left, _ in frames) >= canvas["x"] - 1
    assert max(right for _, right in frames) <= canvas["x"] + canvas["width"] + 1
    assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.canvas'))")


def test_no_word_stands_where_the_line_of_another_state_ends(open_page: Any, small: str) -> None:
    page = open_page(small + "#/0/picture/stream")
    tags = [(each.locator("text").text_content(), each.bounding_box()) for each in page.locator(".tag").all()]
    assert {text for text, _ in tags} == {"restored", "refused", "starts empty"}
    ends = [each.bounding_box() for each in page.locator(".link .end, .link circle").all()]
    assert len(ends) == 2
    for one, other in combinations([*(box for _, box in tags), *ends], 2):
        assert not overlap(one, other)
    refused = page.locator(".tag.refused").bounding_box()
    end = page.locator(".link.refused .end").bounding_box()
    assert abs((refused["y"] + refused["height"] / 2) - (end["y"] + end["height"] / 2)) < 2


def test_lines_of_one_fate_at_one_height_are_one_bundle(open_page: Any, tmp_path: Path) -> None:
    page = open_page(check_page(tmp_path, chained(6), chained(6)) + "#/0/picture/job?open=")
    assert page.locator(".canvas .chain.open").count() == 0
    assert page.locator(".link.restored").count() == 7
    words = [each.text_content() for each in page.locator(".tag.restored text").all()]
    assert len(words) < 7
    assert sum(int(text.partition(" ×")[2] or 1) for text in words) == 7
    click(page, "[data-chains]")
    assert [each.text_content() for each in page.locator(".tag.restored text").all()] == ["restored"] * 7


def test_tables_list_problems_first(open_page: Any, address: str) -> None:
    page = open_page(address + "#/0/tables/job")
    fates = [each.get_attribute("class").split()[1] for each in page.locator("table.mapping .fate").all()]
    assert fates == ["refused"] * 2 + ["empty"] * 2 + ["restored"] * 149
    assert page.locator('[data-row^="old:"] .operator-link').first.text_content() in ("count 1", "count 60")


@pytest.mark.parametrize("width", [390, 905, 1180, 1440])
def test_tables_do_not_clip(open_page: Any, small: str, width: int) -> None:
    page = open_page(small + "#/0/tables/job", width=width)
    inside = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
    assert set(page.evaluate(inside)) == {0}
    id = page.locator("td .id").first
    assert id.get_attribute("title") == id.text_content()


def test_titles_keep_the_name_of_the_file(open_page: Any, small: str) -> None:
    page = open_page(small + "#/0/picture/stream?show=changed")
    for side, name in zip(("old", "new"), LONG, strict=True):
        title = page.locator(".panel-title span").nth(0 if side == "old" else 1)
        assert title.get_attribute("title") == name
        frame, text = title.bounding_box(), title.locator("bdi").bounding_box()
        assert text["width"] > frame["width"]
        assert text["x"] + text["width"] <= frame["x"] + frame["width"] + 1
    heading = page.locator("h1")
    assert "…/current/production/jobs/orders_old.py" in heading.inner_text()
    assert all(name in heading.get_attribute("title") for name in LONG)


@pytest.mark.parametrize("which", ["address", "small"])
def test_on_a_telephone_the_graph_starts_at_a_finding(open_page: Any, request: Any, which: str) -> None:
    page = open_page(request.getfixturevalue(which), width=390, height=844)
    canvas = page.locator(".canvas").bounding_box()
    box = page.locator(".canvas .op", has=page.locator(".mark.error")).last.bounding_box()
    assert canvas["x"] <= box["x"]
    assert box["x"] + box["width"] <= canvas["x"] + canvas["width"]
    assert canvas["y"] <= box["y"] <= canvas["y"] + canvas["height"]
    assert box["width"] > 180
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_a_telephone_tables_are_cards(open_page: Any, small: str) -> None:
    page = open_page(small + "#/0/tables/job", width=390, height=844)
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    rows = page.locator("table.mapping tbody tr")
    first, second = (rows.nth(place).bounding_box() for place in (0, 3))
    assert first["x"] >= 0
    assert first["x"] + first["width"] <= 390
    assert second["y"] > first["y"] + first["height"]
    cell = page.locator("table.mapping tbody td").first
    assert cell.evaluate("e => getComputedStyle(e, '::before').content") == '"Becomes"'
