"""Tokens that are bound to jobs and that end, over the whole table of routes; and their names, where people look."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager

import httpx
import pytest
from sqlalchemy import text
from starlette.routing import Route

from compat.service import api
from compat.service.database import Database
from compat.service.records import Identity, Role
from compat.service.registry import Expired, Registry
from tests.compat.service.running import JSON, OLD, plan
from tests.compat.service.test_registry import registry  # noqa: F401 - a fixture

CHANGING = [
    (method, route.path)
    for route in api.routes()
    if isinstance(route, Route)
    for method in sorted(route.methods or ())
    if method not in ("GET", "HEAD")
]
"""All that is not only looked at; a route that is added is here by itself."""


def test_a_token_is_for_the_jobs_that_its_patterns_name():
    bound = Identity("ci", Role.PUSH, jobs=("payments-*", "orders"))
    jobs = ("payments-eu", "payments-", "orders", "orders2", "Payments-eu", "my payments-eu", None)
    assert [bound.may_change(job) for job in jobs] == [True, True, True, False, False, False, False]
    assert Identity("all", Role.PUSH).may_change("orders")
    assert Identity("all", Role.ADMIN).may_change(None)


def test_what_a_token_is_bound_to_is_kept_and_told(registry):  # noqa: F811
    end = time.time() + 60
    made = registry.tokens.create("ci", Role.PUSH, jobs=("a-*", "b"), expires_at=end)
    assert registry.tokens.identify(made) == Identity("ci", Role.PUSH, jobs=("a-*", "b"))
    (kept,) = registry.tokens.list()
    assert (kept.jobs, kept.expires_at, kept.expired(end - 1), kept.expired(end)) == (("a-*", "b"), end, False, True)
    (entry,) = registry.audit.list()
    assert (entry.detail["jobs"], entry.detail["expires"] is None) == ("a-*, b", False)


def test_a_token_whose_end_has_come_says_so_to_its_owner_alone(registry):  # noqa: F811
    made = registry.tokens.create("ci", Role.ADMIN, expires_at=time.time() - 1)
    with pytest.raises(Expired, match="'ci' ended at 20"):
        registry.tokens.identify(made)
    assert registry.tokens.identify(made + "x") is None


def test_a_token_of_before_is_for_all_jobs_and_without_an_end(tmp_path):
    from alembic import command
    from sqlalchemy import create_engine

    from compat.service.database import migrate
    from compat.service.registry.tokens import _hash

    engine = create_engine(f"sqlite:///{tmp_path}/compat.db")
    with engine.begin() as connection:
        config = migrate.config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        connection.execute(text("INSERT INTO tokens VALUES ('0a', 'ci', 2, :hash, 0)"), {"hash": _hash("secret")})
    engine.dispose()
    old = Registry(Database(f"sqlite:///{tmp_path}/compat.db"))
    old.database.migrate()
    assert old.tokens.identify("compat_0a_secret") == Identity("ci", Role.PUSH)
    old.database.close()


@contextmanager
def client(service, **given):
    """A client with a token of its own."""
    registry = service.registry  # noqa: F811
    name = f"a token of {time.monotonic_ns()}"
    token = registry.tokens.create(name, given.pop("role", Role.ADMIN), **given)
    with httpx.Client(
        base_url=service.url + "/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as made:
        made.name, made.token = name, token
        yield made
    registry.tokens.revoke(name)
    registry.database.close()


def asked(path):
    """An address of a route, for a job that is somebody else's, and a body that some of them take."""
    address = path.removeprefix(api.PREFIX)
    for name, value in (("job", "orders"), ("number", "1"), ("id", "1"), ("rule", "CMP101")):
        address = address.replace("{" + name + "}", value)
    return address


BODIES = {"/checks": {"old": {"plan": plan(*OLD)}, "new": {"plan": plan(*OLD)}}}


@pytest.mark.parametrize(("method", "path"), CHANGING)
def test_a_bound_token_changes_nothing_of_other_jobs(service, method, path):
    service.push("orders", *OLD)
    body = json.dumps(BODIES.get(asked(path), {})).encode()
    with client(service, jobs=("payments-*",)) as bound:
        answer = bound.request(method, asked(path), content=body, headers=JSON)
    assert answer.status_code == 403, answer.text
    assert f"'{bound.name}' is bound to the jobs payments-*" in answer.json()["detail"]


@pytest.mark.parametrize(("method", "path"), CHANGING)
def test_a_token_whose_end_has_come_does_nothing(service, method, path):
    with client(service, expires_at=time.time() - 1) as late:
        answer = late.request(method, asked(path), content=b"{}", headers=JSON)
    assert answer.status_code == 401
    assert f"'{late.name}' ended at" in answer.json()["detail"]


def test_a_bound_token_does_what_its_jobs_need_and_looks_at_all(service, job):
    service.push("orders", *OLD)
    with client(service, role=Role.PUSH, jobs=(f"{job}*",)) as bound:
        assert bound.post(f"/jobs/{job}/versions", json={"plan": plan(*OLD)}).status_code == 201
        assert bound.post(f"/jobs/{job}/promotions", json={}).status_code == 200
        check = {"old": {"job": job}, "new": {"plan": plan(*OLD)}}
        assert bound.post("/checks", json=check).status_code == 201
        of_others = {"old": {"job": "orders", "version": 1}, "new": {"plan": plan(*OLD)}}
        assert bound.post("/checks", json=of_others).status_code == 403
        assert bound.post("/checks", json={**of_others, "record": False}).status_code == 200
        assert bound.get("/jobs/orders").status_code == 200
        assert bound.get("/audit").status_code == 403


def test_a_login_with_a_token_that_ended_says_so(service):
    with client(service, expires_at=time.time() - 1) as late:
        answer = httpx.post(f"{service.url}/login", data={"token": late.token})
        assert (answer.status_code, "ended at" in answer.text, "set-cookie" in answer.headers) == (401, True, False)
        cookie = {"Cookie": f"compat_token={late.token}"}
        assert httpx.get(f"{service.url}/api/v1/jobs", headers=cookie).status_code == 200  # as without one


def test_pages_and_the_audit_log_tell_the_token_by_its_name(service, job):
    with client(service, role=Role.PUSH) as someone:
        sent = {"plan": plan(*OLD), "author": "Ada <ada@example.org>"}
        assert someone.post(f"/jobs/{job}/versions", json=sent).status_code == 201
        assert someone.post(f"/jobs/{job}/promotions", json={}).status_code == 200
        check = {"old": {"job": job}, "new": {"plan": plan(*OLD)}, "author": "Ada"}
        number = someone.post("/checks", json=check).json()["check"]["id"]
        for page in (f"/jobs/{job}", f"/jobs/{job}/versions/1", f"/checks/{number}", "/checks"):
            shown = httpx.get(service.url + page).text
            assert someone.name in shown, page
            assert "Ada" in shown
        entries = service.client("admin").get("/audit").json()["audit"]
    assert [(one["action"], one["by"]) for one in entries if one["job"] == job] == [("promote", someone.name)]
