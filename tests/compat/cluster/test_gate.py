"""A cluster that asks a registry: the service itself, in a process of its own."""

from __future__ import annotations

import json
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from compat.cluster.app import SUBMISSION
from compat.cluster.deployments.api import DEPLOYMENT
from compat.cluster.gate import Candidate, GateClosed, RegistryGate
from compat.cluster.submission import DeploymentRequest
from compat.compiler.executiongraph.states import JobStatus
from compat.migration.moved_plans import digest_of
from compat.migration.recipe import DropOperator, Recipe, RenameOperator
from compat.migration.spark_steps import moved_plan
from compat.service.client import Server
from tests.compat.cluster.offline import OfflineCluster, submission
from tests.compat.service.running import OLD, RENUMBERED, Running, plan, serve

BETTER = (*OLD, "better")
"""Stands for another version of OLD, which restores its state."""


def text(*names: str) -> bytes:
    """The plan of a version, as it is sent."""
    found = plan(*OLD) | {"job_name": "better"} if names == BETTER else plan(*names)
    return json.dumps(found).encode()


NOW = {each["name"]: each["operator_id"] for each in plan(*RENUMBERED)["operators"]}
MOVING = Recipe(
    steps=tuple(
        RenameOperator(operator=each["operator_id"], to=NOW[each["name"]])
        for each in plan(*OLD)["operators"]
        if each["has_state"] and each["operator_id"] != NOW[each["name"]]
    )
)
"""Of operators whose generated ids moved."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = serve(tmp_path_factory.mktemp("registry"))
    yield running
    running.stop()


@pytest.fixture
def job(service: Running, request: pytest.FixtureRequest) -> str:
    """A job of which OLD runs by the registry."""
    name = uuid.uuid4().hex[:8]
    assert service.push(name, *OLD).status_code == 201
    assert service.promote(name).status_code == 200
    return name


def gate(service: Running, role: str | None = "push") -> RegistryGate:
    return RegistryGate(Server(service.url, None if role is None else service.tokens[role]))


def submit(cluster: OfflineCluster, name: str, *names: str, **more: object) -> httpx.Response:
    sent = submission(name, registered=text(*names), **more).encoded()
    return cluster.client().ask("PUT", f"/jobs/{uuid.uuid4().hex}", content=sent, headers={"Content-Type": SUBMISSION})


@pytest.mark.parametrize(
    ("names", "more", "said"),
    [
        (BETTER, {"savepoint": "/savepoint"}, None),
        (OLD, {"savepoint": "/savepoint"}, None),
        (BETTER, {"fresh": True}, None),
        (BETTER, {}, "compat deploy --job {job} takes it over"),
        (RENUMBERED, {"savepoint": "/savepoint"}, "does not let it replace {job}@1: INCOMPATIBLE"),
        (RENUMBERED, {"fresh": True}, "does not let it replace {job}@1: INCOMPATIBLE"),
    ],
    ids=["replaces", "is the same", "without state", "would lose it", "incompatible", "incompatible without state"],
)
def test_what_may_replace_what_runs_is_taken(
    service: Running, job: str, tmp_path: Path, names: tuple[str, ...], more: dict[str, object], said: str | None
) -> None:
    cluster = OfflineCluster(tmp_path, gate=gate(service))
    answer = submit(cluster, job, *names, **more)
    assert answer.status_code == (202 if said is None else 409), answer.text
    assert len(cluster.jobs.all()) == (said is None)
    if said is not None:
        assert said.format(job=job) in answer.json()["detail"]
    if names == RENUMBERED:
        assert "error: the state of 'count' goes to 'new'" in answer.json()["detail"]
        check = service.client().get("/checks", params={"job": job}).json()["checks"][0]
        assert f"{service.url}/checks/{check['id']}" in answer.json()["detail"]


def test_what_an_admin_forces_is_taken(service: Running, job: str, tmp_path: Path) -> None:
    cluster = OfflineCluster(tmp_path, gate=gate(service))
    service.push(job, *RENUMBERED)
    assert submit(cluster, job, *RENUMBERED, savepoint="/savepoint").status_code == 409
    assert service.promote(job, "admin", force=True, reason="nobody needs the state").status_code == 200
    assert submit(cluster, job, *RENUMBERED, savepoint="/savepoint").status_code == 202


def test_a_job_that_the_registry_does_not_know_is_refused_and_one_of_which_nothing_runs_is_taken(
    service: Running, tmp_path: Path
) -> None:
    cluster = OfflineCluster(tmp_path, gate=gate(service))
    answer = submit(cluster, "unheard of", *OLD)
    assert answer.status_code == 409
    assert "knows no job 'unheard of'" in answer.json()["detail"]
    assert "compat deploy --job 'unheard of'" in answer.json()["detail"]
    odd = submit(cluster, "a/b", *OLD)
    assert (odd.status_code, "has no job 'a/b'" in odd.json()["detail"]) == (409, True)
    service.push("pushed", *OLD)
    assert submit(cluster, "pushed", *OLD).status_code == 202


def test_a_second_job_of_the_name_is_no_replacement(service: Running, job: str, tmp_path: Path) -> None:
    cluster = OfflineCluster(tmp_path, gate=gate(service))
    assert submit(cluster, job, *OLD, fresh=True).status_code == 202
    twin = submit(cluster, job, *OLD, fresh=True)
    assert (twin.status_code, "runs on this cluster already" in twin.json()["detail"]) == (409, True)
    (runs,) = cluster.jobs.all()
    data = submission(job, registered=b"{}").encoded()
    assert cluster.dispatcher.submit(runs.id, data, "me").id == runs.id  # the same again asks nobody


def test_a_registry_that_cannot_be_asked_lets_nothing_pass(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compat.transport.PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    cluster = OfflineCluster(tmp_path, gate=RegistryGate(Server(f"http://127.0.0.1:{port}")))
    answer = submit(cluster, job, *OLD, savepoint="/savepoint")
    assert answer.status_code == 502
    assert f"http://127.0.0.1:{port} does not answer: [Errno 111] Connection refused" in answer.json()["detail"]
    assert cluster.jobs.all() == []


@pytest.mark.parametrize(("role", "said"), [("read", "The token has the role read"), ("deploy", None)])
def test_the_cluster_records_its_checks(service: Running, job: str, role: str, said: str | None) -> None:
    candidate = Candidate(job, "job.py", text(*BETTER), "2.3")
    if said is None:
        assert "COMPATIBLE" in gate(service, role).check(candidate)
        assert service.client().get("/checks", params={"job": job}).json()["checks"][0]["by"] == "a deploy"
        return
    with pytest.raises(GateClosed, match=said):
        gate(service, role).check(candidate)


def test_a_version_is_registered_and_promoted_once(service: Running, job: str) -> None:
    candidate = Candidate(job, "job.py", text(*BETTER), "2.3")
    asking = gate(service)
    assert [asking.register(candidate, "c0ffee", "Ada") for _ in range(2)] == [2, 2]
    for _ in range(2):
        asking.promote(job, 2)
    promoted = service.client().get(f"/jobs/{job}/promotions").json()["promotions"]
    assert [each["version"]["number"] if "version" in each else each["number"] for each in promoted] == [2, 1]
    with pytest.raises(GateClosed, match="INCOMPATIBLE"):
        asking.register(Candidate(job, "job.py", text(*RENUMBERED), "2.3"), None, None)


def test_a_version_whose_state_a_recipe_moves_is_registered_and_promoted(service: Running, job: str) -> None:
    """The registry moves OLD's plan itself; what it checked is the digest of that."""
    asking, candidate = gate(service), Candidate(job, "job.py", text(*RENUMBERED), "2.3", recipe=MOVING)
    assert asking.register(candidate, "c0ffee", "Ada") == 2
    check = service.client().get("/checks", params={"job": job}).json()["checks"][0]
    told = service.client().get(f"/checks/{check['id']}").json()["report"]["notes"]
    made = digest_of(moved_plan(MOVING, plan(*OLD), plan(*RENUMBERED)))
    assert f"The state of {job}@1 is checked as a recipe makes it: {made}." in told
    with pytest.raises(GateClosed, match="INCOMPATIBLE"):
        asking.promote(job, 2)
    with pytest.raises(GateClosed, match="INCOMPATIBLE"):
        asking.promote(job, 2, Recipe(steps=MOVING.steps[:1]))
    asking.promote(job, 2, MOVING)
    current = service.client().get(f"/jobs/{job}/versions/current").json()
    assert current["number"] == 2


def test_what_a_recipe_drops_an_admin_has_to_say(service: Running, job: str) -> None:
    dropping = Recipe(steps=(*MOVING.steps[1:], DropOperator(operator=MOVING.steps[0].operator)))
    candidate = Candidate(job, "job.py", text(*RENUMBERED), "2.3", recipe=dropping)
    with pytest.raises(GateClosed, match="The token has the role push"):
        gate(service).register(candidate, None, None)
    with pytest.raises(GateClosed, match="The token has the role push"):
        gate(service).promote(job, 2, dropping)
    assert gate(service, "admin").register(candidate, None, None) == 2
    gate(service, "admin").promote(job, 2, dropping)


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"steps": [{"step": "open", "question": "May it go?"}]}, "no open questions"),
        ({"recipe": 2, "steps": []}, "A recipe has the format 1"),
        ({"steps": [{"step": "nonsense"}]}, "This is no recipe"),
        ("recipe.yaml", "This is no recipe"),
        ({"steps": [{"step": "rename-class", "class": "A", "to": "B"}]}, "have no step rename-class"),
    ],
)
def test_recipes_that_are_none_are_told(service: Running, job: str, recipe: object, said: str) -> None:
    sent = {"old": {"job": job}, "new": {"plan": plan(*RENUMBERED)}, "options": {"recipe": recipe}, "record": False}
    answer = service.client().post("/checks", json=sent)
    assert said in answer.text
    assert answer.status_code == (200 if "have no step" in said else 422)


def test_a_deployment_passes_the_gate_and_is_promoted(service: Running, job: str, tmp_path: Path) -> None:
    cluster = OfflineCluster(tmp_path, gate=gate(service))

    def deploy(id: str, *names: str, **more: object) -> httpx.Response:
        new = submission(job, registered=text(*names), **more).encoded()
        request = DeploymentRequest(job=job, submission=new, fingerprint="f", watch=0.0, commit="c0ffee")
        sent = {"content": msgspec.msgpack.encode(request), "headers": {"Content-Type": DEPLOYMENT}}
        return cluster.client().ask("PUT", f"/deployments/{id}", **sent)

    id = uuid.uuid4().hex
    for names, more, said in (
        (BETTER, {}, "This would start without its state"),
        (RENUMBERED, {"fresh": True}, "INCOMPATIBLE"),
    ):
        refused = deploy(id, *names, **more)
        assert (refused.status_code, said in refused.json()["detail"]) == (409, True), refused.text
    assert cluster.dispatcher.deploying.deployments.all() == []
    begun = deploy(id, *BETTER, fresh=True)
    assert begun.status_code == 202, begun.text
    version = begun.json()["deployment"]["version"]
    cluster.dispatcher._round()
    cluster.jobs.turned(begun.json()["deployment"]["new"], JobStatus.RUNNING)
    end = time.monotonic() + 60
    while not (found := cluster.client().ask("GET", f"/deployments/{id}").json())["over"]:
        cluster.dispatcher.deploying.round()
        assert time.monotonic() < end, found
    assert found["step"] == "deployed"
    current = service.client().get(f"/jobs/{job}/versions/current").json()
    assert (current["number"], current["commit"]) == (version, "c0ffee")
