"""Lines from a socket. Flink: ``socketTextStream`` of the Java API; PyFlink has none."""

from __future__ import annotations

from compat.compiler.datastream.connectors.base import Source
from compat.state.types import Types

__all__ = ["SocketTextSource"]


class SocketTextSource(Source):
    """The lines that a server at ``host`` and ``port`` sends, until it closes the connection."""

    connector = "socket"

    def __init__(self, host: str, port: int, delimiter: str = "\n") -> None:
        settings = {"host": host, "port": port, "delimiter": delimiter}
        super().__init__(bounded=False, produced_type=Types.STRING(), settings=settings)
