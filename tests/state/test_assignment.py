"""Which state goes to which operator of a program."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from compat.state.assignment import Assignable, Assignment, Claimant, Identity, Refusal, assign

HASH, ID, NAME = Identity.USER_HASH, Identity.GENERATED_ID, Identity.NAME


def recorded(id: str, *, state: bool = True, keyed: bool = True, most: int = 128, **more: Any) -> Assignable:
    """An operator of a snapshot."""
    return Assignable(id, state, keyed and state, most, **more)


def operator(id: str, user_hash: str | None = None, **more: Any) -> Claimant:
    """An operator of a program, in a task of its own unless told."""
    facts = {"task": id, "parallelism": 2, "max_parallelism": 128, "configured": False}
    return Claimant(id=id, user_hash=user_hash, **facts | more)


class Case(Struct, frozen=True):
    """Ids of a snapshot, operators of a program as (id, user hash), and what comes of them.

    ``handed`` has the operator's id, the state's and the identity.
    """

    name: str
    old: str
    new: list[tuple[str, str | None]]
    handed: set[tuple[str, str, Identity]]
    lost: str = ""
    empty: str = ""
    passed_over: str = ""
    contested: dict[str, str] = field(default_factory=dict)


CASES = [
    Case("the same ids", "ab", [("a", None), ("b", None)], {("a", "a", ID), ("b", "b", ID)}),
    Case("an id moved", "a", [("x", None)], set(), lost="a", empty="x"),
    Case("the user hash brings it back", "a", [("x", "a")], {("x", "a", HASH)}),
    Case("a user hash that nothing is recorded under", "a", [("a", "x")], {("a", "a", ID)}),
    Case("a user hash that is the own id", "a", [("a", "a")], {("a", "a", HASH)}),
    Case("the user hash comes first", "ab", [("a", "b")], {("a", "b", HASH)}, passed_over="a"),
    Case("two operators exchanged", "ab", [("a", "b"), ("b", "a")], {("a", "b", HASH), ("b", "a", HASH)}),
    Case("one with the id, one with the hash", "a", [("a", None), ("x", "a")], {("a", "a", ID)}, empty="x",
         contested={"a": "ax"}),
    Case("the other one first", "a", [("x", "a"), ("a", None)], {("x", "a", HASH)}, empty="a", contested={"a": "xa"}),
    Case("one user hash twice", "a", [("x", "a"), ("y", "a")], {("x", "a", HASH)}, empty="y", contested={"a": "xy"}),
    Case("who loses goes by its own id", "ab", [("x", "a"), ("b", "a")], {("x", "a", HASH), ("b", "b", ID)},
         passed_over="b", contested={"a": "xb"}),
    Case("who may lose may take from a third", "abc", [("x", "a"), ("b", "a"), ("y", "b"), ("c", None)],
         {("x", "a", HASH), ("b", "b", ID), ("c", "c", ID)}, empty="y", contested={"a": "xb", "b": "by"}),
    Case("a loser whose own state nobody else wants is no end of it", "abx", [("x", "a"), ("b", "a"), ("y", "b")],
         {("x", "a", HASH), ("b", "b", ID)}, empty="y", passed_over="x", contested={"a": "xb", "b": "by"}),
    Case("a round of displacements ends where it began", "bc", [("x", "b"), ("c", "b"), ("b", "c")],
         {("x", "b", HASH), ("c", "c", ID)}, empty="b", contested={"b": "xc", "c": "cb"}),
    Case("operators come and go", "ab", [("b", None), ("c", None)], {("b", "b", ID)}, lost="a", empty="c"),
    Case("nothing is recorded", "", [("a", "b")], set(), empty="a"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_assignment(case: Case) -> None:
    operators = [operator(*each) for each in case.new]
    found = assign(map(recorded, case.old), operators)

    assert {(claim.claimant.id, claim.recorded.id, claim.identity) for claim in found.handed} == case.handed
    assert [each.id for each in found.lost] == list(case.lost)
    assert [operators[place].id for place in found.starting_empty] == list(case.empty)
    assert [claim.recorded.id for claim in found.passed_over] == list(case.passed_over)
    claimed = {id: "".join(claim.claimant.id for claim in claims) for id, claims in found.contested.items()}
    assert claimed == case.contested


def test_only_state_is_lost() -> None:
    found = assign([recorded("a", state=False), recorded("b")], [])
    assert [each.id for each in found.unmatched] == ["a", "b"]
    assert [each.id for each in found.lost] == ["b"]


def test_an_operator_without_state_under_the_user_hash_still_comes_first() -> None:
    """Flink looks whether anything is recorded under the user hash, not whether it holds anything."""
    found = assign([recorded("a"), recorded("b", state=False)], [operator("a", "b")])
    assert [claim.recorded.id for claim in found.handed] == ["b"]
    assert [claim.recorded.id for claim in found.passed_over] == ["a"]


# Sources that Flink reads anew


def replayed(id: str, name: str) -> Assignable:
    return recorded(id, state=False, replayed=name)


@pytest.mark.parametrize(
    ("old", "new", "handed"),
    [
        ([replayed("a", "s")], [operator("a", replays="s")], [("a", "a", ID)]),
        ([replayed("a", "s")], [operator("x", replays="s")], [("x", "a", NAME)]),
        ([replayed("a", "s")], [operator("x", replays="t")], []),
        ([replayed("a", "s")], [operator("a")], []),
        ([replayed("a", "s")], [operator("x", "a"), operator("y", replays="s")], [("y", "a", NAME)]),
        ([replayed("a", "s")], [operator("x", "a"), operator("a", replays="t")], [("a", "a", ID)]),
        ([replayed("a", "s"), replayed("b", "s")], [operator("x", replays="s"), operator("y", replays="s")],
         [("x", "a", NAME), ("y", "b", NAME)]),
    ],
    ids=["its id", "its name", "another name", "another operator", "another's user hash", "its id after another",
         "two of one name"],
)  # fmt: skip
def test_positions_of_replayed_sources(
    old: list[Assignable], new: list[Claimant], handed: list[tuple[str, str, Identity]]
) -> None:
    found = assign(old, new)
    assert [(claim.claimant.id, claim.recorded.id, claim.identity) for claim in found.handed] == handed
    assert found.lost == ()


# Max parallelism


def settled(old: list[Assignable], new: list[Claimant]) -> tuple[dict[Any, int], list[tuple[str, Refusal, int]]]:
    found = assign(old, new).max_parallelism
    return dict(found.adopted), [
        (problem.claim.claimant.id, problem.refusal, problem.needed) for problem in found.problems
    ]


@pytest.mark.parametrize(
    ("old", "new", "adopted", "problems"),
    [
        (recorded("a", most=128), operator("a", max_parallelism=256), {"a": 128}, []),
        (recorded("a", most=128), operator("a", max_parallelism=256, configured=True), {},
         [("a", Refusal.CONFIGURED, 256)]),
        (recorded("a", most=128), operator("a", configured=True), {}, []),
        (recorded("a", most=128, state=False), operator("a", max_parallelism=256, configured=True), {},
         [("a", Refusal.CONFIGURED, 256)]),
        (recorded("a", most=128), operator("a", parallelism=128, max_parallelism=256), {"a": 128}, []),
        (recorded("a", most=128), operator("a", parallelism=129, max_parallelism=256), {"a": 128},
         [("a", Refusal.BELOW_PARALLELISM, 129)]),
        (recorded("a", most=128, state=False), operator("a", parallelism=129, max_parallelism=256), {}, []),
        (recorded("a", most=128), operator("a", parallelism=129, max_parallelism=128, configured=True), {},
         [("a", Refusal.BELOW_PARALLELISM, 129)]),
    ],
    ids=["derived", "set to another", "set to the same", "set, without state", "as many subtasks", "more subtasks",
         "more subtasks, without state", "more subtasks, set to the same"],
)  # fmt: skip
def test_max_parallelism(
    old: Assignable, new: Claimant, adopted: dict[str, int], problems: list[tuple[str, Refusal, int]]
) -> None:
    assert settled([old], [new]) == (adopted, problems)


def test_what_is_passed_over_has_to_fit_a_max_parallelism_that_is_set() -> None:
    new = operator("a", "b", max_parallelism=64, configured=True)
    assert settled([recorded("a", most=128), recorded("b", most=64)], [new]) == ({}, [("a", Refusal.CONFIGURED, 64)])


def test_an_operator_that_sets_none_does_not_hide_one_that_does() -> None:
    old = [recorded("a"), recorded("b"), recorded("c"), recorded("d", most=64)]
    assert settled(old, [operator("a", "b"), operator("c", "d", max_parallelism=64, configured=True)])[1] == [
        ("c", Refusal.CONFIGURED, 64)
    ]


def test_an_operator_that_falls_back_takes_over_the_max_parallelism_of_its_own_state() -> None:
    old = [recorded("a", most=128), recorded("b", most=64)]
    assert settled(old, [operator("x", "a"), operator("b", "a")])[1] == [("b", Refusal.MIXED, 128)]
    assert settled(old, [operator("x", "a"), operator("b", "a", max_parallelism=128, configured=True)])[1] == [
        ("b", Refusal.CONFIGURED, 128)
    ]


def test_a_source_found_by_its_name_is_not_held_to_a_max_parallelism() -> None:
    new = operator("x", replays="s", max_parallelism=64, configured=True)
    assert settled([replayed("a", "s")], [new]) == ({}, [])


@pytest.mark.parametrize(
    ("first", "second", "adopted", "mixed"),
    [
        (recorded("a", most=64), recorded("b", most=64), 64, []),
        (recorded("a", most=64), recorded("b", most=128), 64, ["b"]),
        (recorded("a", most=64, state=False), recorded("b", most=128), 128, ["a"]),
        (recorded("a", most=64, keyed=False), recorded("b", most=128), 128, ["a"]),
        (recorded("a", most=64, keyed=False), recorded("b", most=128, keyed=False), 64, []),
        (recorded("a", most=64, state=False), recorded("b", most=128, state=False), None, []),
    ],
    ids=["one", "both keyed", "without state", "operator state", "nothing keyed", "nothing at all"],
)
def test_operators_of_one_task(first: Assignable, second: Assignable, adopted: int | None, mixed: list[str]) -> None:
    tasks, problems = settled([first, second], [operator("a", task="t"), operator("b", task="t")])
    assert tasks == ({} if adopted is None else {"t": adopted})
    assert [id for id, refusal, _ in problems if refusal is Refusal.MIXED] == mixed


# Laws

IDS = "abcde"
SNAPSHOTS = st.lists(st.sampled_from(IDS), unique=True, max_size=5)
PROGRAMS = st.lists(
    st.tuples(st.sampled_from(IDS), st.none() | st.sampled_from(IDS)), unique_by=lambda each: each[0], max_size=4
)


def as_flink_does(old: list[str], new: list[tuple[str, str | None]]) -> dict[str, str]:
    """The loop of ``StateAssignmentOperation.assignStates``: the state of each operator."""
    left = set(old)
    got = {}
    for id, user_hash in new:
        wanted = user_hash if user_hash in left and user_hash is not None else id
        if wanted in left:
            left.remove(wanted)
            got[id] = wanted
    return got


def handed(found: Assignment) -> dict[str, str]:
    return {claim.claimant.id: claim.recorded.id for claim in found.handed}


@given(old=SNAPSHOTS, new=PROGRAMS)
def test_it_is_what_flink_does(old: list[str], new: list[tuple[str, str | None]]) -> None:
    found = assign(map(recorded, old), [operator(*each) for each in new])

    assert handed(found) == as_flink_does(old, new)
    assert len({claim.recorded.id for claim in found.handed}) == len(found.handed)
    ids = {id for each in new for id in each}
    assert {each.id for each in found.lost} == set(old) - ids


@given(old=SNAPSHOTS, new=PROGRAMS)
def test_contested_is_what_the_order_of_tasks_decides(old: list[str], new: list[tuple[str, str | None]]) -> None:
    found = assign(map(recorded, old), [operator(*each) for each in new])
    takers: dict[str, set[str]] = {id: set() for id in old}
    for order in permutations(new):
        for taker, state in as_flink_does(old, list(order)).items():
            takers[state].add(taker)

    contested = {id: {claim.claimant.id for claim in claims} for id, claims in found.contested.items()}
    assert contested == {state: those for state, those in takers.items() if len(those) > 1}


@given(old=SNAPSHOTS, new=PROGRAMS, data=st.data())
def test_neither_the_order_of_the_snapshot_nor_that_of_operators_without_rivals_matters(
    old: list[str], new: list[tuple[str, str | None]], data: st.DataObject
) -> None:
    found = assign(map(recorded, old), [operator(*each) for each in new])
    shuffled = assign(map(recorded, data.draw(st.permutations(old))), [operator(*each) for each in new])
    reordered = assign(map(recorded, old), [operator(*each) for each in data.draw(st.permutations(new))])

    assert handed(shuffled) == handed(found)
    assert shuffled.contested == found.contested
    assert {each.id for each in shuffled.lost} == {each.id for each in reordered.lost} == {e.id for e in found.lost}
    assert reordered.contested.keys() == found.contested.keys()
    if not found.contested:
        assert handed(reordered) == handed(found)
