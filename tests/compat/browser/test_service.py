"""The pages of a running service, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from compat.migration.recipe import RenameOperator, read_recipe
from compat.state.delta.log import SnapshotLog
from tests.compat.browser.conftest import cut_times, follow, settle
from tests.compat.browser.test_accessibility import serious
from tests.compat.service.filled import filled
from tests.compat.service.running import OLD, RENUMBERED, plan, serve


@pytest.fixture(scope="module")
def service(browser: Any, tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("service")
    running = filled(folder)
    running.store = folder / "store"
    yield running
    running.stop()


def test_from_the_jobs_to_the_finding(open_page: Any, service: Any) -> None:
    page = open_page(service.url + "/")
    row = page.locator("tr", has=page.get_by_role("link", name="word count", exact=True)).first
    follow(page, row.locator("a.verdict", has_text="Incompatible"))
    settle(page)
    assert page.locator(".link.restored").count() == 1
    assert page.locator(".link.refused").count() == 1
    page.locator(".jump").first.click()
    settle(page)
    assert page.locator(".drawer").is_visible()
    again = open_page(page.url)
    assert again.locator(".drawer h2").inner_text() == page.locator(".drawer h2").inner_text()
    follow(page, page.locator(".path a", has_text="word count"))
    follow(page, page.get_by_role("link", name="word count@2").first)
    settle(page)
    assert page.locator(".canvas .node").count() > 3


def test_the_recipe_of_a_check_is_downloaded_and_read(open_page: Any, service: Any, tmp_path: Path) -> None:
    page = open_page(service.url + "/jobs/word%20count")
    follow(page, page.locator("a.verdict", has_text="Incompatible").first)
    settle(page)
    page.locator(".recipe summary").click()
    shown = page.locator(".recipe details pre").inner_text()
    with page.expect_download() as download:
        page.locator(".recipe .download").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "recipe.yaml"
    assert file.read_text() == shown + "\n"
    assert {type(step) for step in read_recipe(str(file)).steps} == {RenameOperator}
    run = page.locator(".recipe .code pre").inner_text()
    assert run == "compat migrate SAVEPOINT NEW OUT --recipe FILE"
    assert f"#   {run}\n" in shown
    assert serious(page) == []


def test_a_savepoint_and_a_job_on_spark(open_page: Any, service: Any) -> None:
    page = open_page(service.url + "/savepoints")
    follow(page, page.get_by_role("link", name="flink/windows"))
    page.get_by_role("link", name="GlobalWindows").click()
    page.locator(".operator:target").wait_for()
    page.go_back()
    follow(page, page.get_by_role("navigation").get_by_role("link", name="Running"))
    follow(page, page.get_by_role("link", name="jobs/6f2c"))
    assert page.locator("figure.chart svg path.curve").count() == 4
    assert "from " in page.locator("figure.chart svg").first.get_attribute("aria-label")


def test_two_versions_are_compared_by_choosing_them(open_page: Any, service: Any) -> None:
    page = open_page(service.url + "/jobs/word%20count")
    page.locator("select[name=old]").select_option("2")
    page.locator("select[name=new]").select_option("1")
    follow(page, page.get_by_role("button", name="Compare"))
    settle(page)
    assert "word count@1 cannot restore the state of word count@2" in page.locator("h1").inner_text()
    assert page.locator(".link.refused").count() == 2
    follow(page, page.get_by_role("link", name="The other way"))
    settle(page)
    assert "word count@2 cannot restore the state of word count@1" in page.locator("h1").inner_text()


def test_a_running_job_goes_on_by_itself(open_page: Any, service: Any) -> None:
    page = open_page(service.url + "/running")
    follow(page, page.get_by_role("link", name="jobs/loner"))
    epoch = page.locator(".tiles dd").first
    assert epoch.inner_text() == "2"
    log = SnapshotLog.open(str(service.store / "jobs" / "loner" / "state"))
    assert log.commit(3, [], {"token": "t3", "records": 5})
    page.wait_for_function("() => document.querySelector('.tiles dd').textContent === '3'")
    assert page.locator("figure.chart").count() > 0
    assert "as of" in page.locator("[data-refresh]").inner_text()
    button = page.get_by_role("button", name="Refresh by itself")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert "stopped" in page.locator("[data-refresh]").inner_text()
    assert log.commit(4, [], {"token": "t4", "records": 5})
    page.wait_for_timeout(6000)
    assert epoch.inner_text() == "3"
    button.click()
    page.wait_for_function("() => document.querySelector('.tiles dd').textContent === '4'")


def test_a_service_that_is_away_is_asked_again_and_what_was_seen_stays(open_page: Any, service: Any) -> None:
    page = open_page(service.url + "/running", errors=False)
    page.route("**/running", lambda route: route.abort())
    page.get_by_text("no answer").wait_for()
    assert page.get_by_role("link", name="jobs/6f2c").is_visible()
    page.unroute("**/running")
    page.get_by_text("as of").wait_for()


@pytest.mark.parametrize(("scheme", "width"), [("light", 800), ("dark", 800), ("light", 390), ("dark", 1440)])
def test_nothing_serious_on_any_page(open_page: Any, service: Any, scheme: str, width: int) -> None:
    links = []
    for folder, names in (("savepoints", ("flink/windows",)), ("running", ("jobs/6f2c",))):
        page = open_page(f"{service.url}/{folder}")
        links += [page.get_by_role("link", name=name).get_attribute("href") for name in names]
    jobs = ["/jobs/orders", "/jobs/orders/versions/1", "/jobs/word%20count/compare?old=1&new=2"]
    for address in ("/", "/checks", "/checks/1", "/savepoints", "/running", "/login", *jobs, *links):
        page = open_page(service.url + address, color_scheme=scheme, width=width)
        assert serious(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        wider = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth).filter(Boolean)"
        assert page.evaluate(wider) == [], address


def test_times_are_whole_and_nothing_has_to_be_scrolled_for(open_page: Any, long: Any) -> None:
    name = quote(LONG)
    for address in ("/", "/checks", f"/jobs/{name}", f"/jobs/{name}/versions/1"):
        for width in (1280, 1440):
            page = open_page(long.url + address, width=width)
            assert page.locator("main time").count() > 0
            assert cut_times(page) == [], (address, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_versions_are_found_by_keyboard_and_the_forced_one_is_marked(open_page: Any, long: Any) -> None:
    page = open_page(f"{long.url}/jobs/{quote(LONG)}")
    versions = page.get_by_role("region", name="Versions").locator("tbody tr")
    assert versions.count() == 3
    assert [each.locator(".state.gone").count() for each in versions.all()] == [0, 1, 0]
    search = page.get_by_label("Commit, author, program")
    search.fill("ada of a very long")
    with page.expect_navigation():
        search.press("Enter")
    assert versions.count() == 1
    follow(page, page.get_by_role("link", name="all", exact=True))
    page.get_by_label("Promoted").select_option("never promoted")
    follow(page, page.get_by_role("button", name="Find"))
    assert versions.count() == 2
    assert serious(page) == []


LONG = "customers_orders_payments_and_returns_by_region_and_hour_of_the_day"
"""A name without a place to break it."""


@pytest.fixture(scope="module")
def long(browser: Any, tmp_path_factory: Any) -> Any:
    """A service with a job whose names are long; the second of its three versions was promoted by force."""
    running = serve(tmp_path_factory.mktemp("long"))
    for number in (1, 2, 3):
        author = f"{'ada' if number == 1 else 'grace'} of a very long team name"
        commit = f"{number}a1b2c3d4e5f60718293a4b5c6d7e8f9"
        assert running.push(LONG, *(OLD, RENUMBERED, OLD)[number - 1], commit=commit, author=author).is_success
    running.registry.jobs.promote(LONG, 2, expected=None, by="ci", check=None, reason="at once")
    body = {"old": {"job": LONG}, "new": {"plan": plan(*OLD), "label": f"{LONG}.py"}, "record": True}
    assert running.client("push").post("/checks", json=body).status_code == 201
    yield running
    running.stop()


def test_on_a_telephone_rows_are_cards(open_page: Any, service: Any) -> None:
    page = open_page(service.url + "/checks", width=390, height=844)
    cell = page.locator("tbody td").first
    assert cell.evaluate("e => getComputedStyle(e, '::before').content") == '"Verdict"'
    assert page.locator("thead").bounding_box()["width"] <= 1
    row = page.locator("tbody tr").first.bounding_box()
    assert row["width"] > 300


def test_log_in_and_out(open_page: Any, browser: Any, tmp_path: Any) -> None:
    running = filled(tmp_path, "--no-anonymous")
    try:
        page = open_page(running.url + "/", errors=False)
        assert page.url.endswith("/login")
        page.get_by_label("Token").fill("no such token")
        follow(page, page.get_by_role("button", name="Log in"))
        assert "There is no such token" in page.get_by_role("alert").inner_text()
        page.get_by_label("Token").fill(running.tokens["read"])
        follow(page, page.get_by_role("button", name="Log in"))
        page.get_by_role("heading", name="Jobs").wait_for()
        assert page.evaluate("document.cookie") == ""
        follow(page, page.get_by_role("button", name="Log out"))
        page.get_by_label("Token").wait_for()
    finally:
        running.stop()
