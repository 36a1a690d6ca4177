"""What happened to the entries of states that were rewritten, by the states as they were called."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from compat.state.flink.header_parts import StateKey


@dataclass(slots=True)
class Tally:
    """How many entries were written, how many a recipe let go, and how many went into others whose key became theirs."""

    written: Counter[StateKey] = field(default_factory=Counter)
    dropped: Counter[StateKey] = field(default_factory=Counter)
    merged: Counter[StateKey] = field(default_factory=Counter)
