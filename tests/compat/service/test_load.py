"""Work that is not done twice: decisions that are looked up, answers kept until something is written, shared commits."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import threading
import time
from contextlib import closing
from types import SimpleNamespace

import httpx
import pytest
import uvicorn
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from starlette.applications import Starlette

from compat.service import ServiceSettings, create_app, decisions, worker
from compat.service.caches import Kept
from compat.service.context import page_of
from compat.service.database import Database
from compat.service.database.group import GroupCommit
from compat.service.options import Options
from compat.service.pages import sections
from compat.service.pool import WorkFailed
from compat.service.registry import Registry
from compat.service.registry.checks import NewCheck
from compat.service.requests import check_request
from compat.service.revalidation import Revalidation
from compat.service.server import serve
from tests.compat.service.running import OLD, RENUMBERED, plan
from tests.compat.service.test_faults import database, postgres, postgres_database  # noqa: F401 - fixtures
from tests.compat.service.test_registry import new_check, push


def made_with(tmp_path, timeout):
    made = Registry(Database(f"sqlite:///{tmp_path}/compat.db", timeout=timeout))
    made.database.migrate()
    worker._Worker.registry = made
    worker._Worker.settings = worker.WorkerSettings("", 1.0, 64, 0)
    worker._Worker.programs.clear()
    return made


@pytest.fixture
def registry(tmp_path):
    made = made_with(tmp_path, timeout=1.0)
    yield made
    made.database.close()


@pytest.fixture
def patient(tmp_path):
    """A registry that waits for its turn to write for as long as a disk may stand still."""
    made = made_with(tmp_path, timeout=120.0)
    yield made
    made.database.close()


def body(old, new, **options):
    return json.dumps({"old": old, "new": {"plan": plan(*new)}, "options": options}).encode()


# Decisions.


def test_what_was_decided_is_found_and_is_the_same(registry):
    known = decisions.Decisions(registry)
    asked = check_request(body({"plan": plan(*OLD)}, RENUMBERED))
    assert known.find(asked) is None
    made = worker.check_request_of(asked)
    known.remember(asked, made)
    found = known.find(check_request(body({"plan": plan(*OLD)}, RENUMBERED)))
    assert found == made


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        (OLD, OLD, {}),
        (RENUMBERED, RENUMBERED, {}),
        (OLD, RENUMBERED, {"allow_non_restored_state": True}),
        (OLD, RENUMBERED, {"flink": "1.20"}),
        (OLD, RENUMBERED, {"accept": [{"fingerprint": "x", "reason": "y"}]}),
    ],
)
def test_what_differs_in_anything_is_decided_anew(registry, old, new, options):
    known = decisions.Decisions(registry)
    asked = check_request(body({"plan": plan(*OLD)}, RENUMBERED))
    known.remember(asked, worker.check_request_of(asked))
    assert known.find(check_request(body({"plan": plan(*old)}, new, **options))) is None


def test_names_are_part_of_what_is_looked_up(registry):
    known = decisions.Decisions(registry)
    asked = check_request(body({"plan": plan(*OLD), "label": "one"}, RENUMBERED))
    known.remember(asked, worker.check_request_of(asked))
    assert known.find(check_request(body({"plan": plan(*OLD), "label": "two"}, RENUMBERED))) is None


def test_another_checker_looks_nothing_up(registry, monkeypatch):
    known = decisions.Decisions(registry)
    asked = check_request(body({"plan": plan(*OLD)}, RENUMBERED))
    known.remember(asked, worker.check_request_of(asked))
    monkeypatch.setattr("compat.service.options.engine", lambda: "another")
    assert known.find(asked) is None


def test_a_decision_follows_what_runs(service, job):
    """The same request, byte for byte, before and after another version runs."""
    for names in (OLD, RENUMBERED):
        service.push(job, *names)
    sent = {"content": body({"job": job}, RENUMBERED), "headers": {"Content-Type": "application/json"}}

    def verdicts():
        return [service.client("push").post("/checks", **sent).json()["report"]["verdict"] for _ in range(3)]

    service.promote(job, version=1)
    assert verdicts() == ["incompatible"] * 3
    service.promote(job, "admin", version=2, force=True, reason="a fresh start")
    assert verdicts() == ["compatible"] * 3


def test_a_decision_follows_what_is_accepted(service, job):
    service.push(job, *OLD)
    service.promote(job)
    sent = {"content": body({"job": job}, RENUMBERED), "headers": {"Content-Type": "application/json"}}
    push = service.client("push")
    first = push.post("/checks", **sent).json()
    assert push.post("/checks", **sent).json()["report"] == first["report"]
    accept = [
        {"fingerprint": finding["fingerprint"], "reason": "agreed"}
        for finding in first["report"]["findings"]
        if finding["level"] == "error"
    ]
    accepted = body({"job": job}, RENUMBERED, accept=accept)
    service.client("admin").post("/checks", content=accepted, headers=sent["headers"])
    after = push.post("/checks", **sent).json()
    assert (after["check"]["passed"], first["check"]["passed"]) == (True, False)


def test_each_check_is_recorded_with_its_own_origin(service):
    def check(number):
        sides = {"old": {"plan": plan(*OLD)}, "new": {"plan": plan(*RENUMBERED)}}
        return service.client("push").post("/checks", json={**sides, "commit": str(number)}).json()

    made = [check(number) for number in range(3)]
    assert [one["check"]["commit"] for one in made] == ["0", "1", "2"]
    assert len({one["check"]["id"] for one in made}) == 3
    assert made[0]["report"] == made[1]["report"] == made[2]["report"]
    for one in made:
        assert service.client().get(f"/checks/{one['check']['id']}").json() == one


def test_what_an_earlier_server_decided_is_looked_up(registry):
    plans = {"old": {"plan": plan(*OLD), "label": "old"}, "new": {"plan": plan(*RENUMBERED), "label": "new"}}
    asked = check_request(json.dumps(plans).encode())
    made = worker.check_request_of(asked)
    values = {name: getattr(made, name) for name in ("job", "old", "new", "verdict", "sentence", "errors", "warnings")}
    more = {"commit": None, "author": None, "by": "me", "seconds": 12.5, "options": made.options, "plans": made.plans}
    registry.checks.record(NewCheck(**values, **more, report=made.packed_report), kept=9)
    again = worker.check_request_of(asked)
    assert (again.seconds, again.report) == (12.5, made.report)
    assert registry.checks.decided(made.old, made.new, Options(flink="1.20")) is None


# Answers.


def test_an_answer_is_sent_once_until_something_is_written(service, job):
    service.push(job, *OLD)
    service.promote(job)
    for path in (f"/api/v1/jobs/{job}", "/api/v1/jobs?limit=5", "/api/v1/rules", "/", f"/jobs/{job}", "/checks"):
        first = httpx.get(service.url + path)
        etag = first.headers["etag"]
        assert "no-cache" in first.headers["cache-control"]
        again = httpx.get(service.url + path, headers={"If-None-Match": etag})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert "content-security-policy" in again.headers
        assert httpx.get(service.url + path, headers={"If-None-Match": '"other"'}).content == first.content
    shown = httpx.get(f"{service.url}/api/v1/jobs/{job}")
    service.push(job, *RENUMBERED)
    changed = httpx.get(f"{service.url}/api/v1/jobs/{job}", headers={"If-None-Match": shown.headers["etag"]})
    assert (changed.status_code, changed.json()["versions"]) == (200, 2)


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("/api/v1/checks/{id}", 1),  # it never changes
        ("/checks/{id}", 1),
        ("/api/v1/jobs/job/versions", 2),  # until another version is pushed
        ("/jobs/job/versions/1", 2),
        ("/api/v1/jobs/job/versions/1/plan", 2),
        ("/api/v1/jobs/job/versions/current", 3),  # until anything is written
        ("/api/v1/jobs/job", 3),
        ("/api/v1/checks", 3),
        ("/api/v1/checks/{id}/x", 3),
        ("/savepoints/1", 5),
    ],
)
def test_what_never_changes_is_kept_through_writes(registry, path, made):
    push(registry, "job", "a")
    id = registry.checks.record(new_check("job", "a", "b"), kept=9).id
    calls = []

    async def app(scope, receive, send):
        calls.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    kept = Revalidation(app, registry.database)

    def ask():
        async def sent(_):
            pass

        scope = {"type": "http", "method": "GET", "path": path.format(id=id), "query_string": b"", "headers": []}
        asyncio.run(kept(scope, None, sent))

    ask()
    ask()
    registry.checks.record(new_check("job", "a", "c"), kept=9)
    ask()
    push(registry, "job", "d")
    ask()
    ask()
    assert len(calls) == made


def test_a_check_that_was_forgotten_is_not_shown_from_memory(registry):
    push(registry, "job", "a")
    made = registry.checks.record(new_check("job", "a", "b"), kept=1)
    kept = Revalidation(None, registry.database)
    before = kept._state(f"/api/v1/checks/{made.id}")
    registry.checks.record(new_check("job", "a", "c"), kept=1)
    assert kept._state(f"/api/v1/checks/{made.id}") != before == ("lasting", made.id, made.at)


def test_a_database_that_does_not_answer_is_told(registry, tmp_path):
    (tmp_path / "compat.db").write_bytes(b"no database at all")
    for beside in tmp_path.glob("compat.db-*"):
        beside.unlink()
    other = Database(f"sqlite:///{tmp_path}/compat.db")
    for asked in (other.state, lambda: other.look("SELECT 1 FROM jobs WHERE name = :name", name="x")):
        with pytest.raises(SQLAlchemyError):
            asked()
    other.close()


def test_the_state_is_another_one_after_a_write_by_whomever(database):  # noqa: F811
    mine, other = Registry(Database(database)), Registry(Database(database))
    mine.database.migrate()
    try:
        states = [mine.database.state()]
        for registry in (other, mine):
            assert mine.database.state() == states[-1]
            push(registry, "job", f"by {len(states)}")
            states.append(mine.database.state())
        assert len(set(states)) == 3
        assert mine.database.look("SELECT count(*) FROM versions WHERE number > :least", least=1) == (1,)
        assert mine.database.look("SELECT id FROM jobs WHERE name = :name", name="nobody") is None
    finally:
        mine.database.close()
        other.database.close()


def test_what_is_read_together_is_of_one_moment(registry):
    push(registry, "job", "a")
    with registry.database.together():
        assert registry.jobs.get("job").versions == 1
        writer = threading.Thread(target=push, args=(registry, "job", "b"))
        writer.start()
        writer.join(30)
        assert registry.jobs.get("job").versions == len(registry.jobs.versions("job")) == 1
    assert registry.jobs.get("job").versions == 2


def test_what_another_process_writes_is_seen(service):
    before = httpx.get(f"{service.url}/api/v1/jobs?limit=1000").json()
    registry = service.registry
    with closing(sqlite3.connect(service.database.removeprefix("sqlite:///"))) as other, other:
        other.execute("INSERT INTO jobs (name, created_at) VALUES ('written elsewhere', 0)")
    registry.database.close()
    after = httpx.get(f"{service.url}/api/v1/jobs?limit=1000").json()
    assert len(after["jobs"]) == len(before["jobs"]) + 1


def test_what_was_kept_is_shown_only_to_those_who_may_look(tmp_path_factory):
    from tests.compat.service.running import serve

    running = serve(tmp_path_factory.mktemp("closed"), "--no-anonymous")
    try:
        assert running.client("read").get("/jobs").status_code == 200
        assert httpx.get(f"{running.url}/api/v1/jobs").status_code == 401
        etag = running.client("read").get("/jobs").headers["etag"]
        assert httpx.get(f"{running.url}/api/v1/jobs", headers={"If-None-Match": etag}).status_code == 401
    finally:
        running.stop()


def test_nothing_that_fails_or_counts_is_kept(service):
    for path in ("/livez", "/readyz", "/metrics", "/api/v1/jobs/nobody", "/jobs/nobody", "/login"):
        assert "etag" not in httpx.get(service.url + path).headers


def test_a_page_is_made_once_for_all_who_ask_at_once():
    made = []

    async def story():
        ready = asyncio.Event()

        async def run(function, *arguments, size, client):
            text = function(*arguments)
            made.append(text)
            await ready.wait()
            if text == "broken":
                raise WorkFailed(text)
            return text

        parts = SimpleNamespace(pages=Kept(100_000), underway={}, pools=SimpleNamespace(run=run))
        app = SimpleNamespace(state=SimpleNamespace(service=parts))
        request = SimpleNamespace(app=app, scope={"client": ("10.0.0.1", 1)})

        def asked(key, text, **more):
            return asyncio.create_task(page_of(request, key, str, text, size=0, **more))

        many = [asked("a", "page") for _ in range(5)] + [asked("b", "broken") for _ in range(2)]
        await asyncio.sleep(0)
        many[0].cancel()  # the first who asked leaves
        await asyncio.sleep(0)
        ready.set()
        told = await asyncio.gather(*many, return_exceptions=True)
        assert [type(one) for one in told] == [asyncio.CancelledError, *[str] * 4, *[WorkFailed] * 2]
        assert await asked("a", "page") == "page"
        assert made == ["page", "broken"]
        for _ in range(2):
            assert await asked("c", "changing", kept=False) == "changing"
        assert made == ["page", "broken", "changing", "changing"]
        assert not parts.underway

    asyncio.run(story())


def test_a_check_whose_report_is_there_is_shown_without_a_process(tmp_path):
    app = create_app(ServiceSettings(database=f"sqlite:///{tmp_path}/compat.db", workers=1))
    parts = app.state.service
    worker._Worker.registry = parts.registry
    worker._Worker.settings = worker.WorkerSettings("", 1.0, 64, 0)
    asked = check_request(body({"plan": plan(*OLD)}, RENUMBERED))
    made = worker.check_request_of(asked)
    values = {name: getattr(made, name) for name in ("job", "old", "new", "verdict", "sentence", "errors", "warnings")}
    more = {"commit": None, "author": None, "by": "me", "seconds": 1, "options": made.options, "plans": made.plans}
    ids = [parts.registry.checks.record(NewCheck(**values, **more, report=made.packed_report), kept=9).id for _ in "ab"]
    views = []

    async def story():
        transport = httpx.ASGITransport(app=app)  # no process was started
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [(await client.get(f"/checks/{id}")).text for id in ids]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "view_of", lambda *given, made=sections.view_of: views.append(given) or made(*given))
        pages = asyncio.run(story())
    parts.registry.database.close()
    for id, page in zip(ids, pages, strict=True):
        assert f"#{id}" in page
        assert "CMP10" in page
        assert '<script type="application/json" id="view-data">' in page
    assert len(views) == 1  # both were decided alike


def test_what_is_kept_has_a_size():
    kept = Kept(100)
    for number in range(10):
        kept.put(number, f"value {number}", 20)
    assert kept.get(0) is None
    assert [kept.get(number) for number in range(5, 10)] == [f"value {number}" for number in range(5, 10)]
    kept.put(5, "again", 40)
    assert (kept.get(5), kept.get(6)) == ("again", None)
    kept.put("large", "x", 60)
    assert kept.get("large") is None


# Commits.


def threads(count, target):
    running = [threading.Thread(target=target, args=(number,)) for number in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
        assert not thread.is_alive()


def test_writers_share_commits_and_each_is_told_after_its_own(patient, monkeypatch):
    commits, seen = [], []
    end = GroupCommit._end

    def slowly(self, group, error=None):
        time.sleep(0.02)  # as a disk does
        commits.append(group.members)
        end(self, group, error)

    monkeypatch.setattr(GroupCommit, "_end", slowly)

    def work(number):
        for turn in range(5):
            name = f"job {number} {turn}"
            with patient.database.write() as connection:
                connection.execute(text("INSERT INTO jobs (name, created_at) VALUES (:name, 0)"), {"name": name})
            seen.append(patient.jobs.get(name).name)

    threads(12, work)
    assert len(set(seen)) == 60
    assert sum(commits) == 60
    assert len(commits) < 40


def test_who_fails_is_undone_alone(patient):
    failed, done = [], []

    def work(number):
        for turn in range(10):
            name = "taken" if number % 3 == 0 else f"job {number} {turn}"
            try:
                with patient.database.write() as connection:
                    for each in (f"side {number} {turn}", name):
                        connection.execute(text("INSERT INTO jobs (name, created_at) VALUES (:n, 0)"), {"n": each})
                    if number % 4 == 1:
                        raise KeyError(number)
                done.append(name)
            except (IntegrityError, KeyError):
                failed.append(f"side {number} {turn}")

    threads(9, work)
    names = {job.name for job in patient.jobs.all()}
    assert names >= set(done)
    assert not names & set(failed)
    assert len(failed) == 2 * 10 + 3 * 10 - 1  # who raised, and who came too late for the name


def test_a_database_that_others_hold_fails_all_in_time(registry, tmp_path):
    errors = []

    def work(number):
        try:
            with registry.database.write() as connection:
                connection.execute(text("INSERT INTO jobs (name, created_at) VALUES (:n, 0)"), {"n": f"job {number}"})
        except SQLAlchemyError as error:
            errors.append(error)

    with closing(sqlite3.connect(tmp_path / "compat.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        threads(8, work)
        assert time.monotonic() - started < 12
        other.execute("ROLLBACK")
    assert len(errors) >= 7
    assert len(registry.jobs.all()) == 8 - len(errors)
    work(9)
    assert "job 9" in {job.name for job in registry.jobs.all()}


def test_no_part_of_an_answer_waits_for_an_acknowledgement(monkeypatch):
    """Connections have the option of the socket that they come in by."""
    asked = []

    def run(self, sockets):
        with closing(socket.create_connection(sockets[0].getsockname())), closing(sockets[0].accept()[0]) as accepted:
            asked.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        serve(Starlette(), listener, 10.0)
    assert asked == [1]
