"""The calls of a stream that end it, collect it, or put operators of Flink's own behind it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream import _build
from compat.compiler.datastream._iterator import CloseableIterator
from compat.compiler.datastream._location import here
from compat.compiler.datastream._operator_settings import OperatorSettings
from compat.compiler.datastream._sink import DataStreamSink
from compat.compiler.errors import illegal_argument, illegal_state, unsupported
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.kinds import LegacySink, Sink, TimestampsAndWatermarks
from compat.compiler.transformations.operators import Operator

if TYPE_CHECKING:
    from compat.compiler.datastream._stream import DataStream
    from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
    from compat.compiler.datastream.functions import SinkFunction
    from compat.compiler.datastream.output_tag import OutputTag


class StreamOutputs(OperatorSettings):
    """Part of :class:`DataStream`."""

    _side_outputs: dict[str, Any]

    def project(self, *field_indexes: int) -> DataStream:
        """Some fields of a stream of tuples."""
        from compat.compiler.datastream.common.typeinfo import TupleTypeInfo, Types

        tuple_type = _build.type_in_python(self._transformation.output_type)
        if not isinstance(tuple_type, TupleTypeInfo):
            raise TypeError(f"Only streams of tuples can be projected, and this one has the type {tuple_type}.")
        types = tuple_type.get_field_types()
        for index in field_indexes:
            if not 0 <= index < len(types):
                raise illegal_argument(
                    f"There is no field {index} in a tuple of {len(types)}: fields are counted from 0.",
                    location=here(),
                )
        return self._java(
            "Projection",
            ops.Project(positions=field_indexes),
            Types.TUPLE([types[index] for index in field_indexes]),
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """The same records with timestamps, and watermarks among them.

        With a timestamp assigner three operators: one that calls it, Flink's own, and one that takes the timestamp off.
        """
        from compat.compiler.datastream.common.typeinfo import Types

        assigner = getattr(watermark_strategy, "_timestamp_assigner", None)
        if assigner is None:
            return self._watermarked(watermark_strategy)
        value_type = _build.type_in_python(self._transformation.output_type)
        timed = self._as_stream()._python(
            "Extract-Timestamp", ops.ExtractTimestamp, assigner, Types.TUPLE([value_type, Types.LONG()])
        )
        watermarked = timed._watermarked(watermark_strategy)
        return watermarked._java("Remove-Timestamp", ops.RemoveTimestamp(), value_type)

    def add_sink(self, sink_func: SinkFunction) -> DataStreamSink:
        """End the stream in a sink of the old kind."""
        return self._legacy_sink("Unnamed", ops.LegacySink(function=sink_func))

    def sink_to(self, sink: Any) -> DataStreamSink:
        """End the stream in a sink, which may be several operators."""
        get_transformer = getattr(sink, "get_transformer", None)
        transformer = get_transformer() if get_transformer is not None else None
        stream = self._as_stream() if transformer is None else transformer.apply(self)
        if not hasattr(sink, "topology"):
            raise TypeError(f"sink_to takes a sink of a connector, not {type(sink).__name__}.")
        upstream = stream._transformation
        pipeline = self._environment.pipeline
        made = pipeline.add(
            Sink(
                id=pipeline.new_id(),
                name="Sink",
                input=upstream.id,
                output_type=upstream.output_type,
                parallelism=self._environment.get_parallelism(),
                topology=sink.topology(),
                keyed=stream._key() is not None,
                key_type=stream._key(),
                location=here(),
            )
        )
        return DataStreamSink(self._environment, made.id)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Write the records to the standard output of the tasks, behind ``sink_identifier`` where one is given."""
        stream = self._printable()
        operator = ops.Print(identifier=sink_identifier, type=stream._transformation.output_type)
        return stream._legacy_sink("Print to Std. Out", operator)

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job and bring the stream's records back: an iterator, or with ``limit`` a list of at most this many."""
        environment = self._environment
        if limit is not None and limit <= 0:
            raise illegal_state("Limit must be greater than 0", location=here())
        location = here()
        self._id = environment.optimise(self._id)
        pipeline = environment.pipeline
        upstream = pipeline[self._id]
        id = pipeline.new_id()
        pipeline.add(
            LegacySink(
                id=id,
                name="Data stream collect sink",
                uid=f"dataStreamCollect_{id}",
                input=upstream.id,
                output_type=upstream.output_type,
                parallelism=1,
                parallelism_configured=True,
                operator=ops.Collect(),
                location=location,
            )
        )
        client = environment.submit(job_execution_name or "DataStream Collect", attached=True, collect=id)
        records = CloseableIterator(client.collect(), upstream.output_type)
        if limit is None:
            return records
        with records:
            return list(islice(records, limit))

    def _side_output(self, output_tag: OutputTag) -> DataStream:
        from compat.compiler.datastream._stream import DataStream
        from compat.compiler.datastream._text import same
        from compat.compiler.transformations.kinds import SideOutput

        requested = self._side_outputs.setdefault(output_tag.tag_id, output_tag.type_info)
        if requested != output_tag.type_info:
            raise unsupported(
                "A side output with a matching id was already requested with a different type. This is not "
                "allowed, side output ids need to be unique.",
                location=here(),
            )
        pipeline = self._environment.pipeline
        upstream = self._transformation
        side = pipeline.add(
            SideOutput(
                id=pipeline.new_id(),
                name="SideOutput",
                input=upstream.id,
                output_type=output_tag.type_info,
                parallelism=upstream.parallelism,
                parallelism_configured=True,
                tag=output_tag.tag_id,
                location=here(),
            ),
            register=False,
        )
        stream = DataStream(self._environment, side.id)
        return stream._python("Map", ops.SideOutputMap, same, output_tag.type_info, tag=output_tag)

    def _watermarked(self, strategy: WatermarkStrategy) -> DataStream:
        from compat.compiler.datastream._stream import DataStream

        pipeline = self._environment.pipeline
        upstream = self._transformation
        made = pipeline.add(
            TimestampsAndWatermarks(
                id=pipeline.new_id(),
                name="Timestamps/Watermarks",
                input=upstream.id,
                output_type=upstream.output_type,
                parallelism=upstream.parallelism,
                operator=ops.TimestampsAndWatermarks(function=strategy),
                location=here(),
            )
        )
        return DataStream(self._environment, made.id)

    def _java(self, name: str, operator: Operator, output_type: Any) -> DataStream:
        from compat.compiler.datastream._stream import DataStream

        made = _build.one_input(self._environment, self._id, name, output_type, operator)
        return DataStream(self._environment, made.id)

    def _legacy_sink(self, name: str, operator: Operator) -> DataStreamSink:
        pipeline = self._environment.pipeline
        upstream = self._transformation
        made = pipeline.add(
            LegacySink(
                id=pipeline.new_id(),
                name=name,
                input=upstream.id,
                output_type=upstream.output_type,
                parallelism=self._environment.get_parallelism(),
                operator=operator,
                location=here(),
            )
        )
        return DataStreamSink(self._environment, made.id)

    def _printable(self) -> DataStream:
        """This stream, as text where its records are pickled objects or rows."""
        from compat.compiler.datastream._text import any_text, row_text
        from compat.compiler.datastream.common import typeinfo

        output_type = self._transformation.output_type
        stream = self._as_stream()
        if isinstance(output_type, typeinfo.PickledBytesTypeInfo):
            return stream._python("Map", ops.PrintMap, any_text, typeinfo.Types.STRING())
        if isinstance(output_type, typeinfo.RowTypeInfo | typeinfo.ExternalTypeInfo):
            return stream._python("Map", ops.PrintMap, row_text, typeinfo.Types.STRING())
        return stream

    def _key(self) -> Any:
        """The type of the key rows of a keyed stream, and None for any other stream."""
        return None

    def _as_stream(self) -> DataStream:
        return self  # type: ignore[return-value]
