"""Answers of the application when something around it gives way; called without a server."""

from __future__ import annotations

import asyncio
import logging
import sys

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from compat.service import ServiceSettings, create_app, memory, telemetry
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
    def broken(**_):
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


def test_a_server_whose_disk_is_full_is_not_ready(app, monkeypatch):
    app.state.service.ready = True
    assert get(app, "/readyz").status_code == 200
    monkeypatch.setattr(app.state.registry.database, "space_left", lambda: 1000)
    answer = get(app, "/readyz")
    assert (answer.status_code, "1000 bytes are left" in answer.text) == (503, True)
    assert get(app, "/livez").status_code == 200


def test_too_little_memory_is_said():
    settings = ServiceSettings(workers=2)
    assert memory.lacking(settings, 64 * 1024**3) == []
    assert memory.lacking(settings, None) == []
    [told] = memory.lacking(settings, 300 * 1024**2)
    assert "lower --workers" in told
    [told] = memory.lacking(ServiceSettings(workers=2, worker_memory=512 * 1024**2), 64 * 1024**3)
    assert "raise --worker-memory" in told


def test_a_library_that_repeats_itself_is_heard_once_a_minute(capsys):
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(telemetry._OnceAMinute())
    logger = logging.Logger("library")
    logger.addHandler(handler)
    for number in range(1000):
        logger.warning("accept failed %d", number)
    logger.warning("something else")
    assert capsys.readouterr().out == "accept failed 0\nsomething else\n"
