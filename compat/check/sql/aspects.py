"""The parts of a query that can change."""

from __future__ import annotations

from enum import Enum


class Aspect(Enum):
    """The part of a query that changed; a rule is about one."""

    AGGREGATES = "aggregates"
    ROWS = "rows"
    KEYS = "keys"
    JOIN = "join"
    RANK = "rank"
    WINDOW = "window"
    PATTERN = "pattern"
    UNKNOWN = "unknown"
