"""Streaming or batch. Flink: ``RuntimeExecutionMode``."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """AUTOMATIC is batch when all sources are bounded, and streaming otherwise."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
