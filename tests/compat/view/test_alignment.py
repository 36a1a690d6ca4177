"""Which boxes stand beside each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.view.alignment import match_groups, match_operators, slots
from tests.compat.builders import hash_of, operator, program


def matched_names(old, new):
    return {old.operators[one].name: new.operators[other].name for one, other in match_operators(old, new).items()}


def test_operators_that_a_restore_pairs_are_matched_whatever_they_are_called():
    old = program("old", operator("Count", uid="count"))
    new = program("new", operator("Counting", uid="count"))
    assert matched_names(old, new) == {"Count": "Counting"}


def test_an_operator_whose_id_moved_is_matched_with_its_successor():
    old = program("old", operator("Count", id=hash_of("before")))
    new = program("new", operator("Other", kind="map", has_state=False), operator("Count", id=hash_of("after")))
    assert matched_names(old, new) == {"Count": "Count"}


def test_state_in_wrong_hands_matches_nothing():
    same = hash_of("same")
    old = program("old", operator("Count", id=same), operator("Total", id=hash_of("total")))
    new = program("new", operator("Total", id=same), operator("Count", id=hash_of("moved")))
    assert matched_names(old, new) == {"Count": "Count", "Total": "Total"}


def test_an_id_that_fell_to_another_kind_of_operator_matches_nothing():
    same = hash_of("same")
    old = program("old", operator("Map", id=same, kind="map", has_state=False, states=()))
    new = program("new", operator("Sink", id=same, kind="print", has_state=False, states=()))
    assert matched_names(old, new) == {}


def test_groups_are_matched_by_what_they_share():
    assert match_groups([[0, 1, 2], [3]], [[7], [5, 6, 8]], {0: 5, 1: 6, 2: 7, 3: 8}) == {0: 1}
    assert match_groups([[0], [1, 2]], [[5, 6], [7]], {0: 5, 1: 6, 2: 7}) == {0: 0, 1: 1}
    assert match_groups([[0]], [[5]], {}) == {}


@pytest.mark.parametrize(
    ("old", "new", "matched", "expected"),
    [
        ([], [], {}, []),
        ([0, 1], [], {}, [(0, None), (1, None)]),
        ([0, 1, 2], [5, 6], {0: 5, 2: 6}, [(0, 5), (1, None), (2, 6)]),
        ([0, 1], [5, 6, 7], {0: 5, 1: 7}, [(0, 5), (None, 6), (1, 7)]),
        ([0, 1], [5, 6], {0: 6, 1: 5}, [(1, 5), (0, 6)]),
        ([0, 1], [5], {0: 9, 1: 5}, [(0, None), (1, 5)]),
    ],
)
def test_slots(old, new, matched, expected):
    assert slots(old, new, matched) == expected


@given(
    st.permutations(range(8)), st.permutations(range(20, 28)), st.dictionaries(st.integers(0, 9), st.integers(18, 29))
)
def test_each_member_has_one_slot_and_partners_share_theirs(old, new, pairs):
    matched = {one: other for other, one in {other: one for one, other in pairs.items()}.items()}
    found = slots(old, new, matched)
    assert sorted(one for one, _ in found if one is not None) == sorted(old)
    assert [other for _, other in found if other is not None] == list(new)
    here = {one: other for one, other in matched.items() if one in old and other in new}
    assert {one: other for one, other in found if one is not None and other is not None} == here
