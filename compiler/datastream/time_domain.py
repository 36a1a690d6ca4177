"""The clocks of timers. Flink: ``TimeDomain``."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """EVENT_TIME: watermarks. PROCESSING_TIME: the machine's clock."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
