"""The connectors, one line each. A new one is a folder here, and its line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from compat.compiler.spark.connectors.base import Connector, SinkConnector, SourceConnector
from compat.compiler.spark.connectors.own import OWN_SINK, OWN_SOURCE, EnumeratedByProgram, WrittenByProgram

CONNECTORS = {
    "collection": "collection",
    "data-generator": "numbers",
    "delta": "delta",
    "filesystem": "files",
    "input-format": "files",
    "kafka": "kafka",
    "number-sequence": "numbers",
    "socket": "socket",
}
"""The folder of each, by the name that the program's sources and sinks have for it; a driver and its workers import those of
their job alone. ``connector`` in it has what runs them, in ``CONNECTORS`` by the same names."""


def connector_of(name: str) -> Connector:
    """The connector of a name; if there is none, one that runs nothing."""
    if name not in CONNECTORS:
        return Connector()
    found: Mapping[str, Connector] = import_module(f"{__package__}.{CONNECTORS[name]}.connector").CONNECTORS
    return found[name]


@runtime_checkable
class _Named(Protocol):
    connector: str


def kind_of(function: Any) -> str:
    """The name of a source's or sink's connector; empty if it has none."""
    return function.connector if isinstance(function, _Named) else ""


def source_connector(source: Any) -> SourceConnector | None:
    """The connector that runs a source; None if there is none."""
    if isinstance(source, EnumeratedByProgram):
        return OWN_SOURCE
    return connector_of(kind_of(source)).source


def sink_connector(sink: Any) -> SinkConnector | None:
    """The connector that runs a sink; None if there is none."""
    if isinstance(sink, WrittenByProgram):
        return OWN_SINK
    return connector_of(kind_of(sink)).sink
