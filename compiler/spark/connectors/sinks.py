"""The running of a program's sinks. See :mod:`compat.compiler.spark.runtime_api.sinks` for their parts."""

from __future__ import annotations

from copy import copy
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from compat.compiler.datastream.connectors.base import Sink
from compat.compiler.spark.connectors.table import connector_of, sink_connector
from compat.compiler.spark.runtime_api.sinks import Committer, ProvingCommitter, SinkWriter, WriterContext
from compat.state.delta.files import prove_files
from compat.state.stores.paths import place_of


class SinkFolder(Struct, frozen=True):
    """The folder that the writers of a sink leave files in."""

    connector: str
    path: str


def prove_output(sink: Any, committables: list[Any]) -> None:
    """Raise a StoreError unless the driver finds all files that the writers of a sink left, whole."""
    committer = committer_of(sink)
    if isinstance(committer, ProvingCommitter):
        prove_files(committer.files(committables))


def placed(sink: Any) -> Any:
    """The sink with an absolute path, if it has one: workers run in folders of their own."""
    connector = sink_connector(sink)
    if connector is None or connector.folder is None:
        return sink
    found = copy(sink)
    path = str(place_of(str(sink.settings[connector.folder]), "The sink's folder").absolute())
    found.settings = MappingProxyType({**sink.settings, connector.folder: path})
    return found


def folder_of(sink: Any) -> SinkFolder | None:
    """The folder of a sink with an absolute path; None for a sink without a folder."""
    connector = sink_connector(sink)
    if connector is None or connector.folder is None:
        return None
    return SinkFolder(sink.connector, str(sink.settings[connector.folder]))


def sweep_folder(folder: SinkFolder, job_id: str) -> None:
    """Remove what the writers of a finished job left there, once everything that counts is published. Raises OSError."""
    connector = connector_of(folder.connector).sink
    assert connector is not None
    assert connector.folder is not None
    committer = connector.committer(Sink(settings={connector.folder: folder.path}))
    assert isinstance(committer, ProvingCommitter)
    committer.sweep(job_id, 0, ())


def unsupported_sink(sink: Any) -> str | None:
    """Why a sink cannot be run; None for one that can."""
    connector = sink_connector(sink)
    if connector is not None:
        return connector.refusal(sink)
    return (
        f"there is no writer for the sink {type(sink).__name__}: use print(), execute_and_collect(), a FileSink, a DeltaSink, "
        "a KafkaSink, or write one with create_writer() and create_committer()"
    )


def writer_of(sink: Any, context: WriterContext) -> SinkWriter:
    """The writer of a sink."""
    connector = sink_connector(sink)
    assert connector is not None, "the program was found to be one that runs"
    return connector.writer(sink, context)


def committer_of(sink: Any) -> Committer | None:
    """The committer of a sink; None if there is nothing to publish."""
    connector = sink_connector(sink)
    return None if connector is None else connector.committer(sink)
