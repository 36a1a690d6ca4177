"""Answers of the application when something around it gives way; called without a server."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from compat.service import ServiceSettings, create_app
from compat.service.body import BodyLimit, BodyRefused


@pytest.fixture
def app(tmp_path):
    made = create_app(ServiceSettings(database=f"sqlite:///{tmp_path}/compat.db", allowed_hosts=("testserver",)))
    yield made
    made.state.service.pools.close()
    made.state.registry.database.close()


def get(app, path, **headers):
    async def ask():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(ask())


def test_a_database_that_is_gone_is_no_mistake_of_the_server(app, monkeypatch):
    def gone(*_):
        raise OperationalError("SELECT", {}, Exception("connection refused"))

    monkeypatch.setattr(app.state.registry.tokens, "identify", gone)
    asked = get(app, "/api/v1/jobs", Authorization="Bearer x")
    assert (asked.status_code, "connection refused" in asked.text) == (503, False)
    monkeypatch.setattr(app.state.registry.database, "ready", gone)
    app.state.service.ready = True
    assert get(app, "/readyz").status_code == 503
    assert get(app, "/livez").status_code == 200


def test_a_mistake_says_nothing_of_the_inside(app, monkeypatch):
    def broken():
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr(app.state.registry.jobs, "all", broken)
    answer = get(app, "/api/v1/jobs")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_bodies_together_have_a_limit():
    limit = BodyLimit(None, most=100, largest=100)
    seen = []

    async def request(size, hold):
        async def receive():
            return {"type": "http.request", "body": b"x" * size}

        async def app(scope, receive, send):
            seen.append(len((await receive())["body"]))
            await hold.wait()

        limit._app = app
        await limit({"type": "http"}, receive, None)

    async def run():
        hold = asyncio.Event()
        first = asyncio.create_task(request(80, hold))
        await asyncio.sleep(0)
        with pytest.raises(BodyRefused) as refused:
            await request(30, hold)
        assert refused.value.status == 503
        hold.set()
        await first
        await request(100, hold)
        await request(1000, hold)  # what is beyond the largest body is not kept

    asyncio.run(run())
    assert seen == [80, 100, 1000]
