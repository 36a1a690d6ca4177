"""Finished operators: the table of Flink's `VertexFinishedStateChecker`, case by case."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.check.findings import Level
from compat.plan.facts import Vertex
from tests.compat.builders import hash_of, operator, program

RUNNING, PARTLY, FULLY = None, "partly", "fully"
ALL_TO_ALL, POINTWISE = False, True


def chain(name, *members, reads=()):
    """A chain of operators, the head first, and the chains that it reads: name and whether pointwise."""
    return Vertex(
        id=hash_of(f"chain {name}"),
        name=name,
        operators=tuple(hash_of(member) for member in members),
        parallelism=2,
        max_parallelism=128,
        inputs=tuple((hash_of(f"chain {other}"), pointwise) for other, pointwise in reads),
    )


def recorded(name, finished):
    return operator(name, uid=name, detail={"finished": finished} if finished else {}, has_state=finished is not FULLY)


def refused(olds, news, *chains):
    old = program("savepoint", *(recorded(name, finished) for name, finished in olds.items()))
    new = program("new.py", *(operator(name, uid=name) for name in news), vertices=chains)
    return {finding.rule for finding in check(old, new).findings if finding.level is Level.ERROR} & {"CMP204"} != set()


@pytest.mark.parametrize(
    ("upstream", "downstream", "pointwise", "is_refused"),
    [
        (FULLY, FULLY, ALL_TO_ALL, False),
        (PARTLY, FULLY, POINTWISE, True),
        (RUNNING, FULLY, POINTWISE, True),
        (FULLY, PARTLY, ALL_TO_ALL, False),
        (PARTLY, PARTLY, POINTWISE, False),
        (PARTLY, PARTLY, ALL_TO_ALL, True),
        (RUNNING, PARTLY, POINTWISE, True),
        (RUNNING, PARTLY, ALL_TO_ALL, True),
        (FULLY, RUNNING, ALL_TO_ALL, False),
        (PARTLY, RUNNING, POINTWISE, False),
    ],
)
def test_what_feeds_a_finished_operator_is_finished(upstream, downstream, pointwise, is_refused):
    chains = (chain("a", "a"), chain("b", "b", reads=[("a", pointwise)]))
    # Of the two, one has to be finished at all, or there is nothing to look at.
    assert refused({"a": upstream, "b": downstream}, ("a", "b"), *chains) == is_refused


@pytest.mark.parametrize(
    ("head", "tail", "is_refused"),
    [
        (FULLY, FULLY, False),
        (PARTLY, PARTLY, False),
        (FULLY, RUNNING, True),
        (PARTLY, FULLY, True),
        (RUNNING, PARTLY, True),
    ],
)
def test_operators_of_a_chain_finish_together(head, tail, is_refused):
    assert refused({"a": head, "b": tail}, ("a", "b"), chain("ab", "a", "b")) == is_refused


def test_a_new_operator_counts_as_running():
    assert refused({"a": FULLY}, ("a", "new"), chain("a", "a", "new"))
    assert refused({"a": FULLY}, ("new", "a"), chain("new", "new"), chain("a", "a", reads=[("new", POINTWISE)]))
    assert not refused({"a": FULLY}, ("a", "new"), chain("a", "a"), chain("new", "new", reads=[("a", POINTWISE)]))


def test_both_ways_from_one_chain_to_another_the_stricter_counts():
    chains = (chain("a", "a"), chain("b", "b", reads=[("a", POINTWISE), ("a", ALL_TO_ALL)]))
    assert refused({"a": PARTLY, "b": PARTLY}, ("a", "b"), *chains)


def test_a_loop_ends():
    loop = (chain("a", "a", reads=[("b", POINTWISE)]), chain("b", "b", reads=[("a", POINTWISE)]))
    assert not refused({"a": FULLY, "b": FULLY}, ("a", "b"), *loop)
