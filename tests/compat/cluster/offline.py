"""A cluster without its processes: its dispatcher's rounds are the test's to call, and so is what JobMasters do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette

from compat.cluster.app import create_app
from compat.cluster.dispatcher import Dispatcher
from compat.cluster.gate import RegistryGate
from compat.cluster.layout import ClusterFolder
from compat.cluster.registry import Jobs
from compat.cluster.settings import ClusterSettings
from compat.cluster.submission import Submission
from compat.service.database import Database
from compat.service.records import Role
from compat.service.registry import Registry
from compat.service.settings import LOOPBACK, ServiceSettings

URL = "http://127.0.0.1:1"


def submission(name: str = "job", **more: object) -> Submission:
    """A job as it travels; nothing of it can be run."""
    given = {"program": "job.py", "folder": "/", "flink": "2.3", "slots": 1, "job": b"", "setup": b"", "plan": b"{}"}
    return Submission(name=name, **{**given, **more})  # type: ignore[arg-type]


class OfflineCluster:
    """A cluster in a folder, led by this process."""

    def __init__(self, path: Path, slots: int = 2, gate: RegistryGate | None = None) -> None:
        self.place = ClusterFolder(path)
        self.registry = Registry(Database(self.place.database))
        self.registry.database.migrate()
        self.jobs = Jobs(self.registry.database)
        self.jobs.migrate()
        self.jobs.lead(URL, 10, dead=True)
        settings = ClusterSettings(slots=slots, master="local[1]")
        self.dispatcher = Dispatcher(self.place, self.jobs, settings, gate)
        self.dispatcher._masters.start = lambda *_: None  # type: ignore[method-assign]
        self.dispatcher._masters.ready = lambda: None  # type: ignore[method-assign]
        self.dispatcher._spark.look = lambda: None  # type: ignore[method-assign]

    def app(self, anonymous: Role = Role.DEPLOY) -> Starlette:
        """What it serves."""
        settings = ServiceSettings(allowed_hosts=LOOPBACK, anonymous_read=False)
        return create_app(self.dispatcher, settings, self.registry, anonymous)

    def client(self, token: str | None = None, anonymous: Role = Role.DEPLOY) -> Client:
        """A client of it, whose dispatcher does not begin its rounds."""
        return Client(self.app(anonymous), {} if token is None else {"Authorization": f"Bearer {token}"})


class Client:
    """Asks an application in this process."""

    def __init__(self, app: Starlette, headers: dict[str, str]) -> None:
        self._app, self._headers = app, headers

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Its answer to a request."""

        async def answer() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", headers=self._headers
            ) as client:
                return await client.request(method, path, **given)

        return asyncio.run(answer())
