"""ORC files. Flink: ``pyflink.datastream.formats.orc``."""

from __future__ import annotations

from typing import Any

from compat.compiler.datastream.common.serialization import BulkWriterFactory, RowDataBulkWriterFactory
from compat.compiler.datastream.formats._row_types import type_of
from compat.compiler.datastream.utils import create_hadoop_configuration, create_java_properties

__all__ = ["OrcBulkWriters"]


class OrcBulkWriters:
    """Writers of ORC files (Flink: ``OrcBulkWriterFactory``)."""

    @staticmethod
    def for_row_type(row_type: Any, writer_properties: Any = None, hadoop_config: Any = None) -> BulkWriterFactory:
        """Files of rows of this type."""
        return RowDataBulkWriterFactory(
            "OrcBulkWriterFactory",
            row_type,
            format="orc",
            settings={
                "row_type": type_of(row_type),
                "writer_properties": create_java_properties(writer_properties),
                "hadoop_config": create_hadoop_configuration(hadoop_config),
            },
        )
