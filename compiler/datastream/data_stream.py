"""The streams of the API. Flink: ``pyflink.datastream.data_stream``.

Names are loaded when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compat.compiler.datastream._cached import CachedDataStream
    from compat.compiler.datastream._connected import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
    from compat.compiler.datastream._iterator import CloseableIterator
    from compat.compiler.datastream._keyed import KeyedStream
    from compat.compiler.datastream._sink import DataStreamSink
    from compat.compiler.datastream._stream import DataStream, DataStreamSource
    from compat.compiler.datastream._windowed import WINDOW_STATE_NAME, AllWindowedStream, WindowedStream
    from compat.compiler.datastream.beyond.iterative import ConnectedIterativeStreams, IterativeStream
    from compat.compiler.datastream.beyond.multiple import MultipleConnectedStreams

__all__ = [
    "WINDOW_STATE_NAME",
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
]

_MODULES = {
    "_cached": ("CachedDataStream",),
    "_connected": ("BroadcastConnectedStream", "BroadcastStream", "ConnectedStreams"),
    "beyond.iterative": ("ConnectedIterativeStreams", "IterativeStream"),
    "_iterator": ("CloseableIterator",),
    "_keyed": ("KeyedStream",),
    "beyond.multiple": ("MultipleConnectedStreams",),
    "_sink": ("DataStreamSink",),
    "_stream": ("DataStream", "DataStreamSource"),
    "_windowed": ("WINDOW_STATE_NAME", "AllWindowedStream", "WindowedStream"),
}
_HOME = {name: f"compat.compiler.datastream.{module}" for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
