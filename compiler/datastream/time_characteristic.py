"""The clock of a job. Flink up to 1.20: ``TimeCharacteristic``."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeCharacteristic"]


class TimeCharacteristic(Enum):
    """The default time of operators. Since Flink 1.12, assigners of windows say it themselves."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2
