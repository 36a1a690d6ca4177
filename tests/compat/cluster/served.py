"""A cluster's application without its processes: jobs are put down as its processes would have left them."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from compat.cluster.app import create_app
from compat.cluster.dispatcher import ClusterSettings, Dispatcher
from compat.cluster.places import ClusterFolder
from compat.cluster.records import ClusterJob
from compat.cluster.registry import Jobs
from compat.cluster.submission import Submission
from compat.compiler.executiongraph.executions import VertexStatus
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.store import JobEntry
from compat.service.database import Database
from compat.service.records import Role
from compat.service.registry import Registry
from compat.service.settings import ServiceSettings
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row, write_rows
from tests.compat.service.running import OLD, plan
from tests.compat.service.stores import job_store

DESCRIBED = "f" * 32
VERTEX: str = plan(*OLD)["job_graph"]["vertices"][-1]["id"]
HOST = "http://localhost"


@dataclass
class Served:
    """An application that is asked in this process. ``tokens`` by role; ``anonymous`` is who sends none."""

    folder: Path
    anonymous: Role = Role.NONE
    slots: int = 4
    tokens: dict[Role, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place = ClusterFolder(self.folder)
        self.place.path.mkdir(parents=True, exist_ok=True)
        self.registry = Registry(Database(self.place.database))
        self.registry.database.migrate()
        self.jobs = Jobs(self.registry.database)
        self.jobs.migrate()
        assert self.jobs.lead("http://localhost", 10.0, dead=True)
        self.dispatcher = Dispatcher(self.place, self.jobs, ClusterSettings(slots=self.slots, master="local[2]"))
        self.app = create_app(self.dispatcher, ServiceSettings(), self.registry, self.anonymous)
        for role in Role:
            if role:
                self.tokens[role] = self.registry.tokens.create(f"a {role.name.lower()}", role)

    def ask(self, method: str, address: str, role: Role = Role.NONE, **more: Any) -> httpx.Response:
        """The answer to a request of who sends a token of that role, or none. ``more`` is as httpx takes it."""
        headers = dict(more.pop("headers", {}))
        if role:
            headers["Authorization"] = f"Bearer {self.tokens[role]}"

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
                return await client.request(method, address, headers=headers, **more)

        return asyncio.run(asked())

    def get(self, address: str, role: Role = Role.READ, **more: Any) -> httpx.Response:
        """What an address shows to who may look."""
        return self.ask("GET", address, role, **more)

    def job(self, name: str = "word count", *, slots: int = 1, runs: bool = True, **more: Any) -> ClusterJob:
        """A job that runs, with a state table and a plan, or one that waits."""
        id = uuid.uuid4().hex
        given = {"program": "job.py", "by": "ada", "restored_from": None, **more}
        self.jobs.add(id, name=name, slots=slots, **given)
        if runs:
            assert self.jobs.begin(id, self.jobs.get(id).number) == 1
            self.jobs.turned(id, JobStatus.RUNNING)
            described(job_store(self.place.job(id), plan(*OLD), (10, 20), name=name))
            self.place.store.write(entry_of(self.jobs.get(id), plan(*OLD)))
        return self.jobs.get(id)

    def tell(self, job: ClusterJob, events: Sequence[Mapping[str, Any]]) -> None:
        """Events as the job's process tells them."""
        log = self.place.events(job.id)
        for event in events:
            log.add({"event": event["event"], "job_id": job.id, **event})

    def close(self) -> None:
        """Close the database."""
        self.registry.database.close()


def entry_of(job: ClusterJob, made: dict[str, Any], **more: Any) -> JobEntry:
    """How a job with a plan is, as its process writes it: the n-th vertex read 1000 n records and wrote 100 n."""
    vertices, metrics = [], []
    names = {operator["operator_id"]: operator["name"] for operator in made["operators"]}
    for number, vertex in enumerate(reversed(made["job_graph"]["vertices"]), start=1):
        vertices.append(
            VertexStatus(
                id=vertex["id"],
                name=vertex["name"],
                parallelism=vertex["parallelism"],
                status="RUNNING",
                attempt=0,
                since=time.time() - 60,
                tasks={"RUNNING": vertex["parallelism"]},
            )
        )
        chain = [each["id"] for each in reversed(vertex["operators"])]
        measured: dict[str, dict[str, Any]] = {chain[0]: {"numRecordsIn": 1000 * number}}
        if number < len(made["job_graph"]["vertices"]):
            measured.setdefault(chain[-1], {})["numRecordsOut"] = 100 * number
        measured[chain[0]]["mine.seen"] = number
        metrics += [{"operator_id": id, "name": names[id], "metrics": found} for id, found in measured.items()]
    given: dict[str, Any] = {"status": job.status.value, "fence": job.attempt, "epoch": 3, "records": 30, **more}
    return JobEntry(
        job_id=job.id, name=job.name, pid=1, started=time.time() - 60, metrics=metrics, vertices=vertices, **given
    )


def described(folder: Path) -> None:
    """Have the state table of a job say that it has an operator."""
    log = SnapshotLog.open(str(folder / "state"))
    facts = {"name": "count", "uid": None, "parallelism": 1, "max_parallelism": 128, "states": []}
    told = json.dumps(facts).encode()
    rows = [Row(DESCRIBED, Kind.OPERATOR, NO_KEY_GROUP, "states", b"", b"", b"", told)]
    assert log.commit(3, [write_rows(log.path, rows, 3)], {"token": "t3", "records": 0})


def submission(name: str = "sent", slots: int = 1) -> bytes:
    """A job as it travels, which nobody will load."""
    return Submission(
        name=name, program="job.py", folder="/", flink="2.3", slots=slots, job=b"", setup=b"", plan=b"{}"
    ).encoded()


def checkpoint(epoch: int, **more: Any) -> dict[str, Any]:
    """What a job tells of a checkpoint."""
    event = {"event": "checkpoint", "epoch": epoch, "records": 10 * epoch, "seconds": 0.25, "changed": epoch}
    lag = {"watermark": int(time.time() * 1000) - 5000, "watermark_lag": 5000}
    return {**event, **lag, "state_bytes": 1000 * epoch, "replicas": {}, **more}
