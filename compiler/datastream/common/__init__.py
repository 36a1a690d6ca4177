"""The types, settings and clients that all APIs share. Flink: ``pyflink.common``.

Names are loaded when they are first asked for, so that a program pays only for what it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compat.compiler.datastream.common.completable_future import CompletableFuture
    from compat.compiler.datastream.common.config_options import ConfigOption, ConfigOptions
    from compat.compiler.datastream.common.configuration import Configuration
    from compat.compiler.datastream.common.execution_config import ExecutionConfig
    from compat.compiler.datastream.common.execution_mode import ExecutionMode
    from compat.compiler.datastream.common.input_dependency_constraint import InputDependencyConstraint
    from compat.compiler.datastream.common.job_client import JobClient
    from compat.compiler.datastream.common.job_execution_result import JobExecutionResult
    from compat.compiler.datastream.common.job_id import JobID
    from compat.compiler.datastream.common.job_status import JobStatus
    from compat.compiler.datastream.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
    from compat.compiler.datastream.common.serialization import (
        ByteArraySchema,
        DeserializationSchema,
        Encoder,
        SerializationSchema,
        SimpleStringSchema,
    )
    from compat.compiler.datastream.common.serializer import TypeSerializer
    from compat.compiler.datastream.common.time import Duration, Instant, Time
    from compat.compiler.datastream.common.typeinfo import TypeInformation, Types
    from compat.compiler.datastream.common.types import Row, RowKind
    from compat.compiler.datastream.common.watermark_strategy import (
        AssignerWithPeriodicWatermarksWrapper,
        WatermarkStrategy,
    )

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "ExecutionMode",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkStrategy",
]

_MODULES = {
    "completable_future": ("CompletableFuture",),
    "config_options": ("ConfigOption", "ConfigOptions"),
    "configuration": ("Configuration",),
    "execution_config": ("ExecutionConfig",),
    "execution_mode": ("ExecutionMode",),
    "input_dependency_constraint": ("InputDependencyConstraint",),
    "job_client": ("JobClient",),
    "job_execution_result": ("JobExecutionResult",),
    "job_id": ("JobID",),
    "job_status": ("JobStatus",),
    "restart_strategy": ("RestartStrategies", "RestartStrategyConfiguration"),
    "serialization": (
        "ByteArraySchema",
        "DeserializationSchema",
        "Encoder",
        "SerializationSchema",
        "SimpleStringSchema",
    ),
    "serializer": ("TypeSerializer",),
    "time": ("Duration", "Instant", "Time"),
    "typeinfo": ("TypeInformation", "Types"),
    "types": ("Row", "RowKind"),
    "watermark_strategy": ("AssignerWithPeriodicWatermarksWrapper", "WatermarkStrategy"),
}
_FORMATS = {
    "json": ("JsonRowDeserializationSchema", "JsonRowSerializationSchema"),
    "csv": ("CsvRowDeserializationSchema", "CsvRowSerializationSchema"),
    "avro": ("AvroRowDeserializationSchema", "AvroRowSerializationSchema"),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names} | {
    name: f"compat.compiler.datastream.formats.{module}" for module, names in _FORMATS.items() for name in names
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
