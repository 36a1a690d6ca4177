"""A cluster's application without its processes: jobs are put down as its processes would have left them."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from msgspec.structs import replace

from compat.cluster.app import create_app
from compat.cluster.deployments.records import Deployment, Step
from compat.cluster.dispatcher import Dispatcher
from compat.cluster.layout import ClusterFolder
from compat.cluster.records import Action, ClusterJob
from compat.cluster.registry import Jobs
from compat.cluster.settings import ClusterSettings
from compat.cluster.submission import Submission
from compat.compiler.executiongraph.executions import VertexStatus
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
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


@dataclass
class Filled:
    """A cluster with something to look at, and its jobs."""

    served: Served
    running: ClusterJob
    waiting: ClusterJob
    hostile: ClusterJob
    failed: ClusterJob
    ended: ClusterJob


HOSTILE = "<img src=x onerror=alert(1)>\u202e"
LONG = "a very long name of a job that somebody made of everything it does, " * 20
TRACEBACK = (
    "Task count (1/2) failed in operator 'count'.\nThe record: <script>alert(2)</script>\n"
    "Traceback (most recent call last):\n"
    + "".join(f'  File "/srv/jobs/orders/pipeline.py", line {line}, in call_{line}\n    step()\n' for line in range(12))
    + "ValueError: no price for <b>7</b>\x1b[31m"
)


def filled(folder: Path, anonymous: Role = Role.NONE) -> Filled:
    """Jobs that run, wait, failed and ended; one of them bears what would be a command on a page."""
    served = Served(folder, anonymous, slots=8)
    ended = served.job("done")
    served.jobs.end(ended.id, JobStatus.FINISHED, stopped_with="/srv/compat/savepoints/savepoint-0a1b2c")
    failed = served.job(LONG)
    served.jobs.failed(failed.id, 1, TRACEBACK)
    served.jobs.end(failed.id, JobStatus.FAILED, message=TRACEBACK)
    running = served.job("orders by hour", slots=2)
    served.tell(running, [{"event": "started", "checkpoint": 0}])
    served.tell(running, [checkpoint(epoch, seconds=0.2 + 0.01 * (epoch % 7)) for epoch in range(1, 41)])
    served.tell(
        running, [{"event": "restarting", "delay": 1.5, "error": TRACEBACK, "task": "count (1/2)", "attempt": 1}]
    )
    served.tell(running, [{"event": "savepoint", "path": "/srv/compat/savepoints/savepoint-9f8e7d"}])
    served.tell(running, [{"event": "printed", "line": f"('key {line}', {line})"} for line in range(30)])
    served.jobs.failed(running.id, 1, "The JobMaster was ended by SIGKILL.")
    saved = served.jobs.ask(running.id, Action.SAVEPOINT)
    served.jobs.answered(saved, location="/srv/compat/savepoints/savepoint-9f8e7d")
    served.place.log_of(running.id).write_text("".join(f"line {line} of the log\n" for line in range(5000)))
    hostile = served.job(HOSTILE, slots=2, program=HOSTILE, by=HOSTILE, restored_from=HOSTILE)
    entry = served.place.store.entry(hostile.id)
    assert entry is not None
    named = [replace(vertex, name=HOSTILE, failure=HOSTILE) for vertex in entry.vertices]
    measured = [{**each, "name": HOSTILE, "metrics": {**each["metrics"], HOSTILE: [HOSTILE]}} for each in entry.metrics]
    served.place.store.write(replace(entry, vertices=named, metrics=measured))
    served.tell(hostile, [{"event": "restarting", "error": HOSTILE, "task": HOSTILE}])
    served.tell(hostile, [{"event": "savepoint", "path": HOSTILE}, {"event": "printed", "line": f"</pre>{HOSTILE}"}])
    served.place.log_of(hostile.id).write_text(f"</pre>{HOSTILE}\n\x1b[31mred\n" + "x" * 5000)
    served.jobs.answered(served.jobs.ask(hostile.id, Action.SAVEPOINT), error=HOSTILE)
    waiting = served.job("a wide one", slots=8, runs=False)
    return Filled(served, running, waiting, hostile, failed, ended)


@dataclass
class Deployed:
    """Deployments of a job: the first two took their turn, the third failed and went back, the last is under way."""

    first: Deployment
    second: Deployment
    returned: Deployment
    open: Deployment


def deployed(served: Served, name: str = "clicks", message: str = TRACEBACK) -> Deployed:
    """Have versions 1 to 4 of a job deployed: the job of the third fails with ``message``, and the fourth has none yet."""
    made = []
    for version, ends in ((1, True), (2, True), (3, False)):
        made.append(_deployment(served, name, version, made[-1].new if made else None))
        if version > 1:
            served.jobs.end(made[-2].new, JobStatus.FINISHED, stopped_with=f"/srv/savepoints/{version}")
        _begun(served, made[-1].new, name, version)
        _goes(served, made[-1], Step.WATCHING, *((Step.PROMOTING, Step.DEPLOYED) if ends else ()))
    served.jobs.end(made[2].new, JobStatus.FAILED, message=message)
    _goes(served, made[2], Step.RETURNING, message=message)
    _begun(served, made[2].back, name, 2)
    _goes(served, made[2], Step.RETURNED)
    open_one = _deployment(served, name, 4, made[2].back)
    found = [served.dispatcher.deploying.deployments.get(each.id)[0] for each in (*made, open_one)]
    return Deployed(*found)


def _deployment(served: Served, name: str, version: int, old: str | None) -> Deployment:
    return served.dispatcher.deploying.deployments.add(
        uuid.uuid4().hex,
        job=name,
        program=f"/srv/jobs/{name}/v{version}/job.py",
        fingerprint=str(version) * 64,
        slots=1,
        watch=90.0,
        by="ada",
        old=old,
        version=version,
        savepoint=None if old is None else f"/srv/savepoints/{version}",
    )


def _begun(served: Served, id: str, name: str, version: int) -> None:
    served.jobs.add(id, name=name, slots=1, program=f"/srv/jobs/{name}/v{version}/job.py", by="ada", restored_from=None)
    assert served.jobs.begin(id, served.jobs.get(id).number) == 1
    served.jobs.turned(id, JobStatus.RUNNING)


def _goes(served: Served, deployment: Deployment, *steps: Step, message: str = "") -> None:
    deployments = served.dispatcher.deploying.deployments
    for step in steps:
        deployments.to(deployments.get(deployment.id)[0], step, message)


@contextmanager
def listening(served: Served) -> Iterator[str]:
    """The address at which the application is served, by a thread, while this lasts."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(served.app, lifespan="off", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)
