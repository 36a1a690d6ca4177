"""The data exchange of batch programs. Flink up to 1.20: ``ExecutionMode``."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExecutionMode"]


class ExecutionMode(Enum):
    """Data goes to the next operator as it comes, or once all of it is there. It has no effect on streams."""

    PIPELINED = 0
    PIPELINED_FORCED = 1
    BATCH = 2
    BATCH_FORCED = 3
