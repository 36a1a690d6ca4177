"""The parts of a sink: writers in tasks, committers on the driver. Flink: sink v2 (``SinkWriter``, ``Committer``).

Your own sink extends ``compat.compiler.datastream.connectors.base.Sink``, with ``create_writer(context)``, whose result has
``write(value, timestamp)`` and ``prepare_commit()`` (the committables, plain picklable data), and, if there is something to
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
    """The context of a writer. ``folder`` is the job's, for output that must stay invisible until it is published."""

    operator_id: str
    subtask: int
    epoch: int
    attempt: str
    folder: str = ""
    job_id: str = ""

    @property
    def mark(self) -> str:
        """A part of the names of unpublished files, which tells their owner and epoch."""
        return f"{self.job_id}-{self.epoch}"


class SinkWriter(Protocol):
    """Writes the records of one subtask in one epoch."""

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""

    def prepare_commit(self) -> list[Any]:
        """The output to publish once the epoch, which ends now, is committed."""


@runtime_checkable
class ClosingWriter(Protocol):
    """A writer with resources to release."""

    def close(self) -> None:
        """Release the resources: nothing more is written, and output that the driver was not told about may be removed."""


class Committer(Protocol):
    """Publishes what writers wrote."""

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """Publish; a second call with the same arguments changes nothing."""


class ProvingCommitter(ABC):
    """A committer that checks before a commit that the writers' files are where it looks for them."""

    @abstractmethod
    def files(self, committables: list[Any]) -> Iterable[tuple[str, int]]:
        """Path and size of each file."""

    @abstractmethod
    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """Publish, as :class:`Committer` does."""

    @abstractmethod
    def sweep(self, job_id: str, epoch: int, pending: Collection[str]) -> None:
        """Remove what attempts left that failed, or whose driver died: all after the given epoch, the last that counts, and
        what can be told of those before it, but for the files that are still to be published.
        """


def unwritable_sink(folder: object, error: OSError) -> StoreError:
    """The error for a sink's folder that cannot be written to."""
    return unwritable("The sink's folder", folder, error, "give the sink another")
