"""Any number of streams in one operator. Flink: ``MultipleConnectedStreams`` and its transformations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compat.compiler.datastream import _build
from compat.compiler.datastream._location import here
from compat.compiler.datastream._stream import DataStream
from compat.compiler.errors import unsupported
from compat.compiler.transformations.kinds import (
    KeyedMultipleInputTransformation,
    MultipleInputTransformation,
)
from compat.compiler.transformations.operators import KeyedMultipleInput, MultipleInput

if TYPE_CHECKING:
    from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["MultipleConnectedStreams"]


class MultipleConnectedStreams:
    """Streams, each with a type of its own, that one operator reads; all keyed by the same type, or none.

    The function has a method ``process_element(input, value, ctx)``; inputs are counted from 1.
    """

    __module__ = "pyflink.datastream.data_stream"

    def __init__(self, environment: StreamExecutionEnvironment, *streams: DataStream) -> None:
        self._environment = environment
        self._streams = streams

    def transform(self, name: str, function: Any, output_type: Any = None) -> DataStream:
        """The operator; gives the stream of what it emits."""
        if not self._streams:
            raise TypeError("An operator with multiple inputs needs at least one stream.")
        keys = [stream._key() for stream in self._streams]
        if any(key != keys[0] for key in keys):
            raise unsupported(
                "An operator with multiple inputs needs streams that are all keyed by the same type, or all not keyed.",
                operator=name,
                location=here(),
            )
        keyed = keys[0] is not None
        pipeline = self._environment.pipeline
        fields: dict[str, Any] = {
            "id": pipeline.new_id(),
            "name": name,
            "input_list": tuple(stream._id for stream in self._streams),
            "output_type": _build.output_type_of(output_type),
            "parallelism": self._environment.get_parallelism(),
            "operator": (KeyedMultipleInput if keyed else MultipleInput)(
                function=function,
                key_selectors=tuple(getattr(stream, "_key_selector", None) for stream in self._streams),
            ),
            "location": here(),
        }
        made = (
            KeyedMultipleInputTransformation(key_type=keys[0], **fields)
            if keyed
            else MultipleInputTransformation(**fields)
        )
        return DataStream(self._environment, pipeline.add(made).id)
