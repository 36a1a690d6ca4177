"""A stream of records. Flink: ``DataStream`` and ``SingleOutputStreamOperator``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from compat.compiler.datastream import _build
from compat.compiler.datastream._iterator import CloseableIterator
from compat.compiler.datastream._location import here
from compat.compiler.datastream._operator_settings import OperatorSettings
from compat.compiler.datastream._sink import DataStreamSink
from compat.compiler.datastream._stream_outputs import StreamOutputs
from compat.compiler.datastream.beyond.streams import StreamBeyond
from compat.compiler.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
)
from compat.compiler.datastream.slot_sharing_group import SlotSharingGroup
from compat.compiler.errors import ProgramError, illegal_argument
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations import partitioners
from compat.compiler.transformations.alignment import KEY_BY_MAP, KEYED_STREAM_VALUES, PARTITION_CUSTOM_MAP
from compat.compiler.transformations.kinds import Union
from compat.compiler.transformations.operators import ChainingStrategy, PythonFunction
from compat.compiler.transformations.partitioners import Ship

if TYPE_CHECKING:
    from compat.compiler.datastream._cached import CachedDataStream
    from compat.compiler.datastream._connected import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
    from compat.compiler.datastream._keyed import KeyedStream
    from compat.compiler.datastream._windowed import AllWindowedStream
    from compat.compiler.datastream.common.execution_config import ExecutionConfig
    from compat.compiler.datastream.common.typeinfo import TypeInformation
    from compat.compiler.datastream.output_tag import OutputTag
    from compat.compiler.datastream.state import MapStateDescriptor
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
    from compat.compiler.datastream.window import WindowAssigner

__all__ = ["CloseableIterator", "DataStream", "DataStreamSink", "DataStreamSource"]


class DataStream(StreamOutputs, OperatorSettings, StreamBeyond):
    """A stream: a handle of the transformation that makes its records.

    ``operator`` is False for a union and for a partitioned stream, which have no operator that settings could be for.
    """

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        id: int,
        *,
        operator: bool = True,
        parallel: bool = True,
    ) -> None:
        self._environment = environment
        self._id = id
        self._operator = operator
        self._parallel = parallel
        self._side_outputs: dict[str, Any] = {}

    def get_name(self) -> str:
        """The name of the operator behind the stream."""
        self._refuse_without_operator("get_name")
        return self._transformation.name

    def name(self, name: str) -> DataStream:
        """The name that is shown; it changes no id."""
        self._refuse_without_operator("name")
        return self._update(name=name)

    def uid(self, uid: str) -> DataStream:
        """The id that state is found by, over all versions of the program."""
        self._refuse_without_operator("uid")
        return self._update(uid=uid)

    def set_uid_hash(self, uid_hash: str) -> DataStream:
        """The operator id itself, as 32 hexadecimal digits."""
        self._refuse_without_operator("set_uid_hash")
        return self._set_uid_hash(uid_hash)

    def set_parallelism(self, parallelism: int) -> DataStream:
        self._refuse_without_operator("set_parallelism")
        return self._set_parallelism(parallelism, parallel=self._parallel)

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """The number of key groups, and so the most that the operator can ever be scaled to."""
        self._refuse_without_operator("set_max_parallelism")
        return self._set_max_parallelism(max_parallelism, parallel=self._parallel)

    def get_type(self) -> TypeInformation:
        """The type of the records."""
        return _build.type_in_python(self._transformation.output_type)  # type: ignore[no-any-return]

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        return self._environment.get_config()

    def force_non_parallel(self) -> DataStream:
        """Run as one subtask, whatever is set elsewhere."""
        self._refuse_without_operator("force_non_parallel")
        self._parallel = False
        return self._update(parallelism=1, parallelism_configured=True, max_parallelism=1)

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        """Set how long a buffer may wait to be filled; 0 sends each record at once, -1 waits for full ones."""
        self._refuse_without_operator("set_buffer_timeout")
        if timeout_millis < -1:
            raise self._wrong("timeout must be >= -1")
        return self._update(buffer_timeout=timeout_millis)

    def start_new_chain(self) -> DataStream:
        """Do not run in the thread of the previous operator."""
        self._refuse_without_operator("start_new_chain")
        return self._set_chaining(ChainingStrategy.HEAD)

    def disable_chaining(self) -> DataStream:
        """Never share a thread with neighbouring operators."""
        self._refuse_without_operator("disable_chaining")
        return self._set_chaining(ChainingStrategy.NEVER)

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> DataStream:
        """Run in slots of that group only; operators after this one follow."""
        self._refuse_without_operator("slot_sharing_group")
        return self._set_slot_sharing_group(slot_sharing_group)

    def set_description(self, description: str) -> DataStream:
        """A longer text than the name, for people."""
        self._refuse_without_operator("set_description")
        return self._update(description=description)

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """One record for each record."""
        _build.require(func, MapFunction, "map")
        return self._python("Map", ops.Map, func, output_type)

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Any number of records for each record."""
        _build.require(func, FlatMapFunction, "flat_map")
        return self._python("FlatMap", ops.FlatMap, func, output_type)

    def filter(self, func: Callable[[Any], Any] | FilterFunction) -> DataStream:
        """The records for which ``func`` is true."""
        _build.require(func, FilterFunction, "filter")
        return self._python("Filter", ops.Filter, func, self.get_type())

    def process(self, func: ProcessFunction, output_type: TypeInformation | None = None) -> DataStream:
        """The records that a process function yields for each record."""
        return self._python("PROCESS", ops.Process, func, output_type)

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """The same records, spread by key: a map that puts the key before the record, and a partition."""
        from compat.compiler.datastream._keyed import KeyedStream, check_key_type
        from compat.compiler.datastream.common.typeinfo import Types

        _build.require(key_selector, KeySelector, "key_by")
        value_type = self.get_type()
        key_type = _build.pickled() if key_type is None else key_type
        with_key = self._python(
            KEY_BY_MAP,
            ops.KeyByMap,
            key_selector,
            Types.ROW([key_type, value_type]),
            key_type=key_type,
        )
        partitioner = partitioners.Partitioner(Ship.HASH, selector=self._environment.program.new_selector())
        id = _build.partition(self._environment, with_key._id, partitioner)
        check_key_type(Types.ROW([key_type]))
        return KeyedStream(self._environment, id, value_type, self, key_type, key_selector)

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Windows over all records."""
        from compat.compiler.datastream._windowed import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def union(self, *streams: DataStream) -> DataStream:
        """This stream and others of the same type as one."""
        all_streams = [self, *(stream._without_key() for stream in streams)]
        own_type = self._transformation.output_type
        for stream in all_streams[1:]:
            other_type = stream._transformation.output_type
            if other_type != own_type:
                raise illegal_argument(
                    f"Cannot union streams of different types: {own_type} and {other_type}",
                    location=here(),
                )
        pipeline = self._environment.pipeline
        first = self._transformation
        union = pipeline.add(
            Union(
                id=pipeline.new_id(),
                name="Union",
                input_list=tuple(stream._id for stream in all_streams),
                output_type=own_type,
                parallelism=first.parallelism,
                parallelism_configured=True,
                location=here(),
            ),
            register=False,
        )
        return DataStream(self._environment, union.id, operator=False)

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """This stream and another one, of whatever type, as the two inputs of one operator."""
        from compat.compiler.datastream._connected import (
            BroadcastConnectedStream,
            BroadcastStream,
            ConnectedStreams,
        )

        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        return ConnectedStreams(self, ds)

    def shuffle(self) -> DataStream:
        """Records to random subtasks."""
        return self._partitioned(partitioners.SHUFFLE)

    def rescale(self) -> DataStream:
        """Records in turn to some near subtasks."""
        return self._partitioned(partitioners.RESCALE)

    def rebalance(self) -> DataStream:
        """Records in turn to all subtasks."""
        return self._partitioned(partitioners.REBALANCE)

    def forward(self) -> DataStream:
        """Records to the subtask of the same number."""
        return self._partitioned(partitioners.FORWARD)

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Each record to all subtasks; with descriptors, for an operator that keeps broadcast state."""
        everywhere = self._partitioned(partitioners.BROADCAST)
        if broadcast_state_descriptor is None:
            return everywhere
        from compat.compiler.datastream._connected import BroadcastStream
        from compat.compiler.datastream.state import MapStateDescriptor

        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        for descriptor in descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise TypeError(
                    f"Broadcast state is described by a MapStateDescriptor, not {type(descriptor).__name__}."
                )
        return BroadcastStream(everywhere, descriptors)

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> DataStream:
        """Records to the subtask that ``partitioner`` names for their key."""
        from compat.compiler.datastream._text import second
        from compat.compiler.datastream.common.typeinfo import Types

        _build.require(partitioner, Partitioner, "partition_custom")
        _build.require(key_selector, KeySelector, "partition_custom")
        value_type = self.get_type()
        with_target = self._python(
            PARTITION_CUSTOM_MAP,
            ops.PartitionCustomMap,
            partitioner,
            Types.ROW([Types.INT(), value_type]),
            key_selector=key_selector,
        )
        ship = partitioners.Partitioner(Ship.CUSTOM, selector=self._environment.program.new_selector())
        spread = DataStream(self._environment, _build.partition(self._environment, with_target._id, ship))
        return spread._python(KEYED_STREAM_VALUES, ops.PartitionCustomValues, second, value_type)

    def cache(self) -> CachedDataStream:
        """The same stream, kept after the job so that later ones need not make it again (batch only)."""
        from compat.compiler.datastream._cached import CachedDataStream

        self._refuse_without_operator("cache")
        return CachedDataStream.of(self)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The records that the operator emitted under a tag: the side output, and a map behind it."""
        self._refuse_without_operator("get_side_output")
        return self._side_output(output_tag)

    def _partitioned(self, partitioner: partitioners.Partitioner) -> DataStream:
        id = _build.partition(self._environment, self._id, partitioner)
        return DataStream(self._environment, id, operator=False)

    def _python(
        self,
        name: str,
        kind: type[PythonFunction],
        function: Any,
        output_type: Any,
        **parameters: Any,
    ) -> DataStream:
        operator = _build.python_operator(self._environment, kind, function, **parameters)
        made = _build.one_input(self._environment, self._id, name, _build.output_type_of(output_type), operator)
        return DataStream(self._environment, made.id)

    def _without_key(self) -> DataStream:
        return self

    def _refuse_without_operator(self, what: str) -> None:
        if not self._operator:
            raise ProgramError(
                f"{what} needs an operator, and a {self._transformation.name.lower()} is none: "
                "call it on the operator before or after.",
                operator=self._transformation.name,
                location=here(),
            )


class DataStreamSource(DataStream):
    """The stream that a source makes. Flink: ``DataStreamSource``."""

    __module__ = "pyflink.datastream.data_stream"
