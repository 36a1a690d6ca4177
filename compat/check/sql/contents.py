"""The parts of the states of a query's operators, in order, and their places in NEW.

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
    """The initial value of a part that was not kept before."""

    NULL = "null"
    ZERO = "zero"
    UNTOLD = "what no constant is, or what would be wrong later"


_MOST_FIELDS = 1 << 16
"""A place beyond the end of any row."""


class View(Struct, frozen=True):
    """A state that an aggregate has of its own, by the aggregate's number: ``agg2$map`` (Flink: ``DataViewUtils``).

    The values of `DISTINCT` have numbers of their own (`values_of`): ``distinctAcc_0`` and ``distinctAcc_0_null_state``.
    """

    call: int
    what: str

    @property
    def name(self) -> str:
        """What the state is called."""
        return f"agg{self.call}${self.what}" if self.call >= 0 else f"distinctAcc_{values_of(self.call)}{self.what}"


def values_of(distinct: int) -> int:
    """The number among aggregates of the values of the DISTINCT of a number, and the other way round: they are below 0."""
    return -1 - distinct


class Part(Struct, frozen=True):
    """The contents of a state: for each part of NEW the places in OLD of the same parts, and its first value.

    ``was`` and ``now`` are the names of the things in OLD and NEW, ``views`` the states of OLD that belong to them, ``needed``
    those of NEW. ``of_rows`` is true for columns of rows, false for sums. ``together`` are the things of NEW that make one
    result: all of them go on, or none. ``filled`` are zero where OLD had null. ``uncounted`` says that OLD counts partners of
    the rows and NEW does not (`Uncounted`). ``was_calls`` and ``now_calls`` are the numbers of the aggregates that the things
    are fields of, as an aggregate may have several fields.
    """

    state: str
    same: tuple[frozenset[int], ...]
    start: tuple[Start, ...]
    was: tuple[str, ...]
    now: tuple[str, ...]
    views: tuple[View, ...] = ()
    of_rows: bool = False
    needed: tuple[View, ...] = ()
    together: tuple[frozenset[int], ...] = ()
    filled: frozenset[int] = frozenset()
    uncounted: bool = False
    was_calls: Sequence[int] = range(_MOST_FIELDS)
    now_calls: Sequence[int] = range(_MOST_FIELDS)

    @property
    def places(self) -> tuple[int | None, ...]:
        """For each of NEW's the place in OLD of the same one; None for what begins, and for what has to begin with that."""
        begins = {now for now, same in enumerate(self.same) if not same}
        while more := {now for one in self.together if not begins.isdisjoint(one) for now in one} - begins:
            begins |= more
        return tuple(None if now in begins else min(same) for now, same in enumerate(self.same))

    @property
    def renamed(self) -> dict[str, str | None]:
        """The views by the names that they have in NEW; None for one that goes."""
        kept = ((now, place) for now, place in enumerate(self.places) if place is not None)
        now = {self.was_calls[place]: self.now_calls[number] for number, place in kept}
        return {view.name: View(now[view.call], view.what).name if view.call in now else None for view in self.views}

    @property
    def can_move(self) -> bool:
        """Whether all that begins can begin."""
        return self._can_begin(self.places)

    def _can_begin(self, places: Sequence[int | None]) -> bool:
        both = zip(places, self.start, strict=True)
        return all(place is not None or start is not Start.UNTOLD for place, start in both)

    def is_settled(self, rewritten: Mapping[str, Rewritten]) -> bool:
        """Whether a recipe wrote it so that all of it is the same; what is not in ``rewritten`` stayed as it was."""
        told = rewritten.get(self.state, Rewritten(self.state))
        places = tuple(range(len(self.was))) if told.places is None else told.places
        return (
            told.was == self.state
            and told.single == (COUNTED if self.uncounted else None)
            and len(places) == len(self.same)
            and self._can_begin(places)
            and all(place is None or place in same for place, same in zip(places, self.same, strict=True))
            and all(len({places[now] is None for now in one}) == 1 for one in self.together)
            and self.filled <= told.filled | {now for now, place in enumerate(places) if place is None}
            and all(self._is_owned(view, rewritten) and self._goes_on(view.call, places) for view in self.views)
            and all(view in self.views for view in self.needed if self._goes_on(view.call, places))
        )

    def _goes_on(self, call: int, places: Sequence[int | None]) -> bool:
        """Whether an aggregate of NEW goes on with what OLD kept."""
        return any(place is not None and self.now_calls[now] == call for now, place in enumerate(places))

    def _is_owned(self, view: View, rewritten: Mapping[str, Rewritten]) -> bool:
        """Whether a view, under the name that it has now, belongs to the aggregate that it belonged to."""
        was = view_of(rewritten.get(view.name, Rewritten(view.name)).was)
        if was is None or was.what != view.what:
            return False
        same = [places for places, call in zip(self.same, self.now_calls, strict=False) if call == view.call]
        return bool(same) and all(was.call in {self.was_calls[place] for place in places} for places in same)


class Uncounted(Struct, frozen=True):
    """A state of an outer join that keeps for each row how many partners it found, behind what an inner join keeps of it
    (Flink: ``OuterJoinRecordStateViews``)."""

    state: str

    @property
    def can_move(self) -> bool:
        """True: a number that nobody asks for can go."""
        return True

    def is_settled(self, rewritten: Mapping[str, Rewritten]) -> bool:
        """Whether a recipe left what an inner join keeps, with the columns that it had."""
        told = rewritten.get(self.state)
        if told is None or (told.was, told.single) != (self.state, COUNTED):
            return False
        return told.places is None or told.places == tuple(range(len(told.places)))


COUNTED = "f0"
"""What an outer join counts partners of: the row, or how often it came."""

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
    r"agg(?P<call>\d+)\$(?P<what>\w+)|distinctAcc_(?P<distinct>\d+)(?P<part>(_null_state)?)|IntervalJoin(Left|Right)TimerState"
    r"|lastTriggeringTsState|session-window-mapping|cleanupTsState|processedCountState|smallestTSState|counterState|sorted-map|next-index|timers?"
    r"|cleanup-timestamp|already-emitted-state-boolean|watermark"
)
"""States whose form no column and no place of a sum changes, and the views of aggregates, which have a place in their name."""


def rows_in(operator: Operator, side: str = "") -> tuple[str, ...] | None:
    """The states of an operator that hold rows, or those of a side of a join; None if nobody looked at one of its states."""
    names = _names(operator)
    if len(names) == 1 and not side and names[0] not in _SUMS:
        return tuple(names)
    if any(name not in _ROWS | _SUMS and _BESIDE.fullmatch(name) is None for name in names):
        return None
    return tuple(name for name in names if name in _ROWS and side in name.lower())


def sums_in(operator: Operator) -> str | None:
    """The state of an operator that holds its sums; None if nobody looked at one of its states."""
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
    if found is not None and found["distinct"] is not None:
        return View(values_of(int(found["distinct"])), found["part"])
    return None if found is None or found["call"] is None else View(int(found["call"]), found["what"])


def _names(operator: Operator) -> list[str]:
    return [one.name for one in operator.states or () if one.kind is not StateKind.TIMERS]
