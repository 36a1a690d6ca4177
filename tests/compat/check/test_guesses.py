"""Who may have taken over from an operator of which only a savepoint tells."""

from __future__ import annotations

from compat.check.guesses import guess_successors
from tests.compat.builders import operator, value_state

RECORDED = {"recorded": True}


def saved(name="operator 1a2b3c4d", *states, **more):
    return operator(name, states=tuple(map(value_state, states)), detail=RECORDED, **more)


def declared(name, *states, **more):
    return operator(name, uid=name, states=tuple(map(value_state, states)), **more)


def guess(lost, *fresh):
    return guess_successors([lost], fresh).get(lost.id)


def test_the_one_with_the_same_states():
    total, other = declared("total", "count", "seen"), declared("other", "limit")
    assert guess(saved("lost", "count"), total, other) is total


def test_the_only_one_of_its_sort():
    only = declared("only")
    assert guess(saved("lost"), only, declared("source", kind="source")) is only


def test_parallelism_decides_between_equals():
    two, four = declared("two", parallelism=2), declared("four", parallelism=4)
    assert guess(saved("lost", parallelism=4), two, four) is four


def test_two_that_fit_equally_well_are_no_guess():
    assert guess(saved("lost", "count"), declared("a", "count"), declared("b", "count")) is None


def test_states_without_any_in_common_contradict():
    assert guess(saved("lost", "count"), declared("only", "limit")) is None


def test_one_that_two_want_is_given_to_neither():
    a, b = saved("a", "count"), saved("b", "count")
    assert guess_successors([a, b], [declared("only", "count")]) == {}


def test_what_a_program_tells_is_not_guessed():
    assert guess(declared("lost", "count"), declared("only", "count")) is None


def test_among_very_many_there_is_no_guess():
    many = [declared(f"operator {number}", f"state {number}") for number in range(51)]
    assert guess(saved("lost", "state 7"), *many) is None
    assert guess(saved("lost", "state 7"), *many[:50]) is many[7]
