"""A plan whose ids do not follow from its own graph is found, whatever was changed in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.plan.own_ids import disagreement
from compat.plan.reading import from_plain, read
from compat.state.model.job import Plan
from tests.compat.service.running import plan

KEPT = [path for number in (1, 2) for path in sorted((Path(__file__).parent / f"format_{number}").glob("*.json"))]
JOB, OTHER = (from_plain(plan(*names)) for names in (("count", "sum"), ("first", "count", "sum")))
NAMED = from_plain(plan("count", "sum", uids=True))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_plans_that_were_really_made_agree(path: Path) -> None:
    kept = read(path.read_bytes())
    if isinstance(kept, Plan):
        assert disagreement(kept) is None


def in_a_circle() -> Plan:
    """Two nodes with uids that feed each other, and one behind them that hands back its thread: its chain has no head."""
    given = NAMED.stream_graph
    nodes = {node.id: node for node in given.nodes}
    edge = next(one for one in given.edges if one.chainable)
    first, second = nodes[edge.source], nodes[edge.target]
    behind = replace(second, id=99, uid=None, yielding=True, inputs=(2,), outputs=())
    between = replace(second, id=98, uid=None, inputs=(3,), outputs=(2,))
    return replace(
        NAMED,
        stream_graph=replace(
            given,
            sources=(first.id,),
            nodes=(
                replace(first, uid="a", inputs=(1,), outputs=(0,)),
                replace(second, uid="b", inputs=(0,), outputs=(1, 3)),
                between,
                behind,
            ),
            edges=(
                edge,
                replace(edge, source=second.id, target=first.id),
                replace(edge, source=98, target=99),
                replace(edge, source=second.id, target=98),
            ),
        ),
    )


def test_a_graph_that_runs_in_a_circle_is_refused_at_once() -> None:
    assert "circle" in (disagreement(in_a_circle()) or "")


def with_operator(made: Plan, **to: object) -> Plan:
    first, *rest = made.operators
    return replace(made, operators=(replace(first, **to), *rest))


@pytest.mark.parametrize(
    ("forge", "says"),
    [
        (lambda job, other: replace(job, operators=other.operators), "is not the one of its stream graph"),
        (lambda job, other: replace(job, stream_graph=other.stream_graph), "does not follow"),
        (lambda job, other: replace(job, job_graph=other.job_graph), "job graph"),
        (lambda job, other: replace(job, hashes=other.hashes), "does not follow"),
        (lambda job, other: replace(job, hashes={**job.hashes, "99": "f" * 32}), "has ids of operators"),
        (lambda job, other: replace(job, operators=job.operators[1:]), "job graph"),
        (lambda job, other: with_operator(job, id="f" * 32), "is not the one"),
        (lambda job, other: with_operator(job, uid="another"), "is not the one"),
        (lambda job, other: with_operator(job, user_hash="f" * 32), "is not the one"),
        (lambda job, other: with_operator(job, node=99), "is not the one"),
        (lambda job, other: replace(job, otherwise=with_operator(job, id="f" * 32)), "is not the one"),
        (
            lambda job, other: replace(job, stream_graph=replace(job.stream_graph, edges=job.stream_graph.edges[:1])),
            "No operator ids follow",
        ),
    ],
)
@pytest.mark.parametrize("job", [JOB, NAMED], ids=["generated", "named"])
def test_what_was_made_by_hand_is_found(job: Plan, forge: Callable[[Plan, Plan], Plan], says: str) -> None:
    assert disagreement(job) is None
    assert says in (disagreement(forge(job, OTHER)) or "")
