"""What stands in the states of a query's operators, one thing beside the other, and where NEW has the same.

Names of states are those of Flink's operators (``org.apache.flink.table.runtime.operators``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeVar

from msgspec import Struct

from compat.check.context import Rewritten
from compat.state.model.operators import Operator
from compat.state.model.states import StateKind


class Start(Enum):
    """What a part begins with that was not kept before."""

    NULL = "null"
    ZERO = "zero"
    UNTOLD = "what no constant is, or what would be wrong later"


class View(Struct, frozen=True):
    """A state that an aggregate has of its own, by the place of the aggregate's field: ``agg2$map``."""

    place: int
    what: str

    @property
    def name(self) -> str:
        """What the state is called."""
        return f"agg{self.place}${self.what}"


class Part(Struct, frozen=True):
    """What stands in a state: for each of NEW's the places in OLD of those that are the same, and what it begins with.

    ``was`` and ``now`` are what the things are called, ``views`` the states of OLD that belong to them. ``of_rows`` tells
    columns of rows from sums.
    """

    state: str
    same: tuple[frozenset[int], ...]
    start: tuple[Start, ...]
    was: tuple[str, ...]
    now: tuple[str, ...]
    views: tuple[View, ...] = ()
    of_rows: bool = False

    @property
    def places(self) -> tuple[int | None, ...]:
        """For each of NEW's the place in OLD of the same one; None for what begins."""
        return tuple(min(same, default=None) for same in self.same)

    @property
    def renamed(self) -> dict[str, str | None]:
        """The views by the names that they have in NEW; None for one that goes."""
        now = {place: number for number, place in enumerate(self.places)}
        return {view.name: View(now[view.place], view.what).name if view.place in now else None for view in self.views}

    @property
    def can_move(self) -> bool:
        """Whether all that begins can begin."""
        return all(same or start is not Start.UNTOLD for same, start in zip(self.same, self.start, strict=True))

    def is_settled(self, rewritten: Mapping[str, Rewritten]) -> bool:
        """Whether a recipe wrote it so that all of it is the same; what is not in ``rewritten`` stayed as it was."""
        told = rewritten.get(self.state, Rewritten(self.state))
        places = tuple(range(len(self.was))) if told.places is None else told.places
        return (
            self.can_move
            and told.was == self.state
            and len(places) == len(self.same)
            and all(place is None or place in same for place, same in zip(places, self.same, strict=True))
            and all(self._is_owned(view, rewritten) for view in self.views)
        )

    def _is_owned(self, view: View, rewritten: Mapping[str, Rewritten]) -> bool:
        """Whether a view, under the name that it has now, belongs to the aggregate that it belonged to."""
        was = view_of(rewritten.get(view.name, Rewritten(view.name)).was)
        return was is not None and was.what == view.what and was.place in self.same[view.place]


T = TypeVar("T")


def places_of(old: Sequence[T], new: Sequence[T]) -> tuple[frozenset[int], ...]:
    """For each of NEW's the places in OLD of those that are the same."""
    return tuple(frozenset(place for place, before in enumerate(old) if before == after) for after in new)


_ROWS = frozenset(
    {
        "Top1-Rank-State",
        "data-state",
        "data-state-with-append",
        "data-state-with-update",
        "dataState",
        "deduplicate-state",
        "inputState",
        "left-records",
        "right-records",
        "IntervalJoinLeftCache",
        "IntervalJoinRightCache",
        "left",
        "right",
        "localBufferState",
        "sortState",
        "values",
        "waiting-to-emit-on-timer",
        "window_deduplicate",
        "window_rank",
    }
)
_SUMS = frozenset({"accState", "window-aggs"})
_BESIDE = re.compile(
    r"agg(?P<place>\d+)\$(?P<what>\w+)|distinctAcc_\d+(_null_state)?|IntervalJoin(Left|Right)TimerState"
    r"|lastTriggeringTsState|cleanupTsState|processedCountState|smallestTSState|counterState|sorted-map|next-index|timers?"
    r"|cleanup-timestamp|already-emitted-state-boolean|watermark"
)
"""States whose form no column and no place of a sum changes, and the views of aggregates, which have a place in their name."""


def rows_in(operator: Operator, side: str = "") -> tuple[str, ...] | None:
    """The states of an operator that hold rows, or those of a side of a join; None where nobody looked at one of its states."""
    names = _names(operator)
    if len(names) == 1 and not side:
        return tuple(names)
    if any(name not in _ROWS | _SUMS and _BESIDE.fullmatch(name) is None for name in names):
        return None
    return tuple(name for name in names if name in _ROWS and side in name.lower())


def sums_in(operator: Operator) -> str | None:
    """The state of an operator that holds its sums; None where nobody looked at one of its states."""
    names = _names(operator)
    found = [name for name in names if name in _SUMS]
    known = all(name in _ROWS | _SUMS or _BESIDE.fullmatch(name) for name in names)
    return found[0] if len(found) == 1 and known else None


def views_in(operator: Operator) -> tuple[View, ...]:
    """The states that aggregates have of their own."""
    return tuple(filter(None, map(view_of, _names(operator))))


def view_of(state: str) -> View | None:
    """The view that a state is, by its name; None for another state."""
    found = _BESIDE.fullmatch(state)
    return None if found is None or found["place"] is None else View(int(found["place"]), found["what"])


def _names(operator: Operator) -> list[str]:
    return [one.name for one in operator.states or () if one.kind is not StateKind.TIMERS]
