"""The valve holds against the plain reading of what it is: the smallest watermark of the channels that are not idle."""

from __future__ import annotations

import pickle
import random

import pytest

from compat.compiler.spark.operators.valve import WatermarkValve
from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP

Channel = tuple[int, int]


class Plain:
    """Every channel with its watermark; all are looked at each time."""

    def __init__(self, channels: list[Channel]) -> None:
        self.marks = dict.fromkeys(channels, MIN_TIMESTAMP)
        self.asleep: set[Channel] = set()
        self.watermark = MIN_TIMESTAMP
        self.idle = False

    def advance(self, channel: Channel, timestamp: int) -> int | None:
        if timestamp <= self.marks[channel]:
            return None
        self.marks[channel] = timestamp
        return self.passed()

    def set_idle(self, channel: Channel, idle: bool) -> tuple[bool | None, int | None]:
        (self.asleep.add if idle else self.asleep.discard)(channel)
        before, self.idle = self.idle, len(self.asleep) == len(self.marks)
        return None if self.idle == before else self.idle, self.passed()

    def passed(self) -> int | None:
        awake = [mark for channel, mark in self.marks.items() if channel not in self.asleep]
        found = min(awake) if awake else max(self.marks.values(), default=MIN_TIMESTAMP)
        if found <= self.watermark:
            return None
        self.watermark = found
        return found


@pytest.mark.parametrize("seed", range(200))
def test_the_valve_passes_what_it_is_to_pass(seed: int) -> None:
    draw = random.Random(seed)
    given = [(0, number) for number in range(draw.randrange(7))]
    plain, valve, added = Plain(given), WatermarkValve(given), list[Channel]()
    for _ in range(80):
        channels, what = [*given, *added], draw.random()
        if what < 0.6 and channels:
            channel, mark = draw.choice(channels), MAX_WATERMARK if draw.random() < 0.05 else draw.randrange(-5, 30)
            assert valve.advance(channel, mark) == plain.advance(channel, mark)
        elif what < 0.8 and channels:
            channel, idle = draw.choice(channels), draw.random() < 0.6
            assert valve.set_idle(channel, idle) == plain.set_idle(channel, idle)
        elif what < 0.85 and (1, len(added)) not in added:
            added.append((1, len(added)))
            valve.add(added[-1])
            plain.marks[added[-1]], plain.idle = MIN_TIMESTAMP, False
        elif what < 0.9 and added:
            gone = added.pop()
            plain.marks.pop(gone)
            plain.asleep.discard(gone)
            assert valve.remove(gone) == (plain.passed() if plain.marks else None)
        else:
            snapshot = valve.snapshot()
            if draw.random() < 0.2:  # as it was written when all channels were listed
                snapshot = plain.marks, plain.asleep, plain.watermark, plain.idle
            valve = WatermarkValve(given)
            valve.restore(pickle.loads(pickle.dumps(snapshot)))
        assert (valve.watermark, valve.idle) == (plain.watermark, plain.idle)
        assert valve.ended == all(mark == MAX_WATERMARK for mark in plain.marks.values())


@pytest.mark.parametrize("mark", [MIN_TIMESTAMP, 7, MAX_WATERMARK])
def test_channels_that_stand_together_take_no_room(mark: int) -> None:
    channels = [(0, number) for number in range(1000)]
    valve = WatermarkValve(channels)
    for channel in channels:
        valve.advance(channel, mark)

    assert len(pickle.dumps(valve.snapshot())) < 100
