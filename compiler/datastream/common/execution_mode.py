"""How a batch program exchanged data. Flink up to 1.20: ``ExecutionMode``."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExecutionMode"]


class ExecutionMode(Enum):
    """Whether data goes from one operator to the next as it comes, or once all is there. It concerns no stream."""

    PIPELINED = 0
    PIPELINED_FORCED = 1
    BATCH = 2
    BATCH_FORCED = 3
