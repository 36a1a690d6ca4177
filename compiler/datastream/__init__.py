"""The DataStream API. Flink: ``pyflink.datastream``, name for name and module for module.

Calls build transformations and nothing else. Names are loaded when they are first asked for, so that a program pays
only for what it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "async_data_stream": ("AsyncDataStream",),
    "checkpoint_config": ("CheckpointConfig", "ExternalizedCheckpointCleanup"),
    "checkpoint_storage": (
        "CheckpointStorage",
        "CustomCheckpointStorage",
        "FileSystemCheckpointStorage",
        "JobManagerCheckpointStorage",
    ),
    "checkpointing_mode": ("CheckpointingMode",),
    "data_stream": (
        "AllWindowedStream",
        "BroadcastConnectedStream",
        "BroadcastStream",
        "CachedDataStream",
        "CloseableIterator",
        "ConnectedIterativeStreams",
        "ConnectedStreams",
        "DataStream",
        "DataStreamSink",
        "DataStreamSource",
        "IterativeStream",
        "KeyedStream",
        "MultipleConnectedStreams",
        "WindowedStream",
    ),
    "execution_mode": ("RuntimeExecutionMode",),
    "externalized_checkpoint_retention": ("ExternalizedCheckpointRetention",),
    "functions": (
        "AggregateFunction",
        "AllWindowFunction",
        "AsyncFunction",
        "AsyncRetryPredicate",
        "AsyncRetryStrategy",
        "BroadcastProcessFunction",
        "CoFlatMapFunction",
        "CoMapFunction",
        "CoProcessFunction",
        "FilterFunction",
        "FlatMapFunction",
        "KeySelector",
        "KeyedBroadcastProcessFunction",
        "KeyedCoProcessFunction",
        "KeyedProcessFunction",
        "MapFunction",
        "Partitioner",
        "ProcessAllWindowFunction",
        "ProcessFunction",
        "ProcessWindowFunction",
        "ReduceFunction",
        "RuntimeContext",
        "SinkFunction",
        "SourceFunction",
        "WindowFunction",
    ),
    "output_tag": ("OutputTag",),
    "slot_sharing_group": ("MemorySize", "SlotSharingGroup"),
    "state_backend": (
        "CustomStateBackend",
        "EmbeddedRocksDBStateBackend",
        "FsStateBackend",
        "HashMapStateBackend",
        "MemoryStateBackend",
        "PredefinedOptions",
        "RocksDBStateBackend",
        "StateBackend",
    ),
    "stream_execution_environment": ("StreamExecutionEnvironment",),
    "time_characteristic": ("TimeCharacteristic",),
    "time_domain": ("TimeDomain",),
    "timerservice": ("TimerService",),
    "window": (
        "CountWindow",
        "GlobalWindow",
        "MergingWindowAssigner",
        "TimeWindow",
        "Trigger",
        "TriggerResult",
        "Window",
        "WindowAssigner",
    ),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
