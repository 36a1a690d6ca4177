"""What stands in the states of queries, and whether a recipe wrote all of it so that it means the same."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compat.check.context import Rewritten
from compat.check.sql.contents import Part, Start, Uncounted, View, rows_in, sums_in, values_of, view_of, views_in
from compat.state.model.operators import Operator
from compat.state.model.states import StateKind
from tests.compat.builders import operator, value_state

SUMS = Part(
    state="accState",
    same=(frozenset({1}), frozenset({0}), frozenset()),
    start=(Start.NULL, Start.NULL, Start.ZERO),
    was=("MAX(v)", "SUM(v)"),
    now=("SUM(v)", "MAX(v)", "COUNT(*)"),
    views=(View(0, "map"),),
)
MOVED = {"accState": Rewritten("accState", (1, 0, None)), "agg1$map": Rewritten("agg0$map")}
AFTER = replace(SUMS, views=(View(1, "map"),))
"""As the result is compared, whose states have their new names."""

SUMS_OF_DISTINCT = Part(
    state="accState",
    same=(frozenset({1}), frozenset({3})),
    start=(Start.ZERO, Start.NULL),
    was=("COUNT(DISTINCT a)", "COUNT(DISTINCT b)", "the values of DISTINCT a", "the values of DISTINCT b"),
    now=("COUNT(DISTINCT b)", "the values of DISTINCT b"),
    needed=(View(values_of(0), ""),),
    was_calls=(0, 1, values_of(0), values_of(1)),
    now_calls=(0, values_of(0)),
)
"""Of two aggregates the second one stays."""


def keeping(*names: str) -> Operator:
    return operator("Keep", states=tuple(value_state(name) for name in names))


def test_the_places_of_what_stays_and_of_what_begins() -> None:
    assert SUMS.places == (1, 0, None)
    assert SUMS.renamed == {"agg0$map": "agg1$map"}
    assert replace(SUMS, same=(frozenset({1}),), start=(Start.NULL,)).renamed == {"agg0$map": None}


def test_what_cannot_begin_does_not_move() -> None:
    assert SUMS.can_move
    untold = replace(SUMS, start=(Start.UNTOLD,) * 3)
    assert not untold.can_move
    assert not replace(untold, views=AFTER.views).is_settled(MOVED)
    assert replace(untold, same=SUMS.same[:2], start=untold.start[:2]).can_move


@pytest.mark.parametrize(
    ("rewritten", "settled"),
    [
        (MOVED, True),
        ({**MOVED, "accState": Rewritten("accState", (0, 1, None))}, False),
        ({**MOVED, "accState": Rewritten("accState", (1, 0))}, False),
        ({**MOVED, "accState": Rewritten("accState", None)}, False),
        ({**MOVED, "accState": Rewritten("other", (1, 0, None))}, False),
        ({"accState": MOVED["accState"]}, False),
        ({**MOVED, "agg1$map": Rewritten("agg2$map")}, False),
        ({**MOVED, "agg1$map": Rewritten("agg0$list")}, False),
        ({}, False),
    ],
)
def test_what_a_recipe_wrote_is_settled_where_all_of_it_is_the_same(
    rewritten: dict[str, Rewritten], settled: bool
) -> None:
    assert AFTER.is_settled(rewritten) is settled


def test_a_state_that_stayed_as_it_was_is_settled_where_that_is_the_same() -> None:
    rows = Part("left", (frozenset({0}), frozenset({1})), (Start.NULL,) * 2, ("a", "b"), ("a", "b"), of_rows=True)
    assert rows.is_settled({})
    assert not replace(rows, same=rows.same[::-1]).is_settled({})


@pytest.mark.parametrize(
    ("names", "side", "rows", "sums"),
    [
        (("anything",), "", ("anything",), None),
        (("accState",), "", (), "accState"),
        (("window-aggs", "session-window-mapping"), "", (), "window-aggs"),
        (("accState", "inputState", "cleanupTsState"), "", ("inputState",), "accState"),
        (("accState", "distinctAcc_0", "distinctAcc_0_null_state", "agg2$map"), "", (), "accState"),
        (("accState", "something-new"), "", None, None),
        (("left-records", "right-records"), "left", ("left-records",), None),
        (("IntervalJoinLeftCache", "IntervalJoinRightCache"), "right", ("IntervalJoinRightCache",), None),
        (("data-state", "sorted-map"), "", ("data-state",), None),
    ],
)
def test_states_are_known_by_their_names(
    names: tuple[str, ...], side: str, rows: tuple[str, ...] | None, sums: str | None
) -> None:
    assert (rows_in(keeping(*names), side), sums_in(keeping(*names))) == (rows, sums)


def test_views_have_the_place_of_their_aggregate_in_their_name() -> None:
    assert views_in(keeping("accState", "agg12$map")) == (View(12, "map"),)
    assert view_of("agg12$map") == View(12, "map")
    assert (view_of("accState"), View(3, "list").name) == (None, "agg3$list")


def test_values_of_distinct_are_views_with_numbers_of_their_own() -> None:
    names = ("distinctAcc_0", "distinctAcc_1", "distinctAcc_1_null_state")
    found = views_in(keeping("accState", *names))
    assert found == (View(values_of(0), ""), View(values_of(1), ""), View(values_of(1), "_null_state"))
    assert tuple(view.name for view in found) == names
    assert replace(SUMS_OF_DISTINCT, views=found).renamed == {
        names[0]: None,
        names[1]: names[0],
        names[2]: "distinctAcc_0_null_state",
    }


def test_values_of_distinct_stay_where_what_counts_them_goes_on_alone() -> None:
    places = {"accState": Rewritten("accState", (1, 3)), "distinctAcc_0": Rewritten("distinctAcc_1")}
    after = replace(SUMS_OF_DISTINCT, views=(View(values_of(0), ""),))
    assert after.is_settled(places)
    assert not after.is_settled({**places, "distinctAcc_0": Rewritten("distinctAcc_0")})
    assert not replace(after, views=()).is_settled(places)
    assert not after.is_settled({**places, "accState": Rewritten("accState", (None, None))})
    assert replace(after, views=()).is_settled({"accState": Rewritten("accState", (None, None))})


def test_timers_are_no_state_beside_the_only_one() -> None:
    timers = replace(value_state("_timer_state/event_user-timers"), kind=StateKind.TIMERS)
    one = keeping("deduplicate-state")
    assert rows_in(replace(one, states=(*(one.states or ()), timers))) == ("deduplicate-state",)


AVERAGE = Part(
    state="accState",
    same=(frozenset({0}), frozenset(), frozenset({1})),
    start=(Start.ZERO, Start.ZERO, Start.NULL),
    was=("COUNT(v)", "MAX(v)"),
    now=("COUNT(v)", "SUM0(v)", "MAX(v)"),
    together=(frozenset({0, 1}),),
)
"""A sum that one result is made of together with a count that is there."""


def test_what_a_result_is_made_of_begins_together() -> None:
    assert AVERAGE.places == (None, None, 1)
    assert AVERAGE.is_settled({"accState": Rewritten("accState", (None, None, 1))})
    assert not AVERAGE.is_settled({"accState": Rewritten("accState", (0, None, 1))})


def test_what_no_result_is_made_of_goes_on_alone() -> None:
    alone = replace(AVERAGE, together=(frozenset({0, 2}),))
    assert alone.places == (0, None, 1)
    assert alone.is_settled({"accState": Rewritten("accState", (0, None, 1))})


def test_what_would_have_to_begin_with_others_and_cannot_does_not_move() -> None:
    assert not replace(AVERAGE, start=(Start.UNTOLD, Start.ZERO, Start.NULL)).can_move


def test_what_is_zero_without_values_is_filled() -> None:
    sum0 = Part("accState", (frozenset({0}),), (Start.ZERO,), ("SUM(v)",), ("SUM0(v)",), filled=frozenset({0}))
    assert sum0.is_settled({"accState": Rewritten("accState", (0,), frozenset({0}))})
    assert sum0.is_settled({"accState": Rewritten("accState", (None,))})
    assert not sum0.is_settled({"accState": Rewritten("accState", (0,))})
    assert not sum0.is_settled({})


def test_a_view_belongs_to_an_aggregate_whatever_fields_are_before_it() -> None:
    """AVG has two fields: MAX is the second aggregate, and its field the third one."""
    part = Part(
        state="accState",
        same=(frozenset({2}), frozenset({0}), frozenset({1})),
        start=(Start.UNTOLD,) * 3,
        was=("AVG(n)", "AVG(n)", "MAX(s)"),
        now=("MAX(s)", "AVG(n)", "AVG(n)"),
        views=(View(1, "map"),),
        was_calls=(0, 0, 1),
        now_calls=(0, 1, 1),
    )
    assert part.renamed == {"agg1$map": "agg0$map"}
    after = replace(part, views=(View(0, "map"),))
    moved = {"accState": Rewritten("accState", (2, 0, 1))}
    assert after.is_settled({**moved, "agg0$map": Rewritten("agg1$map")})
    assert not after.is_settled(moved)
    gone = replace(after, views=(), needed=(View(0, "map"),))
    assert not gone.is_settled(moved)
    assert replace(gone, needed=()).is_settled(moved)
    anew = replace(gone, start=(Start.NULL,) * 3)
    assert anew.is_settled({"accState": Rewritten("accState", (None, 0, 1))})


def test_a_join_that_counts_no_partners_keeps_what_was_counted() -> None:
    counts = Uncounted("left-records")
    assert counts.can_move
    assert counts.is_settled({"left-records": Rewritten("left-records", (0, 1), single="f0")})
    assert not counts.is_settled({"left-records": Rewritten("left-records", (0, 1), single="f1")})
    assert not counts.is_settled({})
