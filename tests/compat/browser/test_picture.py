"""The picture: where it opens, whether it can be read, where its lines go, and the overview of it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from tests.compat.browser.conftest import settle
from tests.compat.browser.samples import branches, chained, check_page, joined, swapped
from tests.compat.browser.test_accessibility import serious
from tests.compat.browser.test_file import click, go

LEAST = 11
"""Pixels of the smallest text that is easily read."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: Any) -> str:
    """A check of 49 operators in twelve branches, two of which moved: all are drawn."""
    return check_page(
        tmp_path_factory.mktemp("many"), branches(12), branches(12, moved=((2, 1), (9, 0))), names=("old.py", "new.py")
    )


@pytest.fixture(scope="module")
def most(tmp_path_factory: Any) -> str:
    """A check of 289 operators."""
    return check_page(tmp_path_factory.mktemp("most"), branches(72), branches(72, moved=((40, 1), (20, 0))))


def overlap(one: Any, other: Any) -> bool:
    return all(
        one[start] + one[size] > other[start] + 1 and other[start] + other[size] > one[start] + 1
        for start, size in (("x", "width"), ("y", "height"))
    )


def inside(page: Any, box: Any) -> bool:
    canvas = page.locator(".canvas").bounding_box()
    return all(
        canvas[start] <= box[start] and box[start] + box[size] <= canvas[start] + canvas[size]
        for start, size in (("x", "width"), ("y", "height"))
    )


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
@pytest.mark.parametrize(
    ("sample", "hash", "name"),
    [
        ("many", "", "count 27"),
        ("many", "#/0/picture/stream?finding=1", "count 7"),
        ("most", "", "count 60"),
        ("most", "#/0/picture/job?show=all", "count 60"),
    ],
)
def test_both_sides_of_the_first_finding_are_in_sight_and_can_be_read(
    open_page: Any, request: Any, size: tuple[int, int], sample: str, hash: str, name: str
) -> None:
    page = open_page(request.getfixturevalue(sample) + hash, width=size[0], height=size[1])
    found = page.locator(".canvas .op", has=page.locator(f'.name:text-is("{name}")'))
    assert [each.get_attribute("data-at").split(":")[0] for each in found.all()] == ["old", "new"]
    assert all(inside(page, each.bounding_box()) for each in found.all())
    smallest = """() => {
        const sheet = document.querySelector('.sheet');
        const scale = new DOMMatrix(getComputedStyle(sheet).transform).a;
        return Math.min(...[...sheet.querySelectorAll('*')]
            .filter(e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.textContent.trim()))
            .map(e => parseFloat(getComputedStyle(e).fontSize) * scale));
    }"""
    assert page.evaluate(smallest) >= LEAST


BEHIND = """() => {
    const boxes = [...document.querySelectorAll('.canvas .box')].map(e => e.getBoundingClientRect());
    const found = [];
    for (const line of document.querySelectorAll('.canvas .edge, .canvas .link path')) {
        const place = line.getScreenCTM();
        for (let at = 0; at < line.getTotalLength(); at += 3) {
            const { x, y } = line.getPointAtLength(at).matrixTransform(place);
            if (boxes.some(b => x > b.left + 1 && x < b.right - 1 && y > b.top + 1 && y < b.bottom - 1)) {
                found.push(line.getAttribute('d'));
                break;
            }
        }
    }
    return found;
}"""


@pytest.mark.parametrize(
    ("shape", "swaps"),
    [
        ((1, 8), [(0, 7), (2, 4)]),
        ((2, 4), [(0, 5), (1, 7), (2, 3)]),
        ((9, 3), [(0, 25), (4, 18), (3, 6), (8, 11), (1, 16)]),
    ],
)
@pytest.mark.parametrize("layer", ["stream", "job", "execution"])
def test_no_line_is_behind_a_box(
    open_page: Any, tmp_path: Any, shape: tuple[int, int], swaps: list[tuple[int, int]], layer: str
) -> None:
    page = open_page(check_page(tmp_path, *swapped(*shape, swaps)) + f"#/0/picture/{layer}")
    assert page.locator(".link.wrong-hands").count() == 2 * len(swaps)
    assert page.locator(".edge").count() >= shape[0] * shape[1]
    assert page.evaluate(BEHIND) == []


@pytest.mark.parametrize("layer", ["stream", "job"])
def test_no_box_is_on_another_and_arrows_lead_on(open_page: Any, tmp_path: Any, layer: str) -> None:
    page = open_page(check_page(tmp_path, joined(3), joined(4)) + f"#/0/picture/{layer}")
    boxes = [each.bounding_box() for each in page.locator(".pair").all()]
    assert len(boxes) > 8
    assert not any(overlap(one, other) for one, other in combinations(boxes, 2))
    ways = page.evaluate(
        """() => [...document.querySelectorAll('.edge')].map(edge => {
            const [start, end] = [edge.getPointAtLength(0), edge.getPointAtLength(edge.getTotalLength())];
            return end.y - start.y;
        })"""
    )
    assert min(ways) > 0
    assert page.evaluate(BEHIND) == []


def test_a_graph_with_a_loop_is_laid_out(open_page: Any, many: str) -> None:
    page = open_page(many)
    made = page.evaluate(
        """() => {
        const boxes = Array.from({ length: 5 }, () => ({ width: 200, height: 50 }));
        const edges = [[0, 1], [1, 2], [2, 1], [2, 3], [3, 3], [4, 4]].map(([from, to]) => ({ from, to, label: 20 }));
        return window.compatView.place(boxes, edges);
    }"""
    )
    heights = [box["y"] for box in made["boxes"]]
    assert heights[:4] == sorted(set(heights[:4]))
    assert heights[4] == heights[0]
    assert made["boxes"][4]["x"] - made["boxes"][0]["x"] >= 200
    back = made["edges"][2]["points"]
    assert (back[0], back[-1]) == (made["boxes"][2], made["boxes"][1])
    assert all(len(edge["points"]) >= 2 for edge in made["edges"])


def test_what_only_one_side_has_says_so(open_page: Any, tmp_path: Any) -> None:
    page = open_page(check_page(tmp_path, chained(1), chained(2)) + "#/0/picture/stream")
    assert page.locator(".absent").count() == 1
    assert [each.text_content() for each in page.locator(".edge-label").all()] == ["forward", "NEW: forward"]
    assert page.locator(".edge.come").count() == 1
    assert [each.text_content() for each in page.locator(".op .meta").all()][:2] == [
        "OLD · source · 2 states",
        "NEW · source · 2 states",
    ]


def test_while_it_is_laid_out_the_page_says_so(open_page: Any, most: str) -> None:
    page = open_page(most + "#/0/picture/job?show=all")
    assert page.locator(".laying").is_hidden()
    page.evaluate("window.requestAnimationFrame = (painted) => { window.release = painted; }")
    page.keyboard.press("1")
    page.locator(".laying").wait_for()
    assert page.locator(".laying").get_attribute("role") == "status"
    assert page.locator(".laying").inner_text() == "Laying out 289 boxes…"
    assert page.locator(".canvas[aria-busy]").count() == 1
    assert serious(page) == []
    page.evaluate("window.release()")
    settle(page)
    assert page.locator(".laying").is_hidden()
    assert page.locator(".canvas[aria-busy]").count() == 0
    assert page.locator(".canvas .op").count() == 2 * 289


def seen(page: Any) -> tuple[float, float]:
    """Where the canvas is, as it scrolls."""
    found = page.evaluate("(e => [e.scrollLeft, e.scrollTop])(document.querySelector('.canvas'))")
    return found[0], found[1]


def test_the_overview_shows_all_and_moves_what_is_in_sight(open_page: Any, many: str) -> None:
    page = open_page(many + "#/0/picture/stream")
    overview = page.get_by_role("group", name="Overview of the graph")
    assert overview.locator(".spot").count() == 49
    assert overview.locator(".spot.error").count() == 2
    # The page opens at its first finding; the frame follows the canvas with the next picture that is drawn.
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    frame, ground = overview.locator(".seen").bounding_box(), overview.locator("svg").bounding_box()
    before = seen(page)
    middle = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    assert seen(page) == before
    page.mouse.move(ground["x"] + ground["width"] - 4, ground["y"] + ground["height"] - 4, steps=3)
    page.mouse.up()
    after = seen(page)
    assert after[0] > before[0]
    assert after[1] > before[1]
    page.wait_for_function(f"document.querySelector('.seen').getBoundingClientRect().left > {frame['x'] + 4}")
    page.mouse.click(ground["x"] + 3, ground["y"] + 3)
    assert seen(page) == (0, 0)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert seen(page)[0] > 100
    assert seen(page)[1] > 100
    assert serious(page) == []


def test_where_all_is_in_sight_there_is_no_overview(open_page: Any, tmp_path: Any, many: str) -> None:
    page = open_page(check_page(tmp_path, branches(1, 2), branches(1, 2)), height=1000)
    assert page.locator(".map").is_hidden()
    page = open_page(many)
    assert page.locator(".map").is_visible()
    click(page, "[data-view=tables]")
    assert page.locator(".map").is_hidden()


def test_what_was_in_the_middle_stays_there_as_it_is_zoomed(open_page: Any, many: str) -> None:
    page = open_page(many)
    canvas = page.locator(".canvas").bounding_box()
    middle = canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2
    place = "([x, y]) => document.elementsFromPoint(x, y).map(e => e.closest('.pair')).find(Boolean)?.dataset.place"
    before = page.evaluate(place, middle)
    assert before is not None
    go(page, "-")
    go(page, "-")
    assert page.evaluate(place, middle) == before
