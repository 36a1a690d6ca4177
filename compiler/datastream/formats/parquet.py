"""Parquet files. Flink: ``pyflink.datastream.formats.parquet``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.common.serialization import BulkWriterFactory, RowDataBulkWriterFactory
from compat.compiler.datastream.connectors.file_source import BulkFormat, StreamFormat
from compat.compiler.datastream.formats._row_types import type_of
from compat.compiler.datastream.utils import create_hadoop_configuration
from compat.state.types import ExternalTypeInfo, GenericRecordAvroTypeInfo

if TYPE_CHECKING:
    from compat.compiler.datastream.formats.avro import AvroSchema

__all__ = ["AvroParquetReaders", "AvroParquetWriters", "ParquetBulkWriters", "ParquetColumnarRowInputFormat"]


class AvroParquetReaders:
    """Parquet files of Avro records as a source (Flink: ``AvroParquetReaders``)."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Files of records with this schema."""
        return StreamFormat("avro-parquet", produced_type=GenericRecordAvroTypeInfo(schema), schema=schema)


class AvroParquetWriters:
    """Writers of Parquet files of Avro records (Flink: ``AvroParquetWriters``)."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Files of records with this schema."""
        return BulkWriterFactory("ParquetWriterFactory", format="avro-parquet", settings={"schema": schema})


class ParquetColumnarRowInputFormat(BulkFormat):
    """Parquet files of rows as a source (Flink: ``ParquetColumnarRowInputFormat``)."""

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        super().__init__(
            "parquet",
            produced_type=ExternalTypeInfo(type_of(row_type), internal=True),
            row_type=row_type,
            hadoop_config=create_hadoop_configuration(hadoop_config),
            batch_size=batch_size,
            is_utc_timestamp=is_utc_timestamp,
            is_case_sensitive=is_case_sensitive,
        )


class ParquetBulkWriters:
    """Writers of Parquet files of rows (Flink: ``ParquetRowDataBuilder``)."""

    @staticmethod
    def for_row_type(row_type: Any, hadoop_config: Any = None, utc_timestamp: bool = False) -> BulkWriterFactory:
        """Files of rows of this type."""
        return RowDataBulkWriterFactory(
            "ParquetWriterFactory",
            row_type,
            format="parquet",
            settings={
                "row_type": type_of(row_type),
                "hadoop_config": create_hadoop_configuration(hadoop_config),
                "utc_timestamp": utc_timestamp,
            },
        )
