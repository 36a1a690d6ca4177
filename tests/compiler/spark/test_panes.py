"""Windows in memory: what a plain dict would hold, whichever of them are left to the replica, or begun anew from the log."""

from __future__ import annotations

import random
from typing import Any

import pytest

from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.state.panes import Panes
from compat.compiler.spark.state.slots import ByIdentity
from compat.state.delta.replica import MemoryReplica, Position, entry_of
from compat.state.delta.rows import Row
from compat.state.descriptors import ReducingStateDescriptor
from compat.state.serializers import key_codec_of
from compat.state.types import Types

SIZE, SMALL = 10, 4000
Model = dict[tuple[Any, int], int]


def joined(left: int, right: int) -> int:
    return left + right


def encoded(start: int, end: int) -> bytes:
    return b"".join(each.to_bytes(8, "big", signed=True) for each in (start, end))


def decoded(window: bytes) -> tuple[int, int]:
    return int.from_bytes(window[:8], "big", signed=True), int.from_bytes(window[8:], "big", signed=True)


class Subtask:
    """A subtask that goes from epoch to epoch, whose memory is full with ``budget`` bytes."""

    def __init__(self, seed: int, budget: int, key_type: Any) -> None:
        self.random, self.budget, self.key_type = random.Random(seed), budget, key_type
        self.epoch = self.most_left = self.came_back = 0
        self.log: list[Row] = []
        self.restart()

    def restart(self) -> None:
        """A new process, whose replica is made of the log."""
        codec = key_codec_of(self.key_type)
        self.replica = MemoryReplica()
        self.replica.apply(dict(self.logged(codec)), None, Position(self.epoch, ""))
        self.memory = Memory(self.replica, self.replica.position, self.budget)
        self.backend = KeyedBackend("operator", codec, 128, self.key_type)
        self.backend.begin(self.memory, lambda: 0)
        descriptor = ReducingStateDescriptor("window-contents", joined, Types.LONG())
        self.panes = Panes(self.backend, descriptor, encoded, decoded)

    def add(self, key: Any, start: int, value: int) -> None:
        self.backend.set_key(key)
        slot = self.backend.slot
        left = len(self.panes._left)
        pane = self.panes.pane(start, start + SIZE)
        self.came_back += left - len(self.panes._left)
        present = pane.fresh[slot] if slot in pane.fresh else pane.take(slot)
        pane.fresh[slot] = value if present is None else joined(present, value)

    def fired(self, watermark: int) -> dict[tuple[Any, int], int]:
        return {
            (slot.key[0] if type(slot) is ByIdentity else slot, pane.start): value
            for pane in self.panes.due(watermark)
            for slot, value in pane.contents()
        }

    def end_epoch(self) -> None:
        changes = Changes()
        self.panes.snapshot(changes)
        self.log += changes.all_rows()
        self.epoch += 1
        self.memory.take(changes)
        if self.memory.is_due or self.random.random() < 0.2:
            self.memory.save(Position(self.epoch, ""))
            assert self.replica.entries == self.logged(self.backend.key_codec)
            self.most_left = max(self.most_left, len(self.panes._left))
        if self.random.random() < 0.1:
            self.restart()

    def logged(self, codec: Any) -> dict[bytes, bytes]:
        """The entries that the log has now."""
        entries: dict[bytes, bytes] = {}
        for row in self.log:
            key, value = entry_of(row, codec.identity)
            entries.pop(key, None)
            if row.value is not None:
                entries[key] = value
        return entries


def run(seed: int, budget: int, key_type: Any) -> Subtask:
    """Epochs of a subtask beside a plain dict, until its windows are states like others."""
    subtask, draw, model = Subtask(seed, budget, key_type), random.Random(seed), Model()
    listed = key_type != Types.STRING()
    watermark = 0
    for _ in range(40):
        for start in {
            watermark // SIZE * SIZE + draw.choice((1, 1, 2, 5)) * SIZE for _ in range(draw.choice((1, 1, 2)))
        }:
            for _ in range(draw.randrange(1, 6)):
                key, value = draw.choice("abcdef"), draw.randrange(100)
                subtask.add([key] if listed else key, start, value)
                model[key, start] = model.get((key, start), 0) + value
        if draw.random() < 0.3:
            watermark += draw.randrange(2 * SIZE)
            due = {place: value for place, value in model.items() if place[1] + SIZE - 1 <= watermark}
            assert subtask.fired(watermark) == due
            model = {place: value for place, value in model.items() if place not in due}
        subtask.end_epoch()
        if subtask.panes.spilled:
            return subtask
    assert subtask.fired(1 << 40) == model
    return subtask


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("budget", [SMALL, 1 << 30])
@pytest.mark.parametrize("key_type", [Types.STRING(), Types.LIST(Types.STRING())], ids=["text", "lists"])
def test_they_are_those_of_a_plain_dict(seed: int, budget: int, key_type: Any) -> None:
    run(seed, budget, key_type)


def test_windows_are_left_to_the_replica_and_come_back() -> None:
    made = [run(seed, SMALL, Types.STRING()) for seed in range(30)]
    assert max(each.most_left for each in made) > 1
    assert sum(each.came_back for each in made) > 10
    assert any(each.panes.spilled for each in made)
    assert not all(each.panes.spilled for each in made)
    assert not any(run(seed, 1 << 30, Types.STRING()).most_left for seed in range(5))
