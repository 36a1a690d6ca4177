"""The pages of a running service, in a browser."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

from tests.compat.browser.conftest import settle
from tests.compat.browser.test_accessibility import serious
from tests.compat.service.filled import filled


@pytest.fixture(scope="module")
def service(browser: Any, tmp_path_factory: Any) -> Any:
    running = filled(tmp_path_factory.mktemp("service"))
    yield running
    running.stop()


def test_from_the_jobs_to_the_finding(open_page: Any, service: Any) -> None:
    page = open_page(service.url + "/")
    row = page.locator("tr", has=page.get_by_role("link", name="word count", exact=True)).first
    row.locator("a.verdict", has_text="Incompatible").click()
    settle(page)
    assert page.locator(".link.restored").count() == 1
    assert page.locator(".link.refused").count() == 1
    page.locator(".jump").first.click()
    settle(page)
    assert page.locator(".drawer").is_visible()
    again = open_page(page.url)
    assert again.locator(".drawer h2").inner_text() == page.locator(".drawer h2").inner_text()
    page.locator(".path a", has_text="word count").click()
    page.get_by_role("link", name="word count@2").first.click()
    settle(page)
    assert page.locator(".canvas .node").count() > 3


def test_a_savepoint_and_a_job_on_spark(open_page: Any, service: Any) -> None:
    page = open_page(service.url + "/savepoints")
    page.get_by_role("link", name="flink/windows").click()
    page.get_by_role("link", name="GlobalWindows").click()
    assert page.locator(".operator:target").is_visible()
    page.go_back()
    page.get_by_role("navigation").get_by_role("link", name="Savepoints").click()
    page.get_by_role("link", name="jobs/6f2c").click()
    assert page.locator("figure.chart svg path.curve").count() == 4
    assert "from " in page.locator("figure.chart svg").first.get_attribute("aria-label")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_on_any_page(open_page: Any, service: Any, scheme: str) -> None:
    page = open_page(service.url + "/savepoints")
    links = [page.get_by_role("link", name=name).get_attribute("href") for name in ("flink/windows", "jobs/6f2c")]
    for address in ("/", "/checks", "/checks/1", "/jobs/orders", "/jobs/orders/versions/1", "/login", *links):
        page = open_page(service.url + address, color_scheme=scheme, width=800)
        assert serious(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= 800, address


def test_log_in_and_out(open_page: Any, browser: Any, tmp_path: Any) -> None:
    running = filled(tmp_path, "--no-anonymous")
    try:
        page = open_page(running.url + "/", errors=False)
        assert page.url.endswith("/login")
        page.get_by_label("Token").fill("no such token")
        page.get_by_role("button", name="Log in").click()
        assert "There is no such token" in page.get_by_role("alert").inner_text()
        page.get_by_label("Token").fill(running.tokens["read"])
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Jobs").wait_for()
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Token").wait_for()
    finally:
        running.stop()
