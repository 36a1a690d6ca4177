"""Sinks: writers in tasks, committers on the driver. Flink: sink v2 (``SinkWriter``, ``Committer``).

Your own sink extends ``compat.compiler.datastream.connectors.base.Sink``, with ``create_writer(context)``, whose result has
``write(value, timestamp)`` and ``prepare_commit()`` (the committables, plain picklable data), and, where there is something to
publish, ``create_committer()``, whose result has ``commit(committables, transaction)``. Committing must be idempotent: after a
crash the committables of the last checkpoint are committed again. ``transaction`` is (job id, epoch).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from copy import copy
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from compat.state.delta.errors import StoreError, unwritable
from compat.state.delta.files import prove_files
from compat.state.stores.paths import place_of


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


def prove_output(sink: Any, committables: list[Any]) -> None:
    """Raise a StoreError unless the driver finds all files that the writers of a sink left, whole."""
    committer = committer_of(sink)
    if isinstance(committer, ProvingCommitter):
        prove_files(committer.files(committables))


def placed(sink: Any) -> Any:
    """A sink whose path, if it has one, is absolute: workers run in folders of their own."""
    name = _PATHS.get(getattr(sink, "connector", ""))
    if name is None or hasattr(sink, "create_writer"):
        return sink
    found = copy(sink)
    path = str(place_of(str(sink.settings[name]), "The sink's folder").absolute())
    found.settings = MappingProxyType({**sink.settings, name: path})
    return found


class SinkFolder(Struct, frozen=True):
    """The folder that the writers of a sink leave files in."""

    connector: str
    path: str


def folder_of(sink: Any) -> SinkFolder | None:
    """The folder of a sink whose path is absolute; None for one without."""
    name = _PATHS.get(getattr(sink, "connector", ""))
    if name is None or hasattr(sink, "create_writer"):
        return None
    return SinkFolder(sink.connector, str(sink.settings[name]))


def sweep_folder(folder: SinkFolder, job_id: str) -> None:
    """Remove what writers of a job left there that is over, and has published all that counts. Raises OSError."""
    committer: ProvingCommitter
    if folder.connector == "delta":
        from compat.compiler.spark.connectors.delta.sink import DeltaCommitter

        committer = DeltaCommitter({_PATHS["delta"]: folder.path})
    else:
        from compat.compiler.spark.connectors.files.sink import FileCommitter

        committer = FileCommitter({_PATHS["filesystem"]: folder.path})
    committer.sweep(job_id, 0, ())


_PATHS = {"filesystem": "base_path", "delta": "path"}
"""The setting with the path, by connector."""


def unsupported_sink(sink: Any) -> str | None:
    """Why a sink cannot be run; None for one that can."""
    if hasattr(sink, "create_writer"):
        return None
    connector = getattr(sink, "connector", None)
    if connector == "filesystem":
        from compat.compiler.spark.connectors.files.sink import unsupported

        return unsupported(sink.settings)
    if connector == "delta":
        from compat.compiler.spark.connectors.delta.sink import unsupported as unsupported_delta

        return unsupported_delta(sink.settings)
    if connector == "kafka":
        from compat.compiler.spark.connectors.kafka.sink import unsupported as unsupported_kafka

        return unsupported_kafka(sink)
    return (
        f"there is no writer for the sink {type(sink).__name__}: use print(), execute_and_collect(), a FileSink, a DeltaSink, "
        "a KafkaSink, or write one with create_writer() and create_committer()"
    )


def writer_of(sink: Any, context: WriterContext) -> SinkWriter:
    """The writer of a sink."""
    if hasattr(sink, "create_writer"):
        return sink.create_writer(context)  # type: ignore[no-any-return]
    if sink.connector == "delta":
        from compat.compiler.spark.connectors.delta.sink import DeltaWriter

        return DeltaWriter(sink.settings, context)
    if sink.connector == "kafka":
        from compat.compiler.spark.connectors.kafka.sink import writer_of as kafka_writer_of

        return kafka_writer_of(sink, context)
    from compat.compiler.spark.connectors.files.sink import FileWriter

    return FileWriter(sink.settings, context)


def committer_of(sink: Any) -> Committer | None:
    """The committer of a sink; None where there is nothing to publish."""
    if hasattr(sink, "create_committer"):
        return sink.create_committer()  # type: ignore[no-any-return]
    connector = getattr(sink, "connector", None)
    if hasattr(sink, "create_writer") or connector not in ("filesystem", "delta", "kafka"):
        return None
    if connector == "kafka":
        from compat.compiler.spark.connectors.kafka.sink import committer_of as kafka_committer_of

        return kafka_committer_of(sink)
    if connector == "delta":
        from compat.compiler.spark.connectors.delta.sink import DeltaCommitter

        return DeltaCommitter(sink.settings)
    from compat.compiler.spark.connectors.files.sink import FileCommitter

    return FileCommitter(sink.settings)
