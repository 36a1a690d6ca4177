"""Connectors: sources and sinks as plain data. Flink: ``pyflink.datastream.connectors``.

Names are loaded when they are first asked for, so that a program pays only for the connectors it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compat.compiler.datastream.connectors.base import DeliveryGuarantee, Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]

_MODULES = {
    "base": ("DeliveryGuarantee", "Sink", "Source"),
    "number_seq": ("NumberSequenceSource",),
    "jdbc": ("JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"),
    "kafka": ("FlinkKafkaConsumer", "FlinkKafkaProducer", "KafkaSource", "Semantic"),
    "dynamic_kafka": (
        "DynamicKafkaSource",
        "DynamicKafkaSourceBuilder",
        "KafkaMetadataService",
        "KafkaRecordDeserializationSchema",
        "KafkaStreamSetSubscriber",
        "KafkaStreamSubscriber",
        "SingleClusterTopicMetadataService",
        "StreamPatternSubscriber",
    ),
    "pulsar": ("PulsarSource", "PulsarSourceBuilder", "StartCursor", "StopCursor"),
    "rabbitmq": ("RMQConnectionConfig", "RMQSink", "RMQSource"),
    "file_system": (
        "BucketAssigner",
        "FileEnumeratorProvider",
        "FileSink",
        "FileSource",
        "FileSourceBuilder",
        "FileSplitAssignerProvider",
        "OutputFileConfig",
        "RollingPolicy",
        "StreamFormat",
        "StreamingFileSink",
    ),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
