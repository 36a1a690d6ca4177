"""The connectors, one line each. A new one is a folder here, and its line."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from compat.compiler.spark.connectors.base import Connector, SinkConnector, SourceConnector
from compat.compiler.spark.connectors.delta.connector import DELTA
from compat.compiler.spark.connectors.files.connector import FILES
from compat.compiler.spark.connectors.kafka.connector import KAFKA
from compat.compiler.spark.connectors.numbers.connector import GENERATOR, SEQUENCE
from compat.compiler.spark.connectors.own import OWN_SINK, OWN_SOURCE, EnumeratedByProgram, WrittenByProgram
from compat.compiler.spark.connectors.socket.connector import SOCKET

CONNECTORS = {
    "data-generator": GENERATOR,
    "delta": DELTA,
    "filesystem": FILES,
    "kafka": KAFKA,
    "number-sequence": SEQUENCE,
    "socket": SOCKET,
}
"""By the name that the program's sources and sinks have for it."""


@runtime_checkable
class _Named(Protocol):
    connector: str


def kind_of(function: Any) -> str:
    """The name of the connector that a source or sink is of; empty for one of none."""
    return function.connector if isinstance(function, _Named) else ""


def source_connector(source: Any) -> SourceConnector | None:
    """What runs a source; None where nothing does."""
    if isinstance(source, EnumeratedByProgram):
        return OWN_SOURCE
    return CONNECTORS.get(kind_of(source), Connector()).source


def sink_connector(sink: Any) -> SinkConnector | None:
    """What runs a sink; None where nothing does."""
    if isinstance(sink, WrittenByProgram):
        return OWN_SINK
    return CONNECTORS.get(kind_of(sink), Connector()).sink
