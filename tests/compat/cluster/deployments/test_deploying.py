"""Upgrades, with doubles of all that runs: wherever the dispatcher is killed, one version runs in the end, and once."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from compat.cluster import resources
from compat.cluster.deployments.deploying import Deploying, DeploymentRefused, Judgement, Replaced, UnderWay
from compat.cluster.deployments.records import Deployment, Step, derived
from compat.cluster.gate import GateClosed, RegistryAway
from compat.cluster.layout import ClusterFolder
from compat.cluster.records import Action, ClusterJob, FormerJob, Room
from compat.cluster.registry import Jobs
from compat.cluster.submission import DeploymentRequest
from compat.compiler.executiongraph.executions import VertexStatus
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.migration.recipe import Recipe
from compat.service import database
from compat.service.database import Database
from compat.state.delta.log import SnapshotLog
from tests.compat.cluster.offline import submission

OLD = uuid.UUID(int=1).hex
ID = uuid.UUID(int=2).hex
NEW, BACK = derived(ID, "new"), derived(ID, "back")
SAVEPOINT = "/savepoint"


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the tables of a cluster."""
    folder = ClusterFolder(tmp_path_factory.mktemp("migrated"))
    found = Database(folder.database)
    Jobs(found).migrate()
    found.close()
    return folder.path / "cluster.db"


class Killed(Exception):
    """The dispatcher's process is gone."""


class KilledJobs(Jobs):
    """The jobs, in a process that dies at one of its transactions, before or after that is durable."""

    at: int = -1
    durable = True
    count = 0

    @contextmanager
    def leading(self) -> Iterator[Connection]:
        self.count += 1
        with super().leading() as connection:
            yield connection
            if self.count == self.at and not self.durable:
                raise Killed
        if self.count == self.at:
            raise Killed


class Gate:
    """A registry that is away for so many calls, and then takes or refuses a version."""

    url = "http://registry"

    def __init__(self, away: int = 0, refuses: bool = False) -> None:
        self.away, self.refuses = away, refuses
        self.promoted: list[int] = []

    def promote(self, job: str, number: int, recipe: Recipe | None = None) -> None:
        if self.away:
            self.away -= 1
            raise RegistryAway("it is away")
        if self.refuses:
            raise GateClosed("it refuses")
        self.promoted.append(number)


@dataclass
class World:
    """A cluster of two slots whose jobs are doubles. ``fates`` says what becomes of a job once it has slots.

    They are ``runs``, ``finishes``, ``fails``, ``loops`` (restarts for ever), ``dies`` (its process does), ``cannot save``.
    """

    path: Path
    fates: dict[str, str]
    gate: Gate | None = None
    jobs: KilledJobs = field(init=False)
    deploying: Deploying = field(init=False)
    ran: list[str] = field(default_factory=list)

    def lead(self, at: int = -1, durable: bool = True) -> None:
        """A dispatcher's process begins, which dies at that transaction."""
        folder = ClusterFolder(self.path)
        self.jobs = KilledJobs(Database(folder.database))
        self.jobs.lead("http://here", 10, dead=True)
        self.deploying = Deploying(
            folder, self.jobs, resources.Capacity(slots=2), self.gate, lambda job: self.fates.get(job) == "dies"
        )  # type: ignore[arg-type]
        self.jobs.at, self.jobs.durable = at, durable

    def close(self) -> None:
        for thread in self.deploying.steps._promotions.values():
            thread.join()
        self.jobs._database.close()

    def round(self) -> None:
        """What the dispatcher does in a round, and what the jobs do meanwhile."""
        first = self.deploying.round()
        for grant in resources.grants(self.jobs.unfinished(), Room(slots=2), first):
            self.jobs.begin(grant.job.id, grant.pool)
        for job in self.jobs.unfinished():
            if resources.has_slots(job):
                self._live(job)
        for request in self.jobs.open_requests():
            self._answer(request.id, self.jobs.get(request.job), request.action)
        self.prove()

    def prove(self) -> None:
        """Never do two versions run at a time."""
        running = [job.id for job in self.jobs.named("count") if resources.has_slots(job)]
        assert len(running) <= 1, running

    def _live(self, job: ClusterJob) -> None:
        fate = self.fates.get(job.id, "runs")
        if job.id not in self.ran:
            self.ran.append(job.id)
        match fate:
            case "fails":
                self.jobs.end(job.id, JobStatus.FAILED, message="ValueError: no")
            case "finishes":
                self.jobs.end(job.id, JobStatus.FINISHED)
            case "dies":
                self.jobs.failed(job.id, job.attempt, "The JobMaster was ended by SIGSEGV.")
                self.jobs.begin(job.id, job.pool or 0)
            case "loops":
                self._restart(job)
                self.jobs.turned(job.id, JobStatus.RUNNING)
            case _ if job.status is not JobStatus.RUNNING:
                self.jobs.turned(job.id, JobStatus.RUNNING)

    def _restart(self, job: ClusterJob) -> None:
        store = self.deploying.folder.store
        before = store.entry(job.id)
        attempt = 1 if before is None else before.vertices[0].attempt + 1
        vertex = VertexStatus(
            id="a", name="a", parallelism=1, status="RUNNING", attempt=attempt, since=0.0, failure="ValueError: no"
        )
        store.write(JobEntry(job_id=job.id, name="count", status="RUNNING", pid=1, epoch=5, vertices=[vertex]))

    def _answer(self, request: str, job: ClusterJob, action: Action) -> None:
        fate = self.fates.get(job.id, "runs")
        if job.status.terminal:
            wanted = job.stopped_with if action is Action.STOP else None
            failed = wanted is None and (action is Action.STOP or job.status is not JobStatus.CANCELED)
            error = f"it is {job.status.value}" if failed else None
            self.jobs.answered(request, location=wanted, error=error)
        elif fate == "dies":
            return  # nobody answers
        elif action is Action.STOP and fate == "cannot save":
            self.jobs.answered(request, error="No space left on device. The job goes on.")
        elif action is Action.STOP:
            self.jobs.end(job.id, JobStatus.FINISHED, stopped_with=SAVEPOINT)
            self.jobs.answered(request, location=SAVEPOINT)
        else:
            self.jobs.end(job.id, JobStatus.CANCELED)
            self.jobs.answered(request)

    def old(self) -> None:
        """The old version runs."""
        data = submission("count", program="old.py").encoded()
        self.deploying.folder.keep(OLD, data)
        if not self.jobs.with_id(OLD):
            self.jobs.add(OLD, name="count", program="old.py", slots=1, by="me", restored_from=None)
        for _ in range(3):
            self.round()

    def request(self, **more: Any) -> DeploymentRequest:
        new = submission("count", program="new.py", **more)
        given = {"job": "count", "fingerprint": "f", "watch": 0.0, "replaces": OLD}
        return DeploymentRequest(submission=new.encoded(), **given)  # type: ignore[arg-type]

    def begin(self) -> None:
        """What a client does, who asks again until it is answered."""
        if not self.deploying.deployments.get(ID):
            version = None if self.gate is None else 7
            new = submission("count", program="new.py")
            self.deploying.begin(ID, self.request(), new, Judgement(version=version), "me")

    def whole(self) -> None:
        """All of it."""
        self.begin()
        self.end()

    def end(self) -> Deployment:
        """Its end."""
        for _ in range(60):
            self.round()
            for thread in self.deploying.steps._promotions.values():
                thread.join()
            (found,) = self.deploying.deployments.get(ID)
            if found.step.over:
                self.round()
                return found
        raise AssertionError(found)


@pytest.fixture
def world(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes worlds, each in a folder of its own."""
    monkeypatch.setattr("compat.cluster.deployments.steps._ASKING_AGAIN", 0.0)
    prepare = database._prepare_sqlite

    def fast(connection: Any, record: Any) -> None:
        prepare(connection, record)
        connection.execute("PRAGMA synchronous=OFF").close()

    monkeypatch.setattr("compat.service.database._prepare_sqlite", fast)
    made: list[World] = []

    def make(fates: dict[str, str], gate: Gate | None = None) -> World:
        path = tmp_path / str(len(made))
        path.mkdir()
        shutil.copy(migrated, path / "cluster.db")
        made.append(World(path, fates, gate))
        made[-1].lead()
        return made[-1]

    yield make
    for each in made:
        each.close()


SCENARIOS: dict[str, tuple[dict[str, str], Step, str | None]] = {
    "the new one runs": ({}, Step.DEPLOYED, NEW),
    "the new one finishes": ({NEW: "finishes"}, Step.DEPLOYED, None),
    "the new one fails": ({NEW: "fails"}, Step.RETURNED, BACK),
    "the new one restarts for ever": ({NEW: "loops"}, Step.RETURNED, BACK),
    "the process of the new one dies": ({NEW: "dies"}, Step.RETURNED, BACK),
    "the old one cannot be stopped": ({OLD: "cannot save"}, Step.ABANDONED, OLD),
    "neither runs": ({NEW: "fails", BACK: "fails"}, Step.FAILED, None),
}


def verify(world: World, found: Deployment, step: Step, runs: str | None) -> None:
    """That step is the end, and that job runs, and no other one."""
    assert found.step is step, found
    assert [job.id for job in world.jobs.unfinished()] == ([runs] if runs else [])
    assert found.runs in (runs, NEW)
    taken = [each.step for each in world.deploying.deployments.steps(ID)]
    assert taken[-1] is step
    assert len(set(taken)) == len(taken)
    for id in (NEW, BACK):
        for job in world.jobs.with_id(id):
            assert job.restored_from == SAVEPOINT
            assert world.deploying.folder.submission(id).savepoint == SAVEPOINT
            assert job.program == ("new.py" if id == NEW else "old.py")
    assert (world.path / "jobs" / BACK).exists() == bool(world.jobs.with_id(BACK))


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 8], ids=["each", "some"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_it_ends_as_it_should_wherever_the_dispatcher_is_killed(world: Any, name: str, every: int) -> None:
    fates, step, runs = SCENARIOS[name]
    whole = world(dict(fates))
    whole.old()
    before = whole.jobs.count
    whole.begin()
    verify(whole, whole.end(), step, runs)
    kills = [(at, durable) for at in range(before + 1, whole.jobs.count + 1) for durable in (True, False)]
    for at, durable in kills[len(name) % every :: every]:
        killed = world(dict(fates))
        killed.old()
        killed.close()
        killed.lead(at - before, durable)
        with pytest.raises(Killed):
            killed.whole()
        killed.close()
        killed.lead()
        killed.begin()
        verify(killed, killed.end(), step, runs)


@pytest.mark.parametrize(
    ("gate", "step", "promoted"),
    [
        (Gate(), Step.DEPLOYED, [7]),
        (Gate(away=3), Step.DEPLOYED, [7]),
        (Gate(refuses=True), Step.NOT_PROMOTED, []),
    ],
    ids=["takes it", "is away for a while", "refuses"],
)
def test_the_registry_is_told(world: Any, gate: Gate, step: Step, promoted: list[int]) -> None:
    found = world({}, gate)
    found.old()
    found.begin()
    verify(found, found.end(), step, NEW)
    assert gate.promoted == promoted


def test_a_job_that_stands_in_the_queue_does_not_get_the_slots_of_the_one_that_is_replaced(world: Any) -> None:
    found = world({})
    found.old()
    wide = uuid.uuid4().hex
    found.jobs.add(wide, name="wide", program="wide.py", slots=2, by="me", restored_from=None)
    found.begin()
    found.end()
    assert found.ran == [OLD, NEW]
    assert found.jobs.get(wide).status is JobStatus.CREATED


def test_what_cannot_be_begun_is_refused(world: Any) -> None:
    found = world({})
    found.old()
    refuse = found.deploying.refuse
    new = submission("count")
    with pytest.raises(Replaced, match="than the one that was checked against"):
        refuse(DeploymentRequest(job="count", submission=b"", fingerprint="", watch=0), new)
    with pytest.raises(DeploymentRefused, match="goes on from its own savepoint"):
        refuse(found.request(), submission("count", savepoint="/other"))
    other = uuid.uuid4().hex
    found.jobs.add(other, name="other", program="other.py", slots=1, by="me", restored_from=None)
    found.round()
    with pytest.raises(DeploymentRefused, match="would need 2 slots in place of 1, and 1 are free then"):
        refuse(found.request(), submission("count", slots=2))
    found.begin()
    with pytest.raises(UnderWay):
        refuse(found.request(), new)
    found.end()
    twin = uuid.uuid4().hex
    found.jobs.end(other, JobStatus.CANCELED)
    found.jobs.add(twin, name="count", program="new.py", slots=1, by="me", restored_from=None)
    with pytest.raises(DeploymentRefused, match="2 jobs called count run"):
        refuse(found.request(), new)


@pytest.mark.parametrize(
    ("status", "stopped_with", "restored_from", "state", "unclear"),
    [
        (JobStatus.FINISHED, SAVEPOINT, None, SAVEPOINT, False),
        (JobStatus.FINISHED, None, None, None, False),
        (JobStatus.FAILED, None, None, None, False),
        (JobStatus.FAILED, None, "/before", "/before", False),
        (JobStatus.CANCELED, None, None, None, True),
    ],
    ids=["stopped", "finished", "failed at once", "failed before its first checkpoint", "cancelled"],
)
def test_a_job_that_does_not_run_goes_on_where_the_last_one_ended(
    world: Any,
    status: JobStatus,
    stopped_with: str | None,
    restored_from: str | None,
    state: str | None,
    unclear: bool,
) -> None:
    found = world({})
    found.jobs.add(OLD, name="word count", program="old.py", slots=1, by="me", restored_from=restored_from)
    found.jobs.end(OLD, status, stopped_with=stopped_with)
    situation = found.deploying.situation("count", "word count")
    assert (situation.runs, situation.state, bool(situation.unclear)) == (None, state, unclear)
    assert bool(situation.stateless) == (state is None and not unclear)
    assert situation.base == (OLD if state else None)
    request = found.request()
    if unclear:
        with pytest.raises(GateClosed, match="was cancelled"):
            found.deploying.judge(request, submission("word count"), situation)
    assert found.deploying.judge(request, submission("word count", fresh=True), situation) == Judgement()


def test_a_first_deployment_that_fails_leaves_nothing_that_runs(world: Any) -> None:
    found = world({NEW: "loops"})
    request = DeploymentRequest(job="count", submission=b"", fingerprint="", watch=0.0)
    found.deploying.begin(ID, request, submission("count"), Judgement(), "me")
    ended = found.end()
    assert ended.step is Step.FAILED
    assert "restarted 3 times without a checkpoint. ValueError: no" in ended.message
    assert found.jobs.unfinished() == []


def test_jobs_that_a_deployment_needs_are_kept(world: Any) -> None:
    found = world({NEW: "fails"})
    found.old()
    found.begin()
    assert found.deploying.held == found.deploying.needed == {OLD, NEW, BACK}
    found.end()
    assert (found.deploying.held, found.deploying.needed) == ({BACK}, frozenset())
    found.jobs.end(BACK, JobStatus.FINISHED, stopped_with="/second")
    gone = found.jobs.expired(time.time() + 1, 0, held=found.deploying.held)
    assert {job.id for job in gone} == {OLD, NEW}
    for job in gone:
        found.jobs.forget(job.id)
    assert found.deploying.situation("count").state == "/second"
    found.jobs.forget(BACK)
    assert "its last job was discarded" in found.deploying.situation("count").unclear


def checkpointed(found: World, job: str) -> str:
    """Give a job a checkpoint; gives where."""
    path = found.deploying.folder.store.state(job)
    log = SnapshotLog.create(path)
    assert log.commit(1, [], {"token": "t1", "records": 0})
    return path


@pytest.mark.parametrize(
    ("status", "given", "checkpoint", "stays", "said"),
    [
        (
            JobStatus.FINISHED,
            {"stopped_with": SAVEPOINT},
            False,
            False,
            f"was stopped, .* left its state in {SAVEPOINT}",
        ),
        (JobStatus.FINISHED, {}, True, False, None),
        (JobStatus.FAILED, {"restored_from": "/before"}, True, True, "failed, .* left its state in .*/state"),
        (JobStatus.FAILED, {"restored_from": "/before"}, True, False, "failed, .* Its checkpoints were not kept"),
        (JobStatus.FAILED, {"restored_from": "/before"}, False, False, "failed, .* left its state in /before"),
        (JobStatus.FAILED, {}, False, False, None),
        (JobStatus.CANCELED, {}, True, True, "was cancelled, .* left its state in .*/state"),
        (JobStatus.CANCELED, {}, False, False, "was cancelled, .* Its checkpoints were not kept"),
    ],
    ids=lambda value: value.value if isinstance(value, JobStatus) else "",
)
def test_what_a_job_left_that_is_listed_no_more_is_not_lost_without_a_word(
    world: Any, status: JobStatus, given: dict[str, str], checkpoint: bool, stays: bool, said: str | None
) -> None:
    found = world({})
    old = found.jobs.add(
        OLD, name="count", program="old.py", slots=1, by="me", restored_from=given.get("restored_from")
    )
    if checkpoint:
        checkpointed(found, OLD)
    found.jobs.end(OLD, status, stopped_with=given.get("stopped_with"))
    (ended,) = found.jobs.with_id(old.id)
    found.jobs.remember(ended, found.deploying.former(ended, checkpoint=stays))
    found.jobs.forget(OLD)
    for name, called in (("count", None), ("other name", "count")):
        situation = found.deploying.situation(name, called)
        assert (situation.base, situation.state) == (None, None)
        if said is None:
            assert (situation.unclear, situation.stateless) == ("", f"This cluster knows no job called {name}")
            continue
        with pytest.raises(GateClosed, match=f"count ran here before: job {OLD}, which {said}.*-s PATH.*--fresh"):
            found.deploying.judge(found.request(), submission("count"), situation)
        for more in ({"fresh": True}, {"savepoint": SAVEPOINT}):
            assert found.deploying.judge(found.request(), submission("count", **more), situation) == Judgement()


def test_of_each_name_the_last_job_that_left_something_is_remembered(world: Any) -> None:
    jobs = world({}).jobs
    ended = []
    for number in range(4):
        id = f"{number:032x}"
        jobs.add(id, name="count", program="", slots=1, by="", restored_from=None)
        jobs.end(id, JobStatus.FINISHED, stopped_with=None if number == 2 else f"/{number}")
        ended += jobs.with_id(id)

    def remember(number: int, left: bool = True) -> str | None:
        job = ended[number]
        jobs.remember(job, FormerJob.of(job, job.stopped_with) if left else None)
        former = jobs.former("count")
        return None if former is None else former.state

    assert [remember(1), remember(0), remember(1), remember(2, left=False)] == ["/1", "/1", "/1", None]
    assert [remember(3), remember(3, left=False), remember(2, left=False)] == ["/3", "/3", "/3"]
    assert jobs.former("other") is None


def test_a_job_of_a_later_day_counts_and_not_the_one_that_was_deployed_before(world: Any) -> None:
    found = world({})
    found.old()
    found.begin()
    found.end()
    found.jobs.end(NEW, JobStatus.FINISHED, stopped_with="/of the deployed")
    assert found.deploying.situation("count").state == "/of the deployed"
    later = found.jobs.add(uuid.UUID(int=9).hex, name="count", program="", slots=1, by="", restored_from=None)
    found.jobs.end(later.id, JobStatus.FINISHED, stopped_with="/later")
    assert found.deploying.situation("count").state == "/later"
    (ended,) = found.jobs.with_id(later.id)
    found.jobs.remember(ended, found.deploying.former(ended, checkpoint=False))
    found.jobs.forget(later.id)
    situation = found.deploying.situation("count")
    assert (situation.base, situation.state) == (None, None)
    assert "left its state in /later" in situation.unclear


@pytest.mark.parametrize("by_user", [False, True], ids=["by the deployment", "by a user"])
def test_a_first_deployment_that_fails_goes_on_from_what_it_did_unless_its_user_gave_that_up(
    world: Any, by_user: bool
) -> None:
    found = world({} if by_user else {NEW: "loops"})
    request = DeploymentRequest(job="count", submission=b"", fingerprint="", watch=1000.0)
    found.deploying.begin(ID, request, submission("count"), Judgement(), "me")
    found.round()
    path = checkpointed(found, NEW)
    if by_user:
        found.jobs.end(NEW, JobStatus.CANCELED)
    assert found.end().step is Step.FAILED
    assert found.jobs.get(NEW).status is JobStatus.CANCELED
    situation = found.deploying.situation("count")
    assert (situation.state, "was cancelled" in situation.unclear) == ((None, True) if by_user else (path, False))
    assert situation.base == (None if by_user else NEW)
