"""A stream whose records are spread by key. Flink: ``KeyedStream``."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

from compat.compiler.datastream import _build
from compat.compiler.datastream._location import here
from compat.compiler.datastream._sink import DataStreamSink
from compat.compiler.datastream._stream import DataStream
from compat.compiler.datastream._text import same
from compat.compiler.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
    SinkFunction,
)
from compat.compiler.datastream.slot_sharing_group import SlotSharingGroup
from compat.compiler.errors import FlinkError, unsupported
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.alignment import KEYED_STREAM_VALUES
from compat.compiler.transformations.operators import Aggregate, Aggregation, KeyedFunction, Operator

if TYPE_CHECKING:
    from compat.compiler.datastream._cached import CachedDataStream
    from compat.compiler.datastream._connected import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
    from compat.compiler.datastream._windowed import WindowedStream
    from compat.compiler.datastream.common.typeinfo import TypeInformation
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
    from compat.compiler.datastream.window import WindowAssigner

__all__ = ["KeyedStream"]

_ARRAY_TYPES = frozenset({"BasicArrayTypeInfo", "PrimitiveArrayTypeInfo", "ObjectArrayTypeInfo"})


class KeyedStream(DataStream):
    """A stream after ``key_by``. Its records are rows of the key and the original record.

    It has no operator of its own: names, ids and parallelism belong to the operators behind it.
    """

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        id: int,
        original_data_type_info: Any,
        origin_stream: DataStream,
        key_type: Any,
        key_selector: Any,
    ) -> None:
        from compat.compiler.datastream.common.typeinfo import Types

        super().__init__(environment, id, operator=False)
        self._original_data_type_info = original_data_type_info
        self._origin_stream = origin_stream
        self._key_row_type = Types.ROW([key_type])
        self._key_selector = key_selector

    class AccumulateType(Enum):
        """The built-in ways to combine two records."""

        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """One record for each record, with access to the key's state."""
        _build.require(func, MapFunction, "map")
        return self._keyed("Map", ops.KeyedMap, func, output_type)

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Any number of records for each record, with access to the key's state."""
        _build.require(func, FlatMapFunction, "flat_map")
        return self._keyed("FlatMap", ops.KeyedFlatMap, func, output_type)

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Combines each record with all earlier ones of the same key."""
        _build.require(func, ReduceFunction, "reduce")
        return self._reduced(func, None)

    def filter(self, func: Callable[[Any], Any] | FilterFunction) -> DataStream:
        """The records for which ``func`` is true."""
        _build.require(func, FilterFunction, "filter")
        return self._keyed("Filter", ops.KeyedFilter, func, self._original_data_type_info)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The running sum of a field, in the first record of the key."""
        return self._accumulate(position_to_sum, KeyedStream.AccumulateType.SUM)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The smallest value of a field so far, in the first record of the key."""
        return self._accumulate(position_to_min, KeyedStream.AccumulateType.MIN)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The greatest value of a field so far, in the first record of the key."""
        return self._accumulate(position_to_max, KeyedStream.AccumulateType.MAX)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The record with the smallest value of a field so far."""
        return self._accumulate(position_to_min_by, KeyedStream.AccumulateType.MIN_BY)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The record with the greatest value of a field so far."""
        return self._accumulate(position_to_max_by, KeyedStream.AccumulateType.MAX_BY)

    def add_sink(self, sink_func: SinkFunction) -> DataStreamSink:
        """End the stream in a sink of the old kind; the key is dropped first."""
        return self._values().add_sink(sink_func)

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """The original stream by another key."""
        return self._origin_stream.key_by(key_selector, key_type)

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """The records that a :class:`KeyedProcessFunction` yields for each record and timer."""
        if not isinstance(func, KeyedProcessFunction):
            raise TypeError(f"process on a keyed stream takes a KeyedProcessFunction, not {type(func).__name__}.")
        return self._keyed("KEYED PROCESS", ops.KeyedProcess, func, output_type)

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Windows for each key."""
        from compat.compiler.datastream._windowed import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of ``size`` records of a key, a new one every ``slide`` records."""
        from compat.compiler.datastream._windowed import WindowedStream
        from compat.compiler.datastream.window import CountSlidingWindowAssigner, CountTumblingWindowAssigner

        if slide == 0:
            return WindowedStream(self, CountTumblingWindowAssigner(size))
        return WindowedStream(self, CountSlidingWindowAssigner(size, slide))

    def union(self, *streams: DataStream) -> DataStream:
        """This stream and others as one; the key is dropped first."""
        return self._values().union(*streams)

    def connect(  # type: ignore[override]
        self, ds: DataStream | BroadcastStream
    ) -> ConnectedStreams | BroadcastConnectedStream:
        """This stream and another one as the two inputs of one operator."""
        return super().connect(ds)

    def project(self, *field_indexes: int) -> DataStream:
        """Some fields of a stream of tuples; the key is dropped first."""
        return self._values().project(*field_indexes)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Write the records to the standard output of the tasks. PyFlink drops the identifier here, and so do we."""
        return self._values().print()

    def shuffle(self) -> DataStream:
        self._refuse_partitioning()

    def rescale(self) -> DataStream:
        self._refuse_partitioning()

    def rebalance(self) -> DataStream:
        self._refuse_partitioning()

    def forward(self) -> DataStream:
        self._refuse_partitioning()

    def broadcast(self, *args: Any) -> NoReturn:
        self._refuse_partitioning()

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> DataStream:
        self._refuse_partitioning()

    def set_parallelism(self, parallelism: int) -> DataStream:
        self._refuse("set_parallelism")

    def name(self, name: str) -> DataStream:
        self._refuse("name")

    def get_name(self) -> str:
        self._refuse("get_name")

    def uid(self, uid: str) -> DataStream:
        self._refuse("uid")

    def set_uid_hash(self, uid_hash: str) -> DataStream:
        self._refuse("set_uid_hash")

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        self._refuse("set_max_parallelism")

    def force_non_parallel(self) -> DataStream:
        self._refuse("force_non_parallel")

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        self._refuse("set_buffer_timeout")

    def start_new_chain(self) -> DataStream:
        self._refuse("start_new_chain")

    def disable_chaining(self) -> DataStream:
        self._refuse("disable_chaining")

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> DataStream:
        self._refuse("slot_sharing_group")

    def cache(self) -> CachedDataStream:
        self._refuse("cache")

    def _keyed(
        self,
        name: str,
        kind: type[KeyedFunction],
        function: Any,
        output_type: Any,
        **parameters: Any,
    ) -> DataStream:
        operator = _build.python_operator(
            self._environment, kind, function, key_selector=self._key_selector, **parameters
        )
        return self._keyed_operator(name, operator, output_type)

    def _keyed_operator(
        self, name: str, operator: Operator, output_type: Any, description: str | None = None
    ) -> DataStream:
        made = _build.one_input(
            self._environment,
            self._id,
            name,
            _build.output_type_of(output_type),
            operator,
            keyed=True,
            key_type=self._key_row_type,
            description=description,
        )
        return DataStream(self._environment, made.id)

    def _accumulate(self, position: int | str, how: AccumulateType) -> DataStream:
        if not isinstance(position, int | str):
            raise TypeError(
                f"{how.name.lower()} takes the number or the name of a field, not {type(position).__name__}."
            )
        return self._reduced(None, Aggregation(how=Aggregate[how.name], field=position))

    def _reduced(self, function: Any, aggregation: Aggregation | None) -> DataStream:
        """``value_type`` stays with the operator when others are merged into it, which changes the type of its output."""
        value_type = self._original_data_type_info
        return self._keyed(
            "Reduce", ops.KeyedReduce, function, value_type, aggregation=aggregation, value_type=value_type
        )

    def _values(self) -> DataStream:
        return self._keyed(KEYED_STREAM_VALUES, ops.KeyedValues, same, self._original_data_type_info)

    def _without_key(self) -> DataStream:
        return self._values()

    def _key(self) -> Any:
        return self._key_row_type

    def _refuse_partitioning(self) -> NoReturn:
        raise unsupported("Cannot override partitioning for KeyedStream.", location=here())

    def _refuse(self, what: str) -> NoReturn:
        raise unsupported(
            f"{what} is not supported for KeyedStream: call it on the operator behind it.", location=here()
        )


def check_key_type(key_row_type: Any) -> None:
    """Refuse types that Flink does not accept as keys: the hash of an array differs between machines."""
    refused: list[Any] = []
    pending = [key_row_type]
    while pending:
        key_type = pending.pop()
        if type(key_type).__name__ in _ARRAY_TYPES:
            refused.append(key_type)
        elif type(key_type).__name__ in ("RowTypeInfo", "TupleTypeInfo"):
            pending.extend(key_type.get_field_types())
    if refused:
        raise FlinkError(
            "org.apache.flink.api.common.InvalidProgramException",
            f"Type {key_row_type} cannot be used as key. Contained UNSUPPORTED key types: "
            f"{', '.join(map(str, refused))}. Look at the keyBy() documentation for the conditions a type has to "
            "satisfy in order to be eligible for a key.",
            location=here(),
        )
