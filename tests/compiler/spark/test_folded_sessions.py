"""Sessions in memory: what a plain list would hold, whatever is written behind, lost, or begun anew from the log."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.compiler.spark.state.backend import KeyedBackend, plain_key
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.state.session import END, SLOT, START, VALUE
from compat.compiler.spark.state.sessions import Sessions
from compat.state.delta.replica import MemoryReplica, Position, entry_of
from compat.state.delta.rows import Kind, Row
from compat.state.descriptors import MapStateDescriptor, ReducingStateDescriptor
from compat.state.names import MERGING_WINDOWS, TIMERS
from compat.state.serializers import key_codec_of
from compat.state.types import Types

GAP = 10
SMALL, LARGE = 4000, 1 << 30
STRING = Types.STRING()
Model = dict[Any, list[tuple[int, int, Any]]]


def joined(left: Any, right: Any) -> Any:
    return left + right


class Subtask:
    """A subtask that goes from epoch to epoch, and may begin anew from its log at any of them."""

    def __init__(self, seed: int, value_type: Any, key_type: Any = STRING, budget: int = LARGE) -> None:
        self.random = random.Random(seed)
        self.value_type, self.key_type, self.budget = value_type, key_type, budget
        self.epoch = self.most_left = self.came_back = self.came_to_their_end = 0
        self.too_late: list[Any] = []
        self.watermark = -1
        self.log: list[Row] = []
        self.restart()

    def restart(self) -> None:
        """A new process, whose replica was made anew."""
        self.replica = MemoryReplica()
        codec = key_codec_of(self.key_type)
        entries = {}
        for row in self.log:
            key, value = entry_of(row, codec.identity)
            entries[key] = None if row.value is None else value
        self.replica.apply(entries, None, Position(self.epoch, ""))
        self.memory = Memory(self.replica, self.replica.position, self.budget)
        self.backend = KeyedBackend("operator", codec, 128, self.key_type)
        self.backend.begin(self.memory, lambda: 0)
        self.sessions = self.opened()

    def opened(self) -> Sessions:
        return Sessions(self.backend, ReducingStateDescriptor("window-contents", joined, self.value_type), joined, GAP)

    def add(self, key: Any, time: int, value: Any) -> None:
        self.backend.set_key(key)
        left = len(self.sessions._left)
        self.sessions.add(
            [self.backend.slot],
            [value],
            [time],
            joined,
            True,
            self.watermark,
            lambda value, time: self.too_late.append(value),
        )
        self.came_back += left - len(self.sessions._left)

    def fired(self, watermark: int) -> list[tuple[int, Any, int, Any]]:
        self.watermark = watermark
        left = len(self.sessions._left)
        due = self.sessions.due(watermark)
        self.came_to_their_end += left - len(self.sessions._left)
        return [(session[END], plain_key(session[SLOT]), session[START], session[VALUE]) for session in due]

    def log_epoch(self) -> Changes:
        """Log what has changed, of each entry one row."""
        changes = Changes()
        self.sessions.snapshot(changes)
        rows = changes.all_rows()
        places = [(row.kind, row.state, row.key, row.namespace, row.map_key, row.timestamp) for row in rows]
        assert len(places) == len(set(places))
        self.log += rows
        self.epoch += 1
        self.memory.take(changes)
        return changes

    def end_epoch(self) -> Changes:
        """The same, and write the replica or begin anew, or neither."""
        changes = self.log_epoch()
        chance = self.random.random()
        if self.memory.is_due or chance < 0.25:
            self.save()
        elif chance < 0.5:
            self.restart()
        return changes

    def save(self) -> None:
        """Write the replica, which has what the log has."""
        self.memory.save(Position(self.epoch, ""))
        assert self.replica.entries == self.logged()
        self.most_left = max(self.most_left, len(self.sessions._left))

    def logged(self) -> dict[bytes, bytes]:
        """The entries that the log has now."""
        entries: dict[bytes, bytes] = {}
        for row in self.log:
            key, value = entry_of(row, self.backend.key_codec.identity)
            entries.pop(key, None)
            if row.value is not None:
                entries[key] = value
        return entries


def added(model: Model, key: Any, time: int, value: Any) -> None:
    """A record in a plain list of sessions."""
    touched = [each for each in model.get(key, []) if each[0] <= time + GAP and time <= each[1]]
    rest = [each for each in model.get(key, []) if each not in touched]
    start, end = min([time, *(each[0] for each in touched)]), max([time + GAP, *(each[1] for each in touched)])
    total = None
    for each in [*(each[2] for each in sorted(touched, key=lambda each: each[0])), value]:
        total = each if total is None else joined(total, each)
    model[key] = [*rest, (start, end, total)]


def ended(model: Model, watermark: int) -> list[tuple[int, Any, int, Any]]:
    """The sessions of a plain list that end with a watermark, taken out."""
    due = [
        (end, key, start, value) for key, many in model.items() for start, end, value in many if end - 1 <= watermark
    ]
    for key, many in model.items():
        model[key] = [each for each in many if each[1] - 1 > watermark]
    return due


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("form", ["numbers", "lists", "keys that are lists"])
def test_they_are_those_of_a_plain_list(seed: int, form: str) -> None:
    value_type = Types.LIST(Types.LONG()) if form == "lists" else Types.LONG()
    key_type = Types.LIST(Types.STRING()) if form == "keys that are lists" else Types.STRING()
    subtask, draw, model = Subtask(seed, value_type, key_type), random.Random(seed), Model()
    listed = form == "keys that are lists"
    watermark = 0
    for epoch in range(12):
        for number in range(draw.randrange(1, 25)):
            if draw.random() < 0.15:
                watermark += draw.randrange(25)
                fired = [
                    (end, key[0] if listed else key, start, value)
                    for end, key, start, value in subtask.fired(watermark)
                ]
                assert [each[0] for each in fired] == sorted(each[0] for each in fired)
                assert sorted(fired) == sorted(ended(model, watermark))
            key, time = f"key-{draw.randrange(3)}", watermark + draw.randrange(0, 60)
            value = 100 * epoch + number
            added(model, key, time, [value] if form == "lists" else value)
            subtask.add([key] if listed else key, time, [value] if form == "lists" else value)
        subtask.end_epoch()
    held = sum(len(many) for many in model.values())
    kept = [
        row.kind
        for row in {(r.kind, r.state, r.key, r.namespace, r.map_key, r.timestamp): r for r in subtask.log}.values()
        if row.value is not None
    ]
    assert {kind: kept.count(kind) for kind in set(kept)} == (
        dict.fromkeys((Kind.VALUE, Kind.MAP, Kind.EVENT_TIMER), held) if held else {}
    )
    assert not subtask.too_late


class Grow(NamedTuple):
    """The watermark grows."""

    by: int


class Put(NamedTuple):
    """A record, so far from the watermark."""

    key: str
    ahead: int


class End(NamedTuple):
    """An epoch ends, and ``then`` happens."""

    then: str


_THEN = ("goes on", "begins anew", "is written", "is written and full", "is written and full, and none was touched")
"""The next epoch has what is in memory, or what the log has; or the replica is written before it, whose memory may be full."""
FEW = st.sampled_from("ab")
STEPS = st.lists(
    st.one_of(
        st.builds(Put, FEW, st.integers(-15, 70)),
        st.builds(Put, FEW, st.integers(-15, 70)),
        st.builds(Put, FEW, st.integers(60, 400)),
        st.builds(Grow, st.integers(0, 30)),
        st.builds(End, st.sampled_from(_THEN)),
        st.just(End(_THEN[-1])),
    ),
    min_size=20,
    max_size=60,
)


@settings(max_examples=500, deadline=None)
@given(steps=STEPS)
def test_whatever_is_left_to_the_replica_nothing_is_lost_or_twice(steps: list[Any]) -> None:
    """Values are texts, whose order tells how they were joined."""
    subtask, model = Subtask(0, Types.STRING()), Model()
    watermark = subtask.watermark
    late: list[str] = []
    for number, step in enumerate([*steps, Grow(10_000)]):
        match step:
            case Grow(by):
                watermark += by
                fired = subtask.fired(watermark)
                assert [each[0] for each in fired] == sorted(each[0] for each in fired)
                assert sorted(fired) == sorted(ended(model, watermark))
            case Put(key, ahead):
                time, value = watermark + ahead, f"{number} "
                touched = [each for each in model.get(key, []) if each[0] <= time + GAP and time <= each[1]]
                if touched or time + GAP - 1 > watermark:
                    added(model, key, time, value)
                else:
                    late.append(value)
                subtask.add(key, time, value)
            case End(then):
                subtask.log_epoch()
                if then.endswith("none was touched"):
                    subtask.log_epoch()
                if then.startswith("is written"):
                    subtask.memory._full = "full" in then
                    subtask.save()
                    if subtask.sessions.spilled:  # from here on they are states like others
                        return
                elif then == "begins anew":
                    subtask.restart()
    assert subtask.too_late == late
    assert not subtask.sessions.last
    assert not subtask.sessions._ends._waiting
    assert len(subtask.sessions._left) == 0
    assert not subtask.sessions._left._covered


def far_ahead(seed: int, budget: int) -> Subtask:
    """One half of the records is far ahead of the other, which the watermark follows: beside a plain list."""
    subtask, draw, model = Subtask(seed, Types.LONG(), budget=budget), random.Random(seed), Model()
    near, far = 0, 3000
    for number in range(60):
        for _ in range(4):
            near, far = near + draw.randrange(6), far + draw.randrange(25)
            for time in (near, *([far] if far < 6000 else [])):
                for key in draw.sample("abcdef", 3):
                    added(model, key, time, number)
                    subtask.add(key, time, number)
        if near > 400:
            near += 120
        assert sorted(subtask.fired(near - 5)) == sorted(ended(model, near - 5))
        subtask.end_epoch()
        if subtask.sessions.spilled:
            return subtask
    assert sorted(subtask.fired(1 << 40)) == sorted(ended(model, 1 << 40))
    return subtask


def test_they_are_left_to_the_replica_and_come_back() -> None:
    made = [far_ahead(seed, 5 * SMALL) for seed in range(20)]
    assert not any(each.spilled for each in [each.sessions for each in made])
    assert max(each.most_left for each in made) > 10
    assert sum(each.came_back for each in made) > 10
    assert sum(each.came_to_their_end for each in made) > 100
    assert not any(far_ahead(seed, LARGE).most_left for seed in range(3))


def test_they_are_states_like_others_where_most_of_them_are_used_all_the_time() -> None:
    subtask = Subtask(0, Types.LONG(), budget=0)
    for key in "abcdef":
        subtask.add(key, 0, 1)
    subtask.end_epoch()
    subtask.save()
    assert subtask.sessions.spilled


def test_one_that_begins_and_ends_in_an_epoch_is_not_logged() -> None:
    subtask = Subtask(0, Types.LONG())
    subtask.add("a", 0, 1)
    subtask.add("a", 15, 1)
    subtask.add("a", 8, 1)
    assert subtask.fired(100) == [(25, "a", 0, 3)]
    assert len(subtask.end_epoch()) == 0


def test_what_is_not_of_their_kind_is_left_to_the_states() -> None:
    """A session that was kept for records that come late has a timer behind its end."""
    subtask = Subtask(1, Types.LONG())
    subtask.add("a", 0, 1)
    changes = Changes()
    subtask.sessions.snapshot(changes)
    rows = changes.all_rows()
    for odd in (
        [row._replace(timestamp=50) if row.kind == Kind.EVENT_TIMER else row for row in rows],
        [row for row in rows if row.kind != Kind.EVENT_TIMER],
        [row for row in rows if row.state != MERGING_WINDOWS],
    ):
        subtask.log = odd
        subtask.restart()
        assert subtask.sessions.spilled
        assert not subtask.sessions.last
    subtask.log = rows
    subtask.restart()
    assert not subtask.sessions.spilled


def test_their_states_are_those_that_windows_have_anywhere() -> None:
    """What is in the log is read by the states that triggers, savepoints and tables read."""
    subtask = Subtask(2, Types.LONG())
    subtask.add("a", 0, 1)
    changes = Changes()
    subtask.sessions.snapshot(changes)
    subtask.add("a", 8, 2)
    subtask.sessions.snapshot(changes)
    subtask.log = changes.all_rows()
    subtask.restart()
    backend = subtask.backend
    backend.set_key("a")
    windows = backend.cells(MapStateDescriptor(MERGING_WINDOWS, None, None))
    assert windows.items() == [((0, 18), (0, 10))]
    backend.set_namespace((0).to_bytes(8, "big") + (10).to_bytes(8, "big"))
    assert backend.cells(ReducingStateDescriptor("window-contents", joined, Types.LONG())).get() == 3
    timers = [(row.timestamp, row.namespace, row.value) for row in subtask.log if row.state == TIMERS]
    assert len(timers) == 3
