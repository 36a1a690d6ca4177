"""The choice of a job's scheduler. Flink: ``DefaultSlotPoolServiceSchedulerFactory.getSchedulerType``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from compat.compiler.configuration import SCHEDULER

SCHEDULER_MODE = "scheduler-mode"


class SchedulerType(Enum):
    """The types of scheduler. Flink: ``JobManagerOptions.SchedulerType``."""

    DEFAULT = "Default"
    ADAPTIVE = "Adaptive"
    ADAPTIVE_BATCH = "AdaptiveBatch"


def scheduler_type(options: Mapping[str, str], *, batch: bool, dynamic: bool) -> SchedulerType:
    """The scheduler of a job with these options.

    The adaptive scheduler never runs a batch job: its scheduler is the one for batch jobs. By default this also runs batch jobs
    whose parallelism may change at run time.
    """
    reactive = is_reactive(options)
    asked = next((each for each in SchedulerType if _plain(each.value) == _plain(options.get(SCHEDULER, ""))), None)
    if reactive or asked is SchedulerType.ADAPTIVE:
        return SchedulerType.ADAPTIVE_BATCH if batch else SchedulerType.ADAPTIVE
    if asked is not None:
        return asked
    return SchedulerType.ADAPTIVE_BATCH if batch and dynamic else SchedulerType.DEFAULT


def is_reactive(options: Mapping[str, str]) -> bool:
    """True if jobs, except batch jobs, take all available slots (Flink: ``SchedulerExecutionMode.REACTIVE``)."""
    return _plain(options.get(SCHEDULER_MODE, "")) == "reactive"


def _plain(text: str) -> str:
    return text.strip().lower().replace("-", "").replace("_", "")
