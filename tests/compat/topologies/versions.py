"""Random topologies and their next versions, by seed."""

from __future__ import annotations

import copy
from random import Random

from msgspec import Struct

from tests.compat.topologies.drawing import SAVED, Drawing, Topology, draw, settings
from tests.compat.topologies.editing import EDITS


class Version(Struct, frozen=True):
    """A next version: what was done to the first one, the topology, and whether state may be left behind."""

    edits: tuple[str, ...]
    topology: Topology
    allow: bool = False


class Drawn(Struct, frozen=True):
    """A topology, what is taken of its state (a canonical or native savepoint, or a checkpoint), and next versions of it."""

    old: Topology
    saved: str
    news: tuple[Version, ...]


def versions(seed: int, count: int = 4) -> Drawn:
    """A topology, and next versions of it."""
    random = Random(seed)
    old = draw(random)
    saved = random.choice(SAVED)
    settings(random, old.topology)
    made: list[Version] = []
    for _ in range(count):
        drawing = Drawing(random, copy.deepcopy(old.topology), old.named)
        drawing._next = 100 + drawing._next
        edits: list[str] = []
        for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
            name = random.choice(list(EDITS))
            if EDITS[name](drawing):
                edits.append(name)
        if random.random() < 0.2:
            name = random.choice([name for name in EDITS if "parallelism" in name])
            if EDITS[name](drawing):
                edits.append(name)
        made.append(Version(tuple(edits), drawing.topology, allow=random.random() < 0.15))
    return Drawn(old.topology, saved, tuple(made))
