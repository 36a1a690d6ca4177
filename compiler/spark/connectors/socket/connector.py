"""The connector for sockets."""

from __future__ import annotations

from typing import Any

from compat.compiler.spark.connectors.base import Connector, SourceConnector
from compat.compiler.spark.connectors.socket.source import LinesReader, SocketEnumerator


class _Socket(SourceConnector):
    def enumerator(self, source: Any, parallelism: int) -> SocketEnumerator:
        return SocketEnumerator(source.settings["host"], source.settings["port"], source.settings["delimiter"])

    def reader(self, source: Any, output_type: Any) -> LinesReader:
        return LinesReader()


CONNECTORS = {"socket": Connector(source=_Socket())}
