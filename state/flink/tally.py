"""The counts of rewritten entries, by the old names of their states."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from compat.state.flink.header_parts import StateKey


@dataclass(slots=True)
class Tally:
    """The number of written entries, of those dropped by a recipe, and of those merged into others with the same new key."""

    written: Counter[StateKey] = field(default_factory=Counter)
    dropped: Counter[StateKey] = field(default_factory=Counter)
    merged: Counter[StateKey] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add the numbers of another one."""
        self.written.update(other.written)
        self.dropped.update(other.dropped)
        self.merged.update(other.merged)
