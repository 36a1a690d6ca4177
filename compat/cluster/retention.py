"""The retention of ended jobs. Flink: ``FileExecutionGraphInfoStore``, ``CheckpointProperties``.

A forgotten job's files are removed with it: its submission, the output of its processes, its events. Savepoints stay.
Checkpoints of a finished job are removed, as in Flink; those of a failed or cancelled job stay, unless its program says
otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from compat.compiler.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from compat.compiler.executiongraph.states import JobStatus

EXPIRATION = "jobstore.expiration-time"
CAPACITY = "jobstore.max-capacity"
_LARGEST = 2**31 - 1


class RetentionError(ValueError):
    """An invalid option; the message says what is valid."""


class Retention(Struct, frozen=True, kw_only=True):
    """Jobs are kept for ``seconds`` after their end, and ``most`` of them at a time, the last ones."""

    seconds: int = 3600
    most: int = _LARGEST

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Retention:
        """Read the options in Flink's spelling. Raises RetentionError."""
        for name in options:
            if name not in (EXPIRATION, CAPACITY):
                raise RetentionError(
                    f"{name} is no option of a cluster. Those for ended jobs are {EXPIRATION} and {CAPACITY}."
                )
        usual = cls()
        return cls(
            seconds=_number(options, EXPIRATION, "seconds, such as 3600", usual.seconds),
            most=_number(options, CAPACITY, "a number of jobs", usual.most),
        )


def keeps_checkpoint(status: JobStatus, asked: str) -> bool:
    """True if the last checkpoint of a job with this end stays when the job is forgotten.

    ``asked`` is what its program says (``execution.checkpointing.externalized-checkpoint-retention``), empty for nothing.
    """
    if status is JobStatus.FINISHED:
        return False
    try:
        mode = ExternalizedCheckpointRetention[asked.strip().upper().replace("-", "_")]
    except KeyError:
        return True
    match mode:
        case ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS:
            return False
        case ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION:
            return status is not JobStatus.CANCELED
        case ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION:
            return True


def _number(options: Mapping[str, str], name: str, what: str, default: int) -> int:
    text = options.get(name, str(default)).strip()
    if not text.isascii() or not text.isdigit() or int(text) > 2**63 - 1:
        raise RetentionError(f"{name}={text} is not {what}.")
    return int(text)
