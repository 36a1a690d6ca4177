"""The pages of a cluster, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compat.cluster.deployments.records import Step
from compat.compiler.executiongraph.states import JobStatus
from compat.service.records import Role
from tests.compat.browser.conftest import cut_times, follow, settle
from tests.compat.browser.test_accessibility import serious
from tests.compat.cluster.served import Filled, checkpoint, deployed, entry_of, filled, listening
from tests.compat.service.running import OLD, plan

LONG = "customers_orders_payments_and_returns_by_region_and_hour_of_the_day"
"""A name without a place to break it."""


@pytest.fixture(scope="module")
def cluster(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Filled, str]]:
    made = filled(tmp_path_factory.mktemp("cluster"), Role.DEPLOY)
    deployed(made.served, LONG)
    with listening(made.served) as url:
        yield made, url
    made.served.close()


def test_a_job_is_found_looked_at_and_stopped(open_page: Any, cluster: tuple[Filled, str]) -> None:
    made, url = cluster
    job = made.served.job("to be stopped", runs=False)
    page = open_page(url + "/")
    follow(page, page.get_by_role("link", name="to be stopped"))
    follow(page, page.get_by_role("link", name="Cancel…"))
    follow(page, page.get_by_role("link", name="No, let it run"))
    assert made.served.jobs.requests(job.id, limit=9) == []
    follow(page, page.get_by_role("link", name="Cancel…"))
    follow(page, page.get_by_role("button", name="Cancel it"))
    page.get_by_text("under way").wait_for()
    (asked,) = made.served.jobs.requests(job.id, limit=9)
    made.served.jobs.answered(asked.id)
    made.served.jobs.end(job.id, JobStatus.CANCELED)
    page.locator("#live .state", has_text="CANCELED").first.wait_for()
    assert page.locator("#live .state", has_text="done").count() == 1
    assert page.get_by_role("link", name="Cancel…").count() == 0


def test_the_numbers_in_the_graph_are_live(open_page: Any, cluster: tuple[Filled, str]) -> None:
    made, url = cluster
    page = open_page(f"{url}/ui/jobs/{made.running.id}/graph")
    source = page.locator(".node.op", has_text="Source: Sequence Source")
    source.locator(".flow", has_text="1K in · 100 out").wait_for()
    sink = page.locator(".node.op", has_text="Sink: Print")
    assert sink.locator(".flow").inner_text() == ""
    entry = entry_of(made.running, plan(*OLD))
    entry.metrics[0]["metrics"]["numRecordsIn"] = 1_500_000
    made.served.place.store.write(entry)
    source.locator(".flow", has_text="1.5M in").wait_for()
    page.get_by_role("button", name="Close all chains").click()
    settle(page)
    page.locator(".closed .flow", has_text="3K in").wait_for()
    page.get_by_role("button", name="Stream", exact=True).click()
    settle(page)
    page.locator(".node.op", has_text="Source: Sequence Source").locator(".flow", has_text="1.5M in").wait_for()


def test_what_somebody_reads_stays_as_the_page_goes_on(open_page: Any, cluster: tuple[Filled, str]) -> None:
    made, url = cluster
    page = open_page(f"{url}/ui/jobs/{made.running.id}")
    page.locator("summary").first.click()
    page.get_by_role("heading", name="Vertices").click()
    page.evaluate("document.activeElement.blur()")
    made.served.tell(made.running, [checkpoint(99)])
    page.locator(".tiles dd", has_text="99").first.wait_for()
    assert page.locator("details[open] pre").count() == 1
    log = open_page(f"{url}/ui/jobs/{made.running.id}/log")
    tail = log.locator("[data-tail]").first
    assert tail.evaluate("e => e.scrollHeight - e.scrollTop - e.clientHeight") < 8
    with made.served.place.log_of(made.running.id).open("a") as file:
        file.write("the newest line\n")
    log.get_by_text("the newest line").wait_for()
    assert tail.evaluate("e => e.scrollHeight - e.scrollTop - e.clientHeight") < 8


def test_without_scripts_all_can_be_read_and_done(open_page: Any, cluster: tuple[Filled, str]) -> None:
    made, url = cluster
    page = open_page(f"{url}/ui/jobs/{made.running.id}", java_script_enabled=False)
    assert page.get_by_text("orders by hour").first.is_visible()
    follow(page, page.get_by_role("button", name="Write a savepoint"))
    assert page.get_by_text("under way").first.is_visible()
    follow(page, page.get_by_role("link", name="Graph"))
    assert page.locator(".tables").get_by_text("Sink: Print to Std. Out").first.is_visible()


def test_from_a_job_to_the_deployment_that_failed(open_page: Any, cluster: tuple[Filled, str]) -> None:
    _, url = cluster
    page = open_page(url + "/")
    page.get_by_label("Name, program").fill("v2/job")
    follow(page, page.get_by_role("button", name="Find"))
    row = page.get_by_role("region", name="Jobs that have not ended").locator("tbody tr")
    assert row.count() == 1
    follow(page, row.get_by_role("link", name="version 2"))
    assert page.get_by_role("alert").inner_text().endswith("ValueError: no price for <b>7</b>\\x1b[31m")
    assert page.get_by_role("region", name="Steps").locator("tbody tr").count() == 4
    follow(page, page.locator(".path").get_by_role("link", name="Deployments"))
    page.get_by_label("Step").select_option("deployed")
    follow(page, page.get_by_role("button", name="Find"))
    assert page.get_by_role("region", name="Deployments").locator("tbody tr").count() == 2
    assert page.get_by_role("navigation", name="Pages").locator("[aria-current]").inner_text() == "Deployments"


def test_the_page_of_a_deployment_goes_on_by_itself(open_page: Any, cluster: tuple[Filled, str]) -> None:
    made, url = cluster
    deployments = made.served.dispatcher.deploying.deployments
    (under_way,) = deployments.open()
    page = open_page(f"{url}/ui/deployments/{under_way.id}")
    steps = page.get_by_role("region", name="Steps").locator("tbody tr")
    assert steps.count() == 1
    deployments.to(under_way, Step.ABANDONED, "the savepoint was not written")
    page.get_by_role("alert").get_by_text("the savepoint was not written").wait_for()
    assert steps.count() == 2
    assert page.locator(".tiles").get_by_role("link", name="the old job").count() == 1


@pytest.mark.parametrize("width", [1280, 1440])
def test_times_are_whole_and_nothing_has_to_be_scrolled_for(
    open_page: Any, cluster: tuple[Filled, str], width: int
) -> None:
    made, url = cluster
    for address in ("/", "/ui/jobs", "/ui/deployments", f"/ui/jobs/{made.running.id}"):
        page = open_page(url + address, width=width)
        assert cut_times(page) == [], address


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_nothing_serious_on_any_page(open_page: Any, cluster: tuple[Filled, str], scheme: str, width: int) -> None:
    made, url = cluster
    last = made.served.dispatcher.deploying.deployments.all()[1]
    running, hostile, failed = (f"/ui/jobs/{job.id}" for job in (made.running, made.hostile, made.failed))
    addresses = {
        "light": ("/", running, f"{running}/graph", failed, "/ui/deployments", f"/ui/deployments/{last.id}"),
        "dark": (
            "/",
            "/ui/deployments",
            f"/ui/deployments/{last.id}",
            hostile,
            f"{hostile}/log",
            f"{running}/stop",
            f"/ui/jobs/{made.waiting.id}",
        ),
    }
    for address in addresses[scheme]:
        page = open_page(url + address, color_scheme=scheme, width=width)
        assert serious(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        assert page.locator("h1").count() == 1, address
