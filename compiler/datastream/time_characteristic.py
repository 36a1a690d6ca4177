"""The clock of a job. Flink up to 1.20: ``TimeCharacteristic``."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeCharacteristic"]


class TimeCharacteristic(Enum):
    """Which time operators go by where nothing else says so. Since Flink 1.12, assigners of windows say it themselves."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2
