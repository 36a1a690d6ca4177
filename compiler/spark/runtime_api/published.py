"""The output that leaves a job: it travels to the driver with a task's report, and out only after the epoch is committed."""

from __future__ import annotations

from typing import Any, NamedTuple

from compat.compiler.spark.runtime_api.elements import Timestamps, Values


class Printed(NamedTuple):
    """Lines for the standard output."""

    lines: list[str]


class Collected(NamedTuple):
    """Records for the program."""

    values: Values


class SentBack(NamedTuple):
    """Records for the head of a loop, from one subtask of its tail."""

    loop: int
    subtask: int
    values: Values
    timestamps: Timestamps


class Written(NamedTuple):
    """The output that an operator's writers wrote, for its committer to publish."""

    operator_id: str
    committables: list[Any]


Published = Printed | Collected | SentBack | Written
