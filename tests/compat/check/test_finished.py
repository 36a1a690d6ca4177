"""Finished operators: the table of Flink's `VertexFinishedStateChecker`, case by case."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.check.findings import Level
from compat.plan.facts import Vertex
from compat.state.model.connectors import FileSource
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


def again(old, new, *chains):
    """What is said of sources that are read again."""
    found = check(program("savepoint", *old, kind="savepoint"), program("new.py", *new, vertices=chains)).findings
    return [(finding.level, finding.new.name) for finding in found if finding.rule == "CMP206"]


def source(name, uid, **given):
    return operator(f"Source: {name}", uid=uid, kind="source", has_state=False, states=(), **given)


def test_a_source_that_finished_under_another_id_is_read_again():
    old, same = source("history", "a", detail={"finished": FULLY}), source("history", "a")
    moved, other = source("history", "b"), source("present", "b")
    assert again([old], [moved]) == [(Level.ERROR, "Source: history")]
    assert again([old], [same]) == []
    assert again([old], [same, source("history", "b")]) == [], "the old one is there, too"
    assert again([old], [other]) == [], "another one"
    assert again([source("history", "a", detail={"finished": PARTLY})], [moved]) == [], "its splits are recorded"
    assert again([source("history", "a")], [moved]) == [], "it had not finished"


def test_sources_without_a_name_of_their_own_may_be_others():
    name = "Collection Source"
    assert again([source(name, "a", detail={"finished": FULLY})], [source(name, "b")]) == [
        (Level.UNKNOWN, f"Source: {name}")
    ]


FILES, MORE = (FileSource(paths=("in",), looks_for_more=more) for more in (False, True))


@pytest.mark.parametrize(
    ("finished", "now", "rules"),
    [
        (FULLY, MORE, {"CMP207"}),
        (FULLY, FILES, set()),
        (PARTLY, MORE, {"CMP809"}),
        (None, MORE, {"CMP809"}),
    ],
)
def test_a_source_that_finished_does_not_run_again_without_an_end(finished, now, rules):
    detail = {} if finished is None else {"finished": finished}
    files = {"name": "files", "uid": "a", "kind": "source", "states": ()}
    old = operator(**files, detail=detail, connector=FILES, has_state=finished is not FULLY)
    new = operator(**files, connector=now)
    found = check(program("savepoint", old, kind="savepoint"), program("new.py", new)).findings
    assert {finding.rule for finding in found if finding.level is Level.ERROR} == rules


def test_what_flink_refuses_is_not_said_to_be_read_again():
    behind = operator("behind", uid="behind", detail={"finished": FULLY}, has_state=False)
    chains = (
        Vertex(id="c", name="c", operators=(hash_of("b"), hash_of("behind")), parallelism=1, max_parallelism=128),
    )
    old, new = (
        [source("history", "a", detail={"finished": FULLY}), behind],
        [source("history", "b", vertex="c"), behind],
    )
    assert again(old, new, *chains) == []


def ends(name, *, bounded=True, kind="source", **given):
    return operator(name, uid=name, kind=kind, states=(), detail={"bounded": bounded} if bounded else {}, **given)


def behind(name, *inputs, **given):
    return operator(name, uid=name, has_state=False, states=(), inputs=tuple(map(hash_of, inputs)), **given)


def to_come(old, new, *chains, old_chains=()):
    """The levels at which two programs are told that Flink may refuse the restore."""
    found = check(program("old.py", *old, vertices=old_chains), program("new.py", *new, vertices=chains)).findings
    return [finding.level for finding in found if finding.rule == "CMP204"]


A, B, OF_A, OF_B, OF_BOTH, NEW_ONE = (
    ends("a"),
    ends("b"),
    behind("x", "a"),
    behind("y", "b"),
    behind("z", "x", "y"),
    "new",
)
ALL = (A, B, OF_A, OF_B, OF_BOTH)


def test_where_all_sources_end_one_may_end_before_another():
    put_in = (*ALL, behind(NEW_ONE, "a"))
    assert to_come(ALL, put_in, chain("a", "a", NEW_ONE, "x")) == [Level.WARNING]
    assert to_come(ALL, put_in, chain("both", "z", NEW_ONE)) == [], "nothing runs behind all of them"
    assert to_come(ALL, ALL, chain("all", "x", "y")) == [Level.WARNING], "of two sources in one chain"
    assert to_come(ALL, put_in, chain("a", "a", "x"), chain("new", NEW_ONE, reads=[("a", POINTWISE)])) == []
    turned = (chain("a", "a"), chain("new", NEW_ONE), chain("x", "x", reads=[("new", POINTWISE)]))
    assert to_come(ALL, put_in, *turned) == [Level.WARNING], "in front of one that has finished"


def test_beside_a_source_without_end_it_is_more_than_a_warning():
    endless = ends("b", bounded=False)
    old = (A, endless, OF_A, OF_B, OF_BOTH)
    assert to_come(old, (*old, behind(NEW_ONE, "a")), chain("a", "a", NEW_ONE, "x")) == [Level.UNKNOWN]
    assert to_come(old, (*old, behind(NEW_ONE, "b")), chain("b", "b", NEW_ONE, "y")) == []


def test_one_source_alone_ends_with_its_job_but_for_subtasks_that_find_nothing_to_read():
    old, put_in = (A, OF_A), (A, OF_A, behind(NEW_ONE, "a"))
    new_chain = chain("a", "a", NEW_ONE, "x")
    assert to_come(old, put_in, new_chain) == []
    many = [ends("a", vertex=hash_of("chain a")), OF_A]
    assert to_come(many, put_in, new_chain, old_chains=(chain("a", "a", "x"),)) == [Level.WARNING]


def test_chains_stand_in_any_order():
    """What follows a source subtask by subtask ends with them, however far behind it, and may be put into its chain."""
    many = [ends("a", vertex=hash_of("chain a")), OF_A, behind("y", "x")]
    apart = (chain("a", "a"), chain("x", "x", reads=[("a", POINTWISE)]), chain("y", "y", reads=[("x", POINTWISE)]))
    for chains in (apart, apart[::-1]):
        assert to_come(many, many, chain("a", "a", "x", "y"), old_chains=chains) == []


def test_what_the_loss_of_a_source_says_is_not_said_twice():
    moved = operator("a", uid="another", kind="source", states=(), detail={"bounded": True}, has_state=True)
    old = (operator("a", uid="a", kind="source", states=(), detail={"bounded": True}, has_state=True), *ALL[1:])
    found = check(
        program("old.py", *old), program("new.py", moved, *ALL[1:], vertices=(chain("a", "another", "x"),))
    ).findings
    assert {"CMP101", "CMP102"} & {finding.rule for finding in found}
    assert "CMP204" not in {finding.rule for finding in found}
