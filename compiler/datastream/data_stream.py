"""The streams of the API. Flink: ``pyflink.datastream.data_stream``."""

from __future__ import annotations

from compiler.datastream._cached import CachedDataStream
from compiler.datastream._connected import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
from compiler.datastream._iterative import ConnectedIterativeStreams, IterativeStream
from compiler.datastream._iterator import CloseableIterator
from compiler.datastream._keyed import KeyedStream
from compiler.datastream._multiple import MultipleConnectedStreams
from compiler.datastream._sink import DataStreamSink
from compiler.datastream._stream import DataStream, DataStreamSource
from compiler.datastream._windowed import WINDOW_STATE_NAME, AllWindowedStream, WindowedStream

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
