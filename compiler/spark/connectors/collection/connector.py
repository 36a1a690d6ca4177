"""The connector for collections."""

from __future__ import annotations

from typing import Any

from compat.compiler.spark.connectors.base import Connector, SourceConnector
from compat.compiler.spark.connectors.collection.source import CollectionEnumerator, CollectionReader


class _Collection(SourceConnector):
    def enumerator(self, source: Any, parallelism: int) -> CollectionEnumerator:
        return CollectionEnumerator(source)

    def reader(self, source: Any, output_type: Any) -> CollectionReader:
        return CollectionReader(output_type)


CONNECTORS = {"collection": Connector(source=_Collection())}
