"""Two streams in one operator. Flink: ``ConnectedStreams``, ``BroadcastStream``, ``BroadcastConnectedStream``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream import _build
from compat.compiler.datastream._keyed import KeyedStream
from compat.compiler.datastream._location import here
from compat.compiler.datastream._stream import DataStream
from compat.compiler.datastream.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeySelector,
)
from compat.compiler.errors import unsupported
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.kinds import (
    BroadcastStateTransformation,
    KeyedBroadcastStateTransformation,
)

if TYPE_CHECKING:
    from compat.compiler.datastream.common.typeinfo import TypeInformation
    from compat.compiler.datastream.state import MapStateDescriptor

__all__ = ["BroadcastConnectedStream", "BroadcastStream", "ConnectedStreams"]


class ConnectedStreams:
    """Two streams, each with a type of its own. They share state when both are keyed."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Callable[[Any], Any] | KeySelector,
        key_selector2: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """The same two streams by key; equal keys meet in the same subtask."""
        return ConnectedStreams(
            _origin(self.stream1).key_by(key_selector1, key_type),
            _origin(self.stream2).key_by(key_selector2, key_type),
        )

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """At most one record for each record."""
        if not isinstance(func, CoMapFunction):
            raise TypeError(f"map on connected streams takes a CoMapFunction, not {type(func).__name__}.")
        return self._python("Co-Map", ops.CoMap, ops.KeyedCoMap, func, output_type)

    def flat_map(self, func: CoFlatMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Any number of records for each record."""
        if not isinstance(func, CoFlatMapFunction):
            raise TypeError(f"flat_map on connected streams takes a CoFlatMapFunction, not {type(func).__name__}.")
        return self._python("Co-Flat Map", ops.CoFlatMap, ops.KeyedCoFlatMap, func, output_type)

    def process(
        self,
        func: CoProcessFunction | KeyedCoProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The records that a process function yields for those of both streams."""
        if not isinstance(func, CoProcessFunction | KeyedCoProcessFunction):
            raise TypeError(
                "process on connected streams takes a CoProcessFunction or a KeyedCoProcessFunction, "
                f"not {type(func).__name__}."
            )
        name = "Keyed Co-Process" if self._is_keyed_stream() else "Co-Process"
        return self._python(name, ops.CoProcess, ops.KeyedCoProcess, func, output_type)

    def _is_keyed_stream(self) -> bool:
        return isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream)

    def _python(
        self,
        name: str,
        kind: type[ops.CoFunction],
        keyed_kind: type[ops.KeyedCoFunction],
        function: Any,
        output_type: TypeInformation | None,
    ) -> DataStream:
        environment = self.stream1._environment
        key1, key2 = self.stream1._key(), self.stream2._key()
        if key1 is not None and key2 is not None and key1 != key2:
            raise unsupported(f"Key types if input KeyedStreams don't match: {key1} and {key2}.", location=here())
        operator = _build.python_operator(
            environment,
            keyed_kind if self._is_keyed_stream() else kind,
            function,
            key_selector1=_key_selector(self.stream1),
            key_selector2=_key_selector(self.stream2),
        )
        made = _build.two_inputs(
            environment,
            (self.stream1._id, self.stream2._id),
            name,
            _build.output_type_of(output_type),
            operator,
            keyed1=key1 is not None,
            keyed2=key2 is not None,
            key_type=key2 if key2 is not None else key1,
        )
        return DataStream(environment, made.id)


class BroadcastStream:
    """A stream that goes to all subtasks, and the states that its readers make of it."""

    def __init__(
        self,
        input_stream: DataStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)


class BroadcastConnectedStream:
    """A stream and a broadcast stream."""

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any] | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The records that a broadcast process function yields for those of both streams."""
        stream = self.non_broadcast_stream
        key_type = stream._key()
        wanted = BroadcastProcessFunction if key_type is None else KeyedBroadcastProcessFunction
        if not isinstance(func, wanted):
            what = "a keyed stream" if key_type is not None else "a stream that is not keyed"
            raise TypeError(f"process on {what} takes a {wanted.__name__}, not {type(func).__name__}.")
        environment = stream._environment
        pipeline = environment.pipeline
        fields: dict[str, Any] = {
            "id": pipeline.new_id(),
            "regular_input": stream._id,
            "broadcast_input": self.broadcast_stream.input_stream._id,
            "output_type": _build.output_type_of(output_type),
            "parallelism": environment.get_parallelism(),
            "parallelism_configured": True,
            "location": here(),
        }
        states = tuple(self.broadcast_state_descriptors)
        made: BroadcastStateTransformation
        if key_type is None:
            plain = _build.python_operator(environment, ops.BroadcastProcess, func, state_descriptors=states)
            made = BroadcastStateTransformation(name="Co-Process-Broadcast", operator=plain, **fields)
        else:
            keyed = _build.python_operator(
                environment,
                ops.KeyedBroadcastProcess,
                func,
                key_selector=_key_selector(stream),
                state_descriptors=states,
            )
            made = KeyedBroadcastStateTransformation(
                name="Keyed-Co-Process-Broadcast", operator=keyed, key_type=key_type, **fields
            )
        return DataStream(environment, pipeline.add(made).id)


def _key_selector(stream: DataStream) -> Any:
    """The key selector of a keyed stream; None for any other."""
    return stream._key_selector if isinstance(stream, KeyedStream) else None


def _origin(stream: DataStream) -> DataStream:
    return stream._origin_stream if isinstance(stream, KeyedStream) else stream
