"""What ``compat deploy`` asks of a cluster and a registry, and in which order; both are doubles."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compat.cluster.deployments.answers import Begun, DeploymentSummary, SituationSummary, StepTaken
from compat.cluster.gate import Candidate, GateClosed
from compat.cluster.submission import DeploymentRequest, Submission
from compat.execution import deployment
from compat.execution.deployment import FollowingLost, Result, Wanted, deploy
from compat.execution.failures import Refused
from compat.execution.program import Run
from compat.migration.moved_plans import digest_of
from compat.migration.recipe import Recipe, RenameOperator
from compat.migration.spark_steps import moved_plan
from compat.transport import ServerError
from tests.compat.cluster.offline import submission
from tests.compat.service.running import OLD, RENUMBERED, plan

EMPTY = SituationSummary(
    runs=None, base=None, state=None, unclear="", stateless="", open=None, plan=None, registry=None
)
RUNS = msgspec.structs.replace(EMPTY, runs="old", base="old", plan=plan(*OLD))
STOPPED = msgspec.structs.replace(EMPTY, base="old", state="/savepoint", plan=plan(*OLD))


def summary(step: str = "deployed", fingerprint: str = "other") -> DeploymentSummary:
    """A deployment that has come to a step."""
    taken = [StepTaken(step="stopping", at=1, message=""), StepTaken(step=step, at=2, message="")]
    over = step not in ("stopping", "starting", "watching")
    given = {"id": "1", "job": "count", "program": "job.py", "message": "", "old": "old", "new": "new", "watch": 0.0}
    rest = {"savepoint": None, "version": None, "by": "me", "start_time": 0, "end_time": 1, "runs": "new"}
    return DeploymentSummary(**given, **rest, fingerprint=fingerprint, step=step, over=over, steps=taken)  # type: ignore[arg-type]


@dataclass
class FakeCluster:
    """Gives one situation after the other, and notes what is asked for."""

    situations: list[SituationSummary]
    step: str = "deployed"
    refuses: ServerError | None = None
    asked: list[DeploymentRequest] = field(default_factory=list)

    def situation(self, job: str, called: str) -> SituationSummary:
        return self.situations.pop(0)

    def deploy(self, id: str, request: DeploymentRequest) -> Begun:
        if self.refuses is not None:
            raise self.refuses
        self.asked.append(request)
        return Begun(None if request.dry_run else summary("stopping"), "")

    def deployment(self, id: str) -> DeploymentSummary:
        return summary(self.step)

    @property
    def begins_with(self) -> str | None:
        (request,) = self.asked
        return msgspec.msgpack.decode(request.submission, type=Submission).savepoint


@dataclass
class FakeGate:
    """A registry that notes what it is asked."""

    closed: str = ""
    told: list[str] = field(default_factory=list)

    def check(self, candidate: Candidate) -> str:
        self.told.append("check")
        return "It may."

    def register(self, candidate: Candidate, commit: str | None, author: str | None) -> int:
        self.told.append("register" + (" stateless" if candidate.stateless else ""))
        return 7

    def promote(self, job: str, number: int, recipe: Recipe | None = None) -> None:
        if self.closed:
            raise GateClosed(self.closed)
        self.told.append(f"promote {job}@{number}" + (" moved" if recipe is not None else ""))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Deploys with doubles; gives the result, and what was said."""
    program = tmp_path / "job.py"
    program.write_text("")

    def deployed(
        cluster: FakeCluster,
        new: Submission | None = None,
        gate: FakeGate | None = None,
        say: Callable[[str], None] = lambda text: None,
        **more: Any,
    ) -> Result:
        new = new or submission("count", plan=json.dumps(plan(*OLD)).encode())
        monkeypatch.setattr(deployment, "Cluster", lambda *_: cluster)
        monkeypatch.setattr(deployment, "built", lambda wanted: new)
        monkeypatch.setattr(deployment, "_fingerprint", lambda *_: "same")
        wanted = Wanted(job="count", run=Run(program=str(program), cluster="http://c"), watch=1.0, gate=gate, **more)  # type: ignore[arg-type]
        return deploy(wanted, say)

    return deployed


@pytest.mark.parametrize(
    ("situation", "given", "begins_with", "replaces"),
    [
        (RUNS, {}, None, "old"),
        (STOPPED, {}, "/savepoint", "old"),
        (STOPPED, {"savepoint": "/mine"}, "/mine", "old"),
        (STOPPED, {"fresh": True}, None, "old"),
        (EMPTY, {}, None, None),
    ],
    ids=["runs", "stopped", "from another", "fresh", "first"],
)
def test_the_new_version_begins_where_the_old_one_is(
    run: Any, situation: SituationSummary, given: dict[str, Any], begins_with: str | None, replaces: str | None
) -> None:
    cluster = FakeCluster([situation])
    assert run(cluster, submission("count", plan=json.dumps(plan(*OLD)).encode(), **given)).done
    assert (cluster.begins_with, cluster.asked[0].replaces, cluster.asked[0].watch) == (begins_with, replaces, 1.0)


def test_what_is_to_be_repaired_leads_to_the_rule_and_names_nothing_that_no_command_knows(run: Any) -> None:
    edited = submission("count", plan=json.dumps(plan(*RENUMBERED)).encode())
    with pytest.raises(Refused) as refused:
        run(FakeCluster([RUNS]), edited, command="compat deploy --job count job.py")
    assert refused.value.detail.splitlines()[-1] == "Next: compat rule CMP103"


@pytest.mark.parametrize(
    ("situation", "given", "said"),
    [
        (RUNS, {"savepoint": "/mine"}, "-s is for a job that does not run"),
        (RUNS, {"fresh": True}, "--fresh is for a job that does not run"),
        (msgspec.structs.replace(EMPTY, unclear="It was cancelled."), {}, "It was cancelled."),
        (RUNS, {"plan": json.dumps(plan(*RENUMBERED)).encode()}, r"cannot restore count \(job old\)"),
        (STOPPED, {"plan": json.dumps(plan(*RENUMBERED)).encode()}, r"cannot restore count \(job old\)"),
    ],
    ids=["from another", "fresh", "unclear", "incompatible", "incompatible with what was stopped"],
)
def test_what_is_refused_is_not_begun(run: Any, situation: SituationSummary, given: dict[str, Any], said: str) -> None:
    cluster, gate = FakeCluster([situation]), FakeGate()
    with pytest.raises(Refused, match=said):
        run(cluster, submission("count", **{"plan": json.dumps(plan(*OLD)).encode(), **given}), gate)
    assert (cluster.asked, gate.told) == ([], [])


NOW = {each["name"]: each["operator_id"] for each in plan(*RENUMBERED)["operators"]}
MOVING = Recipe(
    steps=tuple(
        RenameOperator(operator=each["operator_id"], to=NOW[each["name"]])
        for each in plan(*OLD)["operators"]
        if each["has_state"] and each["operator_id"] != NOW[each["name"]]
    )
)
"""Of operators whose generated ids moved."""


def test_what_a_recipe_makes_is_checked_and_its_digest_goes_along(run: Any) -> None:
    new = submission("count", plan=json.dumps(plan(*RENUMBERED)).encode(), recipe=MOVING)
    cluster, gate, said = FakeCluster([RUNS]), FakeGate(), list[str]()
    assert run(cluster, new, gate, say=said.append).done
    (request,) = cluster.asked
    sent = msgspec.msgpack.decode(request.submission, type=Submission)
    assert sent.recipe == MOVING
    assert sent.checked == digest_of(moved_plan(MOVING, plan(*OLD), plan(*RENUMBERED)))
    assert any(sent.checked in line for line in said)
    assert gate.told == ["register", "promote count@7 moved"]


def test_what_a_recipe_makes_is_refused_where_it_does_not_fit(run: Any) -> None:
    cluster = FakeCluster([RUNS])
    nobody = Recipe(steps=(RenameOperator(operator="nobody", to="x"),))
    with pytest.raises(Refused, match="has no operator 'nobody'"):
        run(cluster, submission("count", plan=json.dumps(plan(*RENUMBERED)).encode(), recipe=nobody))
    half = Recipe(steps=MOVING.steps[:1])
    cluster = FakeCluster([RUNS])
    with pytest.raises(Refused, match=r"cannot restore count \(job old\)"):
        run(cluster, submission("count", plan=json.dumps(plan(*RENUMBERED)).encode(), recipe=half))
    assert cluster.asked == []


@pytest.mark.parametrize(
    "given", [{}, {"savepoint": "/mine"}, {"fresh": True}], ids=["nothing", "from another", "fresh"]
)
def test_what_begins_without_state_says_so_unless_that_was_asked_for(run: Any, given: dict[str, Any]) -> None:
    situation = msgspec.structs.replace(EMPTY, stateless="This cluster knows no job called count")
    said: list[str] = []
    new = submission("count", plan=json.dumps(plan(*OLD)).encode(), **given)
    assert run(FakeCluster([situation]), new, say=said.append).done
    told = [text for text in said if "without state" in text]
    assert told == ([] if given else ["This cluster knows no job called count: count is to begin without state"])


def test_a_deployment_that_is_under_way_is_followed_or_waited_for(run: Any) -> None:
    same, other = (msgspec.structs.replace(RUNS, open=summary("watching", each)) for each in ("same", "other"))
    cluster = FakeCluster([same])
    assert run(cluster).done
    assert cluster.asked == []
    cluster = FakeCluster([other, RUNS])
    assert run(cluster).done
    assert len(cluster.asked) == 1


@pytest.mark.parametrize(
    ("situation", "step", "more", "told"),
    [
        (RUNS, "deployed", {}, ["register", "promote count@7"]),
        (EMPTY, "deployed", {}, ["register stateless", "promote count@7"]),
        (RUNS, "returned", {}, ["register"]),
        (RUNS, "deployed", {"dry_run": True}, ["check"]),
        (msgspec.structs.replace(RUNS, registry="http://r"), "deployed", {}, []),
    ],
    ids=["replaces", "first", "goes back", "only looks", "the cluster's own"],
)
def test_the_registry_is_asked_before_and_told_after(
    run: Any, situation: SituationSummary, step: str, more: dict[str, Any], told: list[str]
) -> None:
    gate = FakeGate()
    result = run(FakeCluster([situation], step), gate=gate, **more)
    assert (gate.told, result.done) == (told, step == "deployed")


def test_a_registry_that_is_not_told_is_no_success(run: Any) -> None:
    result = run(FakeCluster([RUNS]), gate=FakeGate(closed="It is away."))
    assert (result.done, result.unpromoted) == (False, "It is away.")
    assert result.deployment.runs == "new"


@pytest.mark.parametrize(("status", "error"), [(0, FollowingLost), (503, FollowingLost), (409, ServerError)])
def test_an_answer_that_is_lost_is_no_refusal(run: Any, status: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(FakeCluster([RUNS], refuses=ServerError("no answer", status)))
