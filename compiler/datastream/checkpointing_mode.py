"""The guarantee for records after a failure. Flink: ``CheckpointingMode``."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """EXACTLY_ONCE aligns (or stores) in-flight data at a barrier; AT_LEAST_ONCE lets it pass."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
