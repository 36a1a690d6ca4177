"""Sessions in memory: what a plain list would hold, whatever is written behind, lost, or begun anew from the log."""

from __future__ import annotations

import random
from typing import Any

import pytest

from compat.compiler.spark.state.backend import KeyedBackend, plain_key
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.state.sessions import END, SLOT, START, VALUE, Sessions
from compat.state.delta.replica import MemoryReplica, Position, entry_of
from compat.state.delta.rows import Kind, Row
from compat.state.descriptors import MapStateDescriptor, ReducingStateDescriptor
from compat.state.names import MERGING_WINDOWS, TIMERS
from compat.state.serializers import key_codec_of
from compat.state.types import Types

GAP = 10
STRING = Types.STRING()
Model = dict[Any, list[tuple[int, int, Any]]]


def joined(left: Any, right: Any) -> Any:
    return left + right


class Subtask:
    """A subtask that goes from epoch to epoch, and may begin anew from its log at any of them."""

    def __init__(self, seed: int, value_type: Any, key_type: Any = STRING) -> None:
        self.random = random.Random(seed)
        self.value_type, self.key_type = value_type, key_type
        self.epoch = 0
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
        self.memory = Memory(self.replica, self.replica.position)
        self.backend = KeyedBackend("operator", codec, 128, self.key_type)
        self.backend.begin(self.memory, lambda: 0)
        self.sessions = self.opened()

    def opened(self) -> Sessions:
        return Sessions(self.backend, ReducingStateDescriptor("window-contents", joined, self.value_type), joined, GAP)

    def add(self, key: Any, time: int, value: Any) -> None:
        self.backend.set_key(key)
        self.sessions.add([self.backend.slot], [value], [time], joined, True, self.watermark, self.late)

    @staticmethod
    def late(value: Any, time: int) -> None:
        raise AssertionError(f"{value} at {time} is not late")

    def fired(self, watermark: int) -> list[tuple[int, Any, int, Any]]:
        self.watermark = watermark
        return [
            (session[END], plain_key(session[SLOT]), session[START], session[VALUE])
            for session in self.sessions.due(watermark)
        ]

    def end_epoch(self) -> Changes:
        """Log what has changed, of each entry one row."""
        changes = Changes()
        self.sessions.snapshot(changes)
        rows = changes.all_rows()
        places = [(row.kind, row.state, row.key, row.namespace, row.map_key, row.timestamp) for row in rows]
        assert len(places) == len(set(places))
        self.log += rows
        self.epoch += 1
        self.memory.take(changes)
        match self.random.randrange(4):
            case 0:
                self.memory.save(Position(self.epoch, ""))
                assert self.replica.entries == self.logged()
            case 1:
                self.restart()
        return changes

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
                due = [(end, key, start, value) for key, many in model.items() for start, end, value in many]
                due = [each for each in due if each[0] - 1 <= watermark]
                fired = [
                    (end, key[0] if listed else key, start, value)
                    for end, key, start, value in subtask.fired(watermark)
                ]
                assert [each[0] for each in fired] == sorted(each[0] for each in fired)
                assert sorted(fired) == sorted(due)
                model = {key: [each for each in many if each[1] - 1 > watermark] for key, many in model.items()}
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
