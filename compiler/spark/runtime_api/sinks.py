"""The parts of a sink: writers in tasks, committers on the driver. Flink: sink v2 (``SinkWriter``, ``Committer``).

Your own sink extends ``compat.compiler.datastream.connectors.base.Sink``, with ``create_writer(context)``, whose result has
``write(value, timestamp)`` and ``prepare_commit()`` (the committables, plain picklable data), and, where there is something to
publish, ``create_committer()``, whose result has ``commit(committables, transaction)``. Committing must be idempotent: after a
crash the committables of the last checkpoint are committed again. ``transaction`` is (job id, epoch).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from compat.state.delta.errors import StoreError, unwritable


class WriterContext(Struct, frozen=True):
    """The context that a writer is given. ``folder`` is the job's, for output that is not to be seen before it is published."""

    operator_id: str
    subtask: int
    epoch: int
    attempt: str
    folder: str = ""
    job_id: str = ""

    @property
    def mark(self) -> str:
        """A part for names of files that are not published yet: whose they are, and of which epoch."""
        return f"{self.job_id}-{self.epoch}"


class SinkWriter(Protocol):
    """Writes the records of one subtask in one epoch."""

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""

    def prepare_commit(self) -> list[Any]:
        """The epoch ends: what is to be published once it is committed."""


@runtime_checkable
class ClosingWriter(Protocol):
    """A writer that has something to let go of."""

    def close(self) -> None:
        """Nothing more is written, and what the driver was not told of may go."""


class Committer(Protocol):
    """Publishes what writers wrote."""

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """Publish; again with the same arguments changes nothing."""


class ProvingCommitter(ABC):
    """A committer whose writers left files, which have to be where it looks for them before the epoch counts."""

    @abstractmethod
    def files(self, committables: list[Any]) -> Iterable[tuple[str, int]]:
        """Path and size of each file."""

    @abstractmethod
    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """As of :class:`Committer`."""

    @abstractmethod
    def sweep(self, job_id: str, epoch: int, pending: Collection[str]) -> None:
        """Remove what attempts left that failed, or whose driver died: all after the given epoch, the last that counts, and
        what can be told of those before it, but for the files that are still to be published.
        """


def unwritable_sink(folder: object, error: OSError) -> StoreError:
    """The error of a sink's folder that cannot be written to."""
    return unwritable("The sink's folder", folder, error, "give the sink another")
