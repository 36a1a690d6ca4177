"""A cluster's pages as they are sent. What a browser makes of them is tested in tests/compat/browser."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.cluster import observation
from compat.cluster.pages import contents
from compat.cluster.records import Room
from compat.compiler.executiongraph.states import JobStatus
from compat.service.access import COOKIE
from compat.service.records import Role
from tests.compat.cluster.served import HOSTILE, LONG, Filled, Served, checkpoint, deployed, filled

OWN = {"Origin": "http://localhost"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    made = filled(tmp_path_factory.mktemp("pages"))
    yield made
    made.served.close()


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(observation, "SECONDS", 0.0)
    served = Served(tmp_path, Role.DEPLOY)
    yield served
    served.close()


def page(served: Served, address: str, role: Role = Role.READ, status: int = 200) -> str:
    answer = served.get(address, role)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    text = answer.text
    assert text.count("<h1") == 1
    for script in re.findall(r"<script[^>]*>", text):
        assert 'src="/static/' in script or 'type="application/json"' in script
    assert " style=" not in text
    return text


def send(served: Served, address: str, role: Role = Role.NONE, **fields: str) -> Any:
    cookie = {"Cookie": f"{COOKIE}={served.tokens[role]}"} if role else {}
    return served.ask("POST", address, headers={**OWN, **cookie}, data=fields)


def test_the_cluster_tells_slots_and_jobs(cluster: Filled) -> None:
    text = page(cluster.served, "/")
    assert "3 jobs, 1 of which waits for slots." in text
    assert '<dt>Slots free</dt><dd>4 <span class="dim">of 8</span>' in text
    for told in (
        "orders by hour",
        "waiting for 8 slots, 4 free",
        "RUNNING",
        "FAILED",
        "FINISHED",
        "ValueError: no price",
    ):
        assert told in text, told
    assert text.index("a wide one") < text.index("orders by hour") < text.index("Ended lately") < text.index(LONG[:60])


def test_a_job_tells_what_is_known_of_it(cluster: Filled) -> None:
    text = page(cluster.served, f"/ui/jobs/{cluster.running.id[:8]}")
    for told in (
        *("orders by hour", "submitted by ada", "job.py", "40.0 KB", "restarted after 1.5 s", "count (1/2)"),
        *("The JobMaster was ended by SIGKILL.", "another process went on", "1\u202f000", "200", "1 running"),
        *("Records per second", "Watermark lag", "Duration of an epoch", "State on disk", "210 ms"),
        *("/srv/compat/savepoints/savepoint-9f8e7d", "mine.seen", "The last 20 of 40 epochs"),
    ):
        assert told in text, told
    assert text.index("epochs in the log") > text.index("<summary>ValueError")


def test_a_job_that_failed_and_one_that_ended_say_how(cluster: Filled) -> None:
    failed = page(cluster.served, f"/ui/jobs/{cluster.failed.id}", Role.DEPLOY)
    assert 'role="alert">ValueError: no price for' in failed
    assert "the job failed" in failed
    assert len(re.search(r"<h1[^>]*>(.*?)</h1>", failed)[1]) <= 200  # type: ignore[index]
    ended = page(cluster.served, f"/ui/jobs/{cluster.ended.id}", Role.DEPLOY)
    assert "/srv/compat/savepoints/savepoint-0a1b2c" in ended
    for text in (failed, ended):
        assert "<form" not in text.replace('<form method="post" action="/logout">', "")
        assert "Cancel…" not in text


def test_a_job_that_waits_has_nothing_to_show_but_why(cluster: Filled) -> None:
    address = f"/ui/jobs/{cluster.waiting.id}"
    text = page(cluster.served, address, Role.DEPLOY)
    assert "waiting for 8 slots, 4 free" in text
    assert "None has begun yet." in text
    assert "Cancel…" in text
    assert "savepoint" not in text
    assert "has not written its graph yet" in page(cluster.served, f"{address}/graph")
    assert page(cluster.served, f"{address}/log").count("Nothing.") == 2


@pytest.mark.parametrize("rest", ["", "/graph", "/log", "/stop", "/cancel"])
def test_names_and_texts_of_programs_are_text(cluster: Filled, rest: str) -> None:
    for job in (cluster.hostile, cluster.running, cluster.failed):
        text = page(cluster.served, f"/ui/jobs/{job.id}{rest}", Role.DEPLOY)
        for markup in ("<img", "<b>7", "<script>alert", "\u202e", "\x1b"):
            assert markup not in text
    text = page(cluster.served, f"/ui/jobs/{cluster.hostile.id}{rest}", Role.DEPLOY)
    assert html.escape(HOSTILE, quote=False).replace("\u202e", "\\u202e") in text.replace("&#34;", '"')


def test_the_list_escapes_them_too(cluster: Filled) -> None:
    for address in ("/", "/ui/jobs"):
        text = page(cluster.served, address)
        assert "<img" not in text
        assert "\u202e" not in text


def test_a_log_is_bounded(cluster: Filled) -> None:
    text = page(cluster.served, f"/ui/jobs/{cluster.running.id}/log")
    assert "line 4999 of the log" in text
    assert "line 0 of the log" not in text
    assert "before are left out." in text
    assert "(&#39;key 29&#39;, 29)" in text
    hostile = page(cluster.served, f"/ui/jobs/{cluster.hostile.id}/log")
    assert "x" * contents.LONGEST_LINE + "… (5000 characters)" in hostile
    assert "x" * (contents.LONGEST_LINE + 1) not in hostile


def test_a_traceback_is_bounded_and_its_end_is_kept() -> None:
    told = contents.cause("x" * 50_000 + "\nKeyError: 'a'")
    assert len(told) < 21_000
    assert told.startswith("… 30014 characters before\n")
    assert told.endswith("\nKeyError: 'a'")


def test_the_graph_has_the_numbers_of_its_vertices(cluster: Filled) -> None:
    text = page(cluster.served, f"/ui/jobs/{cluster.running.id}/graph")
    assert 'id="view-data"' in text
    vertex = cluster.served.place.store.entry(cluster.running.id).vertices[0].id  # type: ignore[union-attr]
    assert f'data-vertex="{vertex}" data-in="1000" data-out="100"' in text
    assert vertex in text[text.index("view-data") : text.index("</script>", text.index("view-data"))]


def test_what_cannot_be_drawn_says_why(empty: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    job = empty.job()
    (empty.place.job(job.id) / "plan.json").write_text('{"format": 1, "operators": 3}')
    assert "The graph cannot be read" in page(empty, f"/ui/jobs/{job.id}/graph")
    many = empty.job()
    monkeypatch.setattr(contents, "MOST_DRAWN", 1)
    assert "more than the 1 operators" in page(empty, f"/ui/jobs/{many.id}/graph")


@pytest.mark.parametrize(
    ("address", "status"),
    [("/ui/jobs/zzz", 404), ("/ui/jobs/zzz/graph", 404), ("/ui/jobs/%3Cb%3E/log", 404), ("/ui/jobs?before=x", 404)],
)
def test_what_is_not_there_is_said_on_a_page(cluster: Filled, address: str, status: int) -> None:
    text = page(cluster.served, address, status=status)
    assert "Not found" in text
    assert "<b>" not in text


def test_however_many_look_a_page_is_made_once_for_all_who_may_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "SECONDS", 60.0)
    served = Served(tmp_path, Role.READ)
    address, made = f"/ui/jobs/{served.job().id}", []
    history = contents.history
    monkeypatch.setattr(contents, "history", lambda details: made.append(details) or history(details))
    for role in (Role.NONE, Role.READ, Role.DEPLOY, Role.ADMIN, Role.NONE):
        assert ("Cancel…" in page(served, address, role)) is (role is Role.DEPLOY)
    assert len(made) == 2
    assert send(served, f"{address}/savepoint", Role.DEPLOY).status_code == 303
    assert "under way" in page(served, address)
    served.close()


def test_buttons_are_for_those_who_may(cluster: Filled) -> None:
    address = f"/ui/jobs/{cluster.running.id}"
    for role, there in ((Role.READ, False), (Role.PUSH, False), (Role.DEPLOY, True), (Role.ADMIN, False)):
        text = page(cluster.served, address, role)
        for button in ("Write a savepoint", "Stop with a savepoint…", "Cancel…"):
            assert (button in text) is there, (role, button)


def test_a_button_asks_the_job(empty: Served) -> None:
    job = empty.job()
    address = f"/ui/jobs/{job.id}"
    assert "Stop it with a savepoint" in page(empty, f"{address}/stop", Role.NONE)
    assert "Cancel it" in page(empty, f"{address}/cancel", Role.NONE)
    for button, fields in (("savepoint", {}), ("stop", {"drain": "on"}), ("stop", {}), ("cancel", {})):
        answer = send(empty, f"{address}/{button}", **fields)
        assert (answer.status_code, answer.headers["location"]) == (303, address)
    asked = [(each.action.value, each.drain) for each in reversed(empty.jobs.requests(job.id, limit=9))]
    assert asked == [("savepoint", False), ("stop", True), ("stop", False), ("cancel", False)]
    text = page(empty, address)
    assert text.count("under way") == 4
    empty.jobs.end(job.id, JobStatus.CANCELED)
    late = send(empty, f"{address}/stop")
    assert late.status_code == 409
    assert "has ended already: it is CANCELED" in late.text
    assert "has ended already: it is CANCELED" in page(empty, f"{address}/stop", Role.NONE).replace("It has", "has")


@pytest.mark.parametrize("fields", ["&".join(f"a{number}=1" for number in range(11)), "x" * 5000])
def test_a_form_that_is_none_of_ours_is_refused(empty: Served, fields: str) -> None:
    job = empty.job()
    answer = empty.ask("POST", f"/ui/jobs/{job.id}/stop", headers=OWN, content=fields)
    assert answer.status_code in (400, 413)
    assert empty.jobs.requests(job.id, limit=9) == []


def test_an_empty_cluster_says_what_to_do(empty: Served) -> None:
    text = page(empty, "/", Role.NONE)
    assert "No job runs." in text
    assert "compat job run job.py --cluster URL" in text
    assert "None." in page(empty, "/ui/jobs", Role.NONE)


def test_jobs_that_have_ended_are_listed_page_by_page(empty: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compat.cluster.pages.handlers.PAGE", 2)
    for number in range(5):
        empty.jobs.end(empty.job(f"job {number}", runs=False).id, JobStatus.CANCELED)
    address, seen = "/ui/jobs", []
    while address:
        text = page(empty, address, Role.NONE)
        seen += re.findall(r">(job \d)<", text)
        older = re.search(r'href="(/ui/jobs\?before=\d+)"', text)
        address = older[1] if older else ""
    assert seen == [f"job {number}" for number in (4, 3, 2, 1, 0)]


def test_every_link_leads_somewhere(cluster: Filled) -> None:
    addresses, seen = ["/"], set[str]()
    while addresses:
        address = addresses.pop()
        seen.add(address)
        answer = cluster.served.get(address, Role.DEPLOY)
        assert answer.status_code == 200, address
        links = {html.unescape(link).partition("#")[0] for link in re.findall(r' href="(/[^"]*)"', answer.text)}
        addresses += links - seen - set(addresses)
    assert {f"/ui/jobs/{cluster.running.id}/graph", f"/jobs/{cluster.running.id}/log", "/ui/jobs"} < seen


def test_with_tokens_looking_takes_a_login(cluster: Filled) -> None:
    served = cluster.served
    answer = served.get("/", Role.NONE, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "A token of this cluster lets you look" in page(served, "/login", Role.NONE)
    given = served.ask("POST", "/login", data={"token": served.tokens[Role.DEPLOY]})
    assert (given.status_code, given.headers["location"]) == (303, "/")
    cookie = given.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    kept = {"Cookie": cookie.partition(";")[0]}
    address = f"/ui/jobs/{cluster.running.id}"
    text = served.get(address, Role.NONE, headers=kept).text
    assert "Log out" in text
    assert "Write a savepoint" in text


def test_a_checkpoint_that_was_committed_again_is_told_once(empty: Served) -> None:
    job = empty.job()
    empty.tell(job, [checkpoint(1), checkpoint(2, seconds=9.0), checkpoint(2, seconds=0.5), checkpoint(3)])
    details = observation.Observer(empty.place, empty.jobs, Room(slots=4)).job(job.id)
    told = contents.history(details)
    assert told is not None
    assert [(row.number, row.took) for row in told.epochs] == [(3, "250 ms"), (2, "500 ms"), (1, "250 ms")]


def test_a_status_that_is_none_has_a_colour(empty: Served) -> None:
    assert [contents.tone(status) for status in ("RUNNING", "FAILED", "RESTARTING", "DEPLOYING")] == [
        *("good", "bad", "warn", "warn"),
    ]
    job = empty.job()
    entry = empty.place.store.entry(job.id)
    assert entry is not None
    odd = replace(entry.vertices[0], status="DEPLOYING", tasks={}, failure=None)
    empty.place.store.write(replace(entry, vertices=[odd]))
    assert '<span class="state warn">DEPLOYING</span>' in page(empty, f"/ui/jobs/{job.id}", Role.NONE)


def cells(text: str, label: str) -> list[str]:
    """What the cells of a column say, without markup."""
    found = re.findall(rf'<td[^>]*data-label="{re.escape(label)}"[^>]*>(.*?)</td>', text, re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", "", each)).split()) for each in found]


def test_deployments_tell_how_far_they_are_and_what_runs(empty: Served) -> None:
    assert "compat deploy job.py" in page(empty, "/ui/deployments")
    made = deployed(empty)
    text = page(empty, "/ui/deployments")
    assert [each.split(" ")[0] for each in cells(text, "Step")] == ["stopping", "returned", "deployed", "deployed"]
    assert cells(text, "Step")[1] == "returned ValueError: no price for <b>7</b>\\x1b[31m"
    assert cells(text, "Version") == ["4", "3", "2", "1"]
    assert cells(text, "Runs") == ["under way", "the old job", "the new job", "the new job"]
    assert cells(text, "Ended (UTC)")[0] == "–"
    assert f'href="/ui/jobs/{made.returned.back}"' in text


def test_a_deployment_tells_its_steps_and_why_it_failed(empty: Served) -> None:
    made = deployed(empty)
    text = page(empty, f"/ui/deployments/{made.returned.id}")
    steps = re.findall(r'<th scope="row"><span class="state [a-z]+">([^<]+)</span></th>', text)
    assert steps == ["stopping", "watching", "returning", "returned"]
    assert "The old job runs again. Deployed by ada." in html.unescape(re.sub(r"<[^>]+>", "", text))
    assert 'role="alert"' in text
    assert "no price for &lt;b&gt;7&lt;/b&gt;" in text
    assert "/srv/savepoints/3" in text
    assert cells(text, "Status") == ["FINISHED", "FAILED", "RUNNING"]
    assert cells(text, "Job") == [made.second.new, made.returned.new, made.returned.back]
    assert cells(text, "What it failed with")[1].startswith("ValueError: no price")
    under_way = page(empty, f"/ui/deployments/{made.open.id}")
    assert "the old job is stopped with a savepoint" in under_way
    assert 'role="alert"' not in under_way
    assert "There is no deployment" in page(empty, "/ui/deployments/nothing", status=404)


def test_rows_of_jobs_tell_their_program_and_version(empty: Served) -> None:
    made = deployed(empty)
    other = empty.job("by hand")
    text = page(empty, "/")
    assert cells(text, "Program")[:2] == ["job.py", "/srv/jobs/clicks/v2/job.py version 2"]
    assert cells(text, "Program")[2:] == [f"/srv/jobs/clicks/v{number}/job.py version {number}" for number in (3, 2, 1)]
    assert "/ui/deployments" not in page(empty, f"/ui/jobs/{other.id}").split("<main")[1]
    back = page(empty, f"/ui/jobs/{made.returned.back}")
    assert f'<a href="/ui/deployments/{made.returned.id}">version 2</a>' in back
    for address in ("/", "/ui/jobs", "/ui/deployments", f"/ui/deployments/{made.returned.id}"):
        assert empty.get(address, Role.NONE).status_code == 200


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["zebra", "alpha", "clicks"]),
        ("?sort=name", ["alpha", "clicks", "zebra"]),
        ("?sort=program", ["clicks", "alpha", "zebra"]),
        ("?q=ZEB", ["zebra"]),
        ("?q=v2/job.py", ["clicks"]),
        ("?status=RUNNING", ["zebra", "clicks"]),
        ("?status=CREATED", ["alpha"]),
        ("?status=x&sort=y", ["zebra", "alpha", "clicks"]),
        ("?q=nothing+of+that", []),
    ],
)
def test_jobs_are_found_and_sorted(empty: Served, query: str, names: list[str]) -> None:
    deployed(empty)
    empty.job("alpha", runs=False, program="a.py", slots=4)
    empty.job("zebra", program="Z.py", by="grace")
    text = page(empty, f"/{query}")
    table = text[text.index('aria-label="Jobs that have not ended"') : text.index("Ended lately")]
    assert re.findall(r'<th scope="row"><a [^>]*><span [^>]*>([^<]*)</span>', table) == names
    assert ("None is like that." in table) == (not names)


def test_ended_jobs_and_deployments_are_found(empty: Served) -> None:
    deployed(empty)
    assert len(cells(page(empty, "/ui/jobs"), "Status")) == 3
    assert len(cells(page(empty, "/ui/jobs?status=FAILED"), "Status")) == 1
    assert cells(page(empty, "/ui/jobs?q=V1/"), "Program") == ["/srv/jobs/clicks/v1/job.py version 1"]
    assert "None is like that." in page(empty, "/ui/jobs?q=%25")
    assert cells(page(empty, "/ui/deployments?status=returned"), "Version") == ["3"]
    assert cells(page(empty, "/ui/deployments?q=v2"), "Version") == ["2"]


def test_what_a_deployment_says_is_text(empty: Served) -> None:
    made = deployed(empty, HOSTILE, HOSTILE)
    for address in ("/", "/ui/deployments", f"/ui/deployments/{made.returned.id}"):
        text = page(empty, address)
        assert "<img" not in text
        assert "\u202e" not in text
