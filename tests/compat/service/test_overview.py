"""Jobs are found by name and by verdict, sorted, a page at a time; what that costs grows with jobs, not with checks."""

from __future__ import annotations

import html
import re

import httpx
import pytest
from sqlalchemy import text

from compat.service.pages import jobs as pages
from compat.service.registry.overview import Order, Standing, VersionOrder, Wanted, WantedVersions, _query
from tests.compat.service.running import OLD, RENUMBERED, plan, serve
from tests.compat.service.test_registry import new_check, push, registry  # noqa: F401 - a fixture

LAST = {
    "orders": "compatible",
    "payments-eu": "incompatible",
    "payments-us": "unknown",
    "Payments_old": "compatible-with-migration",
    "clicks": None,
}


@pytest.fixture
def filled(registry):  # noqa: F811
    for name, verdict in LAST.items():
        push(registry, name, "a")
        if verdict is not None:
            registry.checks.record(new_check(name, "a", "b", "incompatible"), kept=9)
            registry.checks.record(new_check(name, "a", "c", verdict), kept=9)
    return registry


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["Payments_old", "clicks", "orders", "payments-eu", "payments-us"]),
        ({"text": "PAYMENTS"}, ["Payments_old", "payments-eu", "payments-us"]),
        ({"text": "payments_"}, ["Payments_old"]),
        ({"text": "%"}, []),
        ({"verdict": "incompatible"}, ["payments-eu"]),
        ({"verdict": "none"}, ["clicks"]),
        ({"text": "pay", "verdict": "unknown"}, ["payments-us"]),
        ({"order": Order.VERDICT}, ["payments-eu", "payments-us", "Payments_old", "orders", "clicks"]),
        ({"order": Order.CHECKED}, ["Payments_old", "payments-us", "payments-eu", "orders", "clicks"]),
    ],
)
def test_jobs_are_found_and_sorted(filled, wanted, found):
    asked = Wanted(**wanted)
    assert [job.name for job in filled.overview.page(asked, 100)] == found
    assert filled.overview.count(asked) == len(found)


@pytest.fixture
def versions(registry):  # noqa: F811
    """Four versions of a job: the first was promoted, the second by force and then again, the third by force."""
    for name, author in (("a", "Grace"), ("b", "ada"), ("c", None), ("d", "ada")):
        push(registry, "orders", name, commit=f"{name}f00", author=author)
    push(registry, "other", "a")
    for number, expected, reason in ((1, None, None), (2, 1, "at once"), (2, 2, None), (3, 2, "the same again")):
        registry.jobs.promote("orders", number, expected=expected, by="ci", check=None, reason=reason)
    return registry


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [4, 3, 2, 1]),
        ({"text": "ADA"}, [4, 2]),
        ({"text": "bf0"}, [2]),
        ({"text": "orders@3"}, [3]),
        ({"text": "%"}, []),
        ({"standing": Standing.PROMOTED}, [3, 2, 1]),
        ({"standing": Standing.FORCED}, [3]),
        ({"standing": Standing.NEVER}, [4]),
        ({"text": "ada", "standing": Standing.NEVER}, [4]),
        ({"order": VersionOrder.OLDEST}, [1, 2, 3, 4]),
        ({"order": VersionOrder.AUTHOR}, [4, 2, 1, 3]),
        ({"order": VersionOrder.OPERATORS}, [4, 3, 2, 1]),
    ],
)
def test_versions_are_found_and_sorted(versions, wanted, found):
    asked = WantedVersions(**wanted)
    assert [version.number for version in versions.overview.versions("orders", asked, 100)] == found
    assert versions.overview.count_versions("orders", asked) == len(found)
    assert [
        version.number for page in (1, 2) for version in versions.overview.versions("orders", asked, 2, page)
    ] == found


def test_a_version_is_forced_as_its_last_promotion_was(versions):
    assert versions.jobs.forced() == {"orders@3"}
    assert [version.forced for version in versions.jobs.versions("orders")] == [False, True, False, False]
    assert [version.forced for version in versions.jobs.ran("orders", 9)] == [True, False, False]
    assert versions.jobs.get("orders").current.forced
    versions.jobs.promote("orders", 3, expected=3, by="ci", check=None)
    assert versions.jobs.forced() == frozenset()
    assert not versions.jobs.version("orders", 3).forced


def test_pages_are_all_jobs_each_once(filled):
    asked = Wanted(order=Order.VERDICT)
    names = [job.name for page in (1, 2, 3, 4) for job in filled.overview.page(asked, 2, page)]
    assert (len(names), set(names)) == (5, set(LAST))


def test_what_a_page_costs_grows_with_jobs_and_not_with_checks(registry):  # noqa: F811
    """SQLite counts its own steps: ten times the checks change nothing, four times the jobs are four times the steps."""

    def steps():
        made = 0

        def count():
            nonlocal made
            made += 1

        with registry.database.read() as connection:
            raw = connection.connection.dbapi_connection
            query = str(_query(Wanted(order=Order.VERDICT)).limit(100).compile(compile_kwargs={"literal_binds": True}))
            raw.set_progress_handler(count, 10)
            raw.execute(query).fetchall()
            raw.set_progress_handler(None, 0)
        return made

    def add(jobs, checks):
        with registry.database.write() as connection:
            for job in jobs:
                connection.execute(
                    text("INSERT INTO jobs (id, name, created_at) VALUES (:id, :name, 0)"),
                    {"id": job, "name": f"job {job}"},
                )
                values = {"j": job, "n": checks}
                connection.execute(text(_MANY_CHECKS), values)

    add(range(1, 101), 5)
    few = steps()
    with registry.database.write() as connection:
        for job in range(1, 101):
            connection.execute(text(_MANY_CHECKS), {"j": job, "n": 45})
    assert steps() < 1.5 * few
    add(range(101, 401), 5)
    assert steps() < 6 * few


_MANY_CHECKS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :n) "
    "INSERT INTO checks (job, old_label, old_kind, new_label, new_kind, verdict, sentence, errors, warnings, "
    "'by', at, seconds, report) SELECT :j, 'a', 'plan', 'b', 'plan', 'compatible', '', 0, 0, 'me', 0, 0, x'' FROM n"
)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    running = serve(tmp_path_factory.mktemp("overview"))
    registry = running.registry  # noqa: F811
    for number in range(pages.PAGE + 5):
        push(registry, f"job {number:03}", "a")
    registry.checks.record(new_check("job 104", "a", "b", "incompatible"), kept=9)
    registry.database.close()
    yield running
    running.stop()


def rows(page):
    return re.findall(r'<th scope="row"><a href="/jobs/[^"]+">([^<]+)</a>', page)


def test_the_page_of_a_job_finds_versions_and_marks_the_forced(versioned):
    def ask(address):
        answer = httpx.get(f"{versioned.url}{address}")
        assert answer.status_code == 200
        return answer.text

    def found(page):
        table = page[page.index('aria-label="Versions"') :]
        return re.findall(r'<th scope="row"><a href="/jobs/orders/versions/(\d+)">', table[: table.index("</table>")])

    first = ask("/jobs/orders")
    assert (len(found(first)), "60 versions" in first) == (pages.MOST, True)
    (more,) = re.findall(r'<a href="([^"]+)">More versions</a>', first)
    assert found(ask(html.unescape(more))) == [str(number) for number in range(10, 0, -1)]
    assert found(ask("/jobs/orders?sort=oldest"))[:2] == ["1", "2"]
    assert found(ask("/jobs/orders?q=author+7&promoted=never")) == ["7"]
    assert found(ask("/jobs/orders?promoted=forced")) == ["3"]
    assert "None is like that." in ask("/jobs/orders?q=nothing+of+that")
    assert found(ask("/jobs/orders?promoted=x&sort=y")) == found(first)
    mark = r'orders@3</(?:a|span)>\s*<span class="state gone"'
    for address in ("/", "/jobs/orders?q=orders@3", "/checks"):
        assert re.search(mark, ask(address)), address
    for address in ("/jobs/orders/versions/3", "/jobs/orders/compare?old=1&new=3", "/checks/1"):
        assert "its promotion was forced" in ask(address), address
    for address in ("/jobs/orders/versions/4", "/jobs/orders/compare?old=1&new=2"):
        assert "its promotion was forced" not in ask(address).replace("forced</option>", ""), address


@pytest.fixture(scope="module")
def versioned(tmp_path_factory):
    """A service with sixty versions of a job, the third of which was promoted by force."""
    running = serve(tmp_path_factory.mktemp("versions"))
    registry = running.registry  # noqa: F811
    for number in range(1, 61):
        assert running.push("orders", *(OLD if number % 2 else RENUMBERED), author=f"author {number}").is_success
    registry.jobs.promote("orders", 3, expected=None, by="ci", check=None, reason="at once")
    body = {"old": {"job": "orders"}, "new": {"plan": plan(*RENUMBERED), "label": "job.py"}, "record": True}
    assert running.client("push").post("/checks", json=body).status_code == 201
    registry.database.close()
    yield running
    running.stop()


def test_the_page_finds_without_a_script(many):
    def ask(query):
        answer = httpx.get(f"{many.url}/{query}")
        assert answer.status_code == 200
        return answer.text

    first = ask("")
    assert (len(rows(first)), "105 jobs" in first) == (pages.PAGE, True)
    (more,) = re.findall(r'<a href="([^"]+)">More jobs</a>', first)
    assert rows(ask(html.unescape(more).lstrip("/"))) == [f"job {number}" for number in range(100, 105)]
    assert rows(ask("?sort=verdict"))[0] == "job 104"
    assert rows(ask("?verdict=incompatible&q=job")) == ["job 104"]
    (more,) = re.findall(r'<a href="([^"]+)">More jobs</a>', ask("?q=job&sort=checked"))
    assert html.unescape(more) == "/?q=job&sort=checked&page=2"
    assert "None is like that." in ask("?q=nothing+of+that")
    assert rows(ask("?verdict=x&sort=y")) == rows(first)
    assert 'value="&#34;&gt;&lt;b&gt;"' in ask('?q="><b>')
    assert httpx.get(f"{many.url}/?page=x").status_code == 404
