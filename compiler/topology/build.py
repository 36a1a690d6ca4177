"""From a topology to a job: one function a family of calls, as Flink's Java API would build it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compat.compiler.configuration import JobSettings
from compat.compiler.errors import Location, ProgramError, illegal_argument, unsupported
from compat.compiler.gc_policy import collection_paused
from compat.compiler.job import Job
from compat.compiler.topology.calls import DEFAULT_NAMES, WINDOW_FUNCTIONS, WINDOWS
from compat.compiler.topology.parse import Entry, parse_entries, parse_settings
from compat.compiler.topology.sinks import SINK_TOPOLOGIES
from compat.compiler.topology.streams import Stream, apply_attributes
from compat.compiler.transformations import kinds
from compat.compiler.transformations.operators import Call, ChainingStrategy, Contents, Described
from compat.compiler.transformations.partitioners import (
    BROADCAST,
    FORWARD,
    GLOBAL,
    REBALANCE,
    RESCALE,
    SHUFFLE,
    Partitioner,
    Ship,
)
from compat.compiler.transformations.pipeline import Pipeline
from compat.compiler.versions import LATEST_FLINK
from compat.state.names import WINDOW_CONTENTS

_CO_PROCESS = ("connect_process", "connect_keyed_process")
"""Calls of connected streams that take functions with timers; ``LegacyKeyedCoProcessOperator`` is the former's."""
_UNTOLD_KEY = "Long"
"""The key's type that a stream has to have in common with another one, where the topology tells none."""
_PARTITIONERS = {
    "forward": FORWARD,
    "rebalance": REBALANCE,
    "rescale": RESCALE,
    "shuffle": SHUFFLE,
    "global": GLOBAL,
    "broadcast": BROADCAST,
}


@collection_paused()
def build_job(
    spec: Mapping[str, Any],
    *,
    flink: str = LATEST_FLINK,
    locations: Mapping[str, Location] | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Job:
    """The job that a topology describes.

    ``locations`` gives the place of an entry by its id, ``defaults`` the options that the topology does not set. Raises
    ProgramError, with the entry and the field, for a mistake in the topology, and FlinkError for a job that Flink refuses while
    it is built.
    """
    settings = parse_settings(spec, flink, defaults or {})
    builder = _Builder(settings)
    for entry in parse_entries(spec, locations or {}):
        builder.add(entry)
    return Job(name=None, pipeline=builder.pipeline, settings=settings)


def transformation_ids(spec: Mapping[str, Any], *, flink: str = LATEST_FLINK) -> dict[str, int]:
    """The id of the transformation that each entry made, by the entry's label."""
    builder = _Builder(parse_settings(spec, flink, {}))
    for entry in parse_entries(spec, {}):
        builder.add(entry)
    return {label: stream.id for label, stream in builder.streams.items()}


class _Builder:
    def __init__(self, settings: JobSettings) -> None:
        self.pipeline = Pipeline()
        self.streams: dict[str, Stream] = {}
        self._settings = settings
        self._selectors = 0
        self._side_output_types: dict[tuple[int, str], str] = {}
        self._co_iterations: dict[str, int] = {}

    def add(self, entry: Entry) -> None:
        """Make what an entry calls for, and apply its attributes."""
        inputs = [self.streams[name] for name in entry.inputs]
        try:
            stream = _CALLS[entry.kind](self, entry, inputs)
            apply_attributes(entry, stream, self.pipeline)
            self.streams[entry.id] = stream
        except ProgramError as error:
            error.operator = entry.id
            error.location = error.location or entry.location
            raise

    # Parts that the calls share

    def common(self, entry: Entry, **changes: Any) -> dict[str, Any]:
        """The fields of every new transformation: an id, a name, the job's parallelism, the entry's place."""
        return {
            "id": self.pipeline.new_id(),
            "name": DEFAULT_NAMES.get(entry.kind, entry.kind),
            "parallelism": self._settings.parallelism,
            "location": entry.location,
            **changes,
        }

    def operator(self, entry: Entry, call: Call | None = None, **traits: Any) -> Described:
        """The operator of an entry, with the states that the topology declares for it."""
        states = entry.get("states")
        return Described(call=call or Call(entry.kind), states=None if states is None else tuple(states), **traits)

    def selector(self) -> int:
        """A number that tells one key selector from another."""
        self._selectors += 1
        return self._selectors

    def partition(self, stream: Stream, partitioner: Partitioner, entry: Entry) -> kinds.Partition:
        """A partitioning after a stream, which takes the stream's parallelism."""
        upstream = self.pipeline[stream.id]
        return self.pipeline.add(
            kinds.Partition(
                **self.common(entry, name="Partition", parallelism=upstream.parallelism),
                input=stream.id,
                partitioner=partitioner,
            ),
            register=False,
        )

    @property
    def two_input_chaining(self) -> ChainingStrategy:
        """Operators with two inputs head their chain in Flink 1.x; an edge into one is never chainable anyway."""
        return ChainingStrategy.HEAD if self._settings.legacy else ChainingStrategy.ALWAYS

    # Sources

    def source(self, entry: Entry, inputs: list[Stream]) -> Stream:
        changes: dict[str, Any] = {}
        if entry.kind == "source_data":
            changes = {"parallelism": 1, "parallelism_configured": True}
        source = kinds.Source(
            **self.common(entry, **changes),
            operator=self.operator(entry, Call.SOURCE, factory="SourceOperatorFactory", coordinated=True),
            bounded=entry.kind != "source_unbounded",
        )
        return Stream(self.pipeline.add(source, register=False).id)

    def legacy_source(self, entry: Entry, inputs: list[Stream]) -> Stream:
        parallel = entry.kind == "legacy_source" and entry.get("parallelSource", False)
        changes = {} if parallel else {"parallelism": 1, "parallelism_configured": True}
        source = kinds.LegacySource(
            **self.common(entry, **changes),
            operator=self.operator(entry, Call.LEGACY_SOURCE),
            chaining=ChainingStrategy.HEAD,
            bounded=entry.kind == "collection",
            parallel=parallel,
        )
        return Stream(self.pipeline.add(source, register=False).id)

    # One input

    def one_input(
        self,
        entry: Entry,
        stream: Stream,
        *,
        operator: Described | None = None,
        chaining: ChainingStrategy = ChainingStrategy.ALWAYS,
        keyed: bool | None = None,
        **changes: Any,
    ) -> Stream:
        keyed = stream.keyed if keyed is None else keyed
        out_type = entry.get("outType", "long").capitalize() if entry.kind == "map" else stream.type
        transformation = kinds.OneInputTransformation(
            **self.common(entry, output_type=out_type, **changes),
            operator=operator or self.operator(entry),
            chaining=chaining,
            input=stream.id,
            keyed=keyed,
            key_type=stream.key_type if keyed else None,
        )
        parallel = changes.get("max_parallelism") != 1
        return Stream(self.pipeline.add(transformation).id, out_type, parallel=parallel)

    def simple(self, entry: Entry, inputs: list[Stream]) -> Stream:
        return self.one_input(entry, inputs[0])

    def process(self, entry: Entry, inputs: list[Stream]) -> Stream:
        """Flink 1.x has timers for a ``ProcessFunction`` on keys (``LegacyKeyedProcessOperator``), 2.x does not."""
        timers = self._settings.legacy and inputs[0].keyed
        return self.one_input(entry, inputs[0], operator=self.operator(entry, timers=timers))

    def keyed(self, entry: Entry, inputs: list[Stream]) -> Stream:
        self._require_key(entry, inputs[0])
        return self.one_input(entry, inputs[0], operator=self.operator(entry, timers=True))

    def rolling(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        self._require_key(entry, stream)
        transformation = kinds.ReduceTransformation(
            **self.common(entry, output_type=stream.type),
            operator=self.operator(entry),
            input=stream.id,
            key_type=stream.key_type,
        )
        return Stream(self.pipeline.add(transformation).id, stream.type)

    def timestamps(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        upstream = self.pipeline[stream.id]
        transformation = kinds.TimestampsAndWatermarks(
            **self.common(entry, output_type=stream.type, parallelism=upstream.parallelism),
            operator=self.operator(entry, factory="TimestampsAndWatermarksOperatorFactory"),
            input=stream.id,
        )
        return Stream(self.pipeline.add(transformation).id, stream.type)

    def async_wait(self, entry: Entry, inputs: list[Stream]) -> Stream:
        operator = self.operator(entry, factory="AsyncWaitOperatorFactory", yielding=True)
        return self.one_input(entry, inputs[0], operator=operator)

    def window(self, entry: Entry, inputs: list[Stream]) -> Stream:
        self._require_key(entry, inputs[0])
        window = _choice(entry, "window", WINDOWS, "tumbling_processing_time")
        function = _choice(entry, "function", WINDOW_FUNCTIONS, "reduce")
        parts = filter(None, (window.assigner, window.trigger, window.evictor, function.description))
        operator = self.operator(
            entry,
            windowing=window,
            contents=Contents.ALL if window.evictor is not None else function.contents,
        )
        return self.one_input(
            entry,
            inputs[0],
            operator=operator,
            name=window.assigner_class,
            description=f"Window({', '.join(parts)})",
        )

    def window_all(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        partition = self.partition(stream, Partitioner(Ship.HASH, self.selector()), entry)
        keyed = Stream(partition.id, stream.type, keyed=True, key_type="Byte")
        line, factory = (
            (246, "SimpleUdfStreamOperatorFactory") if self._settings.legacy else (230, "WindowOperatorFactory")
        )
        description = (
            f"TriggerWindow(TumblingProcessingTimeWindows(5000), ReducingStateDescriptor{{name={WINDOW_CONTENTS}, "
            "defaultValue=null, serializer=org.apache.flink.api.common.typeutils.base.LongSerializer@0}, "
            f"ProcessingTimeTrigger(), AllWindowedStream.reduce(AllWindowedStream.java:{line}))"
        )
        return self.one_input(
            entry,
            keyed,
            operator=self.operator(
                entry,
                factory=factory,
                windowing=WINDOWS["tumbling_processing_time"],
                contents=Contents.REDUCED,
            ),
            description=description,
            parallelism=1,
            parallelism_configured=True,
            max_parallelism=1,
        )

    def map_partition(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        operator = self.operator(entry, output_at_end=True)
        if stream.keyed:
            return self.one_input(
                entry,
                stream,
                operator=operator,
                chaining=ChainingStrategy.HEAD,
                name="GlobalWindows",
                description=(
                    "Window(GlobalWindows(trigger=EndOfStreamTrigger), EndOfStreamTrigger, "
                    f"{'WindowFunction$1' if self._settings.legacy else 'KeyedMapPartitionWindowFunction'})"
                ),
            )
        return self.one_input(
            entry,
            stream,
            operator=operator,
            chaining=ChainingStrategy.NEVER,
            parallelism=self.pipeline[stream.id].parallelism,
            parallelism_configured=True,
        )

    # Two inputs and more

    def two_inputs(self, entry: Entry, inputs: list[Stream], *, call: Call | None = None) -> Stream:
        left, right = inputs
        first, second = left.key_type or _UNTOLD_KEY, right.key_type or _UNTOLD_KEY
        if left.keyed and right.keyed and first != second:
            raise unsupported(f"Key types if input KeyedStreams don't match: {first} and {second}.")
        transformation = kinds.TwoInputTransformation(
            **self.common(entry, output_type="Long"),
            operator=self.operator(entry, call, timers=left.keyed and right.keyed and entry.kind in _CO_PROCESS),
            chaining=self.two_input_chaining,
            input1=left.id,
            input2=right.id,
            keyed1=left.keyed,
            keyed2=right.keyed,
            key_type=left.key_type or right.key_type,
        )
        return Stream(self.pipeline.add(transformation).id)

    def connect(self, entry: Entry, inputs: list[Stream]) -> Stream:
        return self.two_inputs(entry, inputs)

    def connect_keyed_process(self, entry: Entry, inputs: list[Stream]) -> Stream:
        if not all(stream.keyed for stream in inputs):
            raise unsupported(
                "KeyedCoProcessFunction can only be used when both input streams are of type KeyedStream."
            )
        return self.two_inputs(entry, inputs)

    def broadcast_connect(self, entry: Entry, inputs: list[Stream]) -> Stream:
        left, right = inputs
        self._forbid_key(right)
        partition = self.partition(right, BROADCAST, entry)
        keyed = entry.kind == "keyed_broadcast_connect"
        if keyed and not left.keyed:
            raise illegal_argument("A KeyedBroadcastProcessFunction can only be used on a keyed stream.")
        if left.keyed and not keyed:
            raise illegal_argument("A BroadcastProcessFunction can only be used on a non-keyed stream.")
        shared = {
            **self.common(entry, output_type="Long"),
            "operator": self.operator(entry, timers=keyed),
            "regular_input": left.id,
            "broadcast_input": partition.id,
        }
        transformation: kinds.BroadcastStateTransformation
        if keyed:
            transformation = kinds.KeyedBroadcastStateTransformation(**shared, key_type=left.key_type)
        else:
            transformation = kinds.BroadcastStateTransformation(**shared)
        return Stream(self.pipeline.add(transformation).id)

    def multi_input(self, entry: Entry, inputs: list[Stream]) -> Stream:
        shared = {
            **self.common(entry, output_type="Long", parallelism_configured=True),
            "operator": self.operator(entry, factory="ManyInputFactory"),
            "input_list": tuple(stream.id for stream in inputs),
        }
        transformation: kinds.MultipleInputTransformation
        if entry.get("keyed", False):
            transformation = kinds.KeyedMultipleInputTransformation(**shared, key_type=inputs[0].key_type)
        else:
            transformation = kinds.MultipleInputTransformation(**shared)
        return Stream(self.pipeline.add(transformation).id)

    # Virtual

    def key_by(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        partition = self.partition(stream, Partitioner(Ship.HASH, self.selector()), entry)
        told = entry.get("keyType")
        key_type = None if told is None else told[:1].upper() + told[1:]
        return Stream(partition.id, stream.type, keyed=True, key_type=key_type)

    def repartition(self, entry: Entry, inputs: list[Stream]) -> Stream:
        self._forbid_key(inputs[0])
        return Stream(self.partition(inputs[0], _PARTITIONERS[entry.kind], entry).id, inputs[0].type)

    def partition_custom(self, entry: Entry, inputs: list[Stream]) -> Stream:
        self._forbid_key(inputs[0])
        partitioner = Partitioner(Ship.CUSTOM, self.selector())
        return Stream(self.partition(inputs[0], partitioner, entry).id, inputs[0].type)

    def union(self, entry: Entry, inputs: list[Stream]) -> Stream:
        first = inputs[0]
        for other in inputs[1:]:
            if other.type != first.type:
                raise illegal_argument(f"Cannot union streams of different types: {first.type} and {other.type}")
        union = kinds.Union(
            **self.common(entry, name="Union", parallelism=self.pipeline[first.id].parallelism),
            input_list=tuple(stream.id for stream in inputs),
        )
        return Stream(self.pipeline.add(union, register=False).id, first.type)

    def side_output(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        tag = entry.get("tag", "side")
        out_type = entry.get("outType", "long").capitalize()
        asked = self._side_output_types.setdefault((stream.id, tag), out_type)
        if asked != out_type:
            raise unsupported(
                "A side output with a matching id was already requested with a different type. "
                "This is not allowed, side output ids need to be unique."
            )
        side = kinds.SideOutput(
            **self.common(entry, name="SideOutput", parallelism=self.pipeline[stream.id].parallelism),
            input=stream.id,
            tag=tag,
        )
        return Stream(self.pipeline.add(side, register=False).id, out_type)

    # Sinks

    def sink(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        sink = kinds.Sink(
            **self.common(entry),
            input=stream.id,
            keyed=stream.keyed,
            key_type=stream.key_type,
            topology=_choice(entry, "topology", SINK_TOPOLOGIES, "writer"),
        )
        return Stream(self.pipeline.add(sink).id)

    def legacy_sink(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        sink = kinds.LegacySink(
            **self.common(entry),
            operator=self.operator(entry),
            concurrent_attempts=entry.kind == "print",
            input=stream.id,
            keyed=stream.keyed,
            key_type=stream.key_type,
        )
        return Stream(self.pipeline.add(sink).id)

    # Iterations

    def iterate(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        head = kinds.Feedback(
            **self.common(
                entry,
                name="Feedback",
                output_type=stream.type,
                parallelism=self.pipeline[stream.id].parallelism,
            ),
            input=stream.id,
            wait=entry.get("maxWait", 0),
        )
        return Stream(self.pipeline.add(head, register=False).id, stream.type)

    def co_iterate_process(self, entry: Entry, inputs: list[Stream]) -> Stream:
        stream = inputs[0]
        parallelism = self.pipeline[stream.id].parallelism
        self.pipeline.new_id()  # iterate() makes a feedback of its own, which withFeedbackType replaces
        head = kinds.CoFeedback(**self.common(entry, name="CoFeedback", parallelism=parallelism))
        self.pipeline.add(head, register=False)
        self._co_iterations[entry.id] = head.id
        return self.two_inputs(entry, [stream, Stream(head.id)], call=Call.CONNECT_PROCESS)

    def close_with(self, entry: Entry, inputs: list[Stream]) -> Stream:
        iteration, feedback = inputs
        head = self.pipeline[self._co_iterations.get(entry.inputs[0], iteration.id)]
        if not isinstance(head, kinds.Feedback | kinds.CoFeedback):
            raise illegal_argument(f"{entry.inputs[0]!r} is no iteration, so nothing can be fed back into it.")
        closing = self.pipeline[feedback.id]
        if closing.parallelism != head.parallelism:
            raise unsupported(
                "Parallelism of the feedback stream must match the parallelism of the original stream. "
                f"Parallelism of original stream: {head.parallelism}; parallelism of feedback stream: "
                f"{closing.parallelism}. Parallelism can be modified using DataStream#setParallelism() method"
            )
        self.pipeline.update(head.id, feedback=(*head.feedback, feedback.id))
        return feedback

    def _require_key(self, entry: Entry, stream: Stream) -> None:
        if not stream.keyed:
            raise ProgramError(f"{entry.kind!r} reads a keyed stream: put a 'key_by' before it.")

    def _forbid_key(self, stream: Stream) -> None:
        if stream.keyed:
            raise unsupported("Cannot override partitioning for KeyedStream.")


def _choice(entry: Entry, field: str, choices: Mapping[str, Any], default: str) -> Any:
    name = entry.get(field, default)
    if name not in choices:
        raise ProgramError(f"Unknown {field} {name!r}. Known: {', '.join(sorted(choices))}.")
    return choices[name]


_CALLS: dict[str, Callable[[_Builder, Entry, list[Stream]], Stream]] = {
    **dict.fromkeys(("source", "source_data", "source_unbounded"), _Builder.source),
    **dict.fromkeys(("legacy_source", "collection"), _Builder.legacy_source),
    **dict.fromkeys(("map", "flat_map", "filter"), _Builder.simple),
    "process": _Builder.process,
    "assign_timestamps": _Builder.timestamps,
    "async_wait": _Builder.async_wait,
    "window_all": _Builder.window_all,
    "map_partition": _Builder.map_partition,
    **dict.fromkeys(("reduce", "sum"), _Builder.rolling),
    "keyed_process": _Builder.keyed,
    "window": _Builder.window,
    **dict.fromkeys(("connect_map", "connect_flat_map", "connect_process"), _Builder.connect),
    "connect_keyed_process": _Builder.connect_keyed_process,
    **dict.fromkeys(("broadcast_connect", "keyed_broadcast_connect"), _Builder.broadcast_connect),
    "multi_input": _Builder.multi_input,
    "key_by": _Builder.key_by,
    **dict.fromkeys(_PARTITIONERS, _Builder.repartition),
    "partition_custom": _Builder.partition_custom,
    "union": _Builder.union,
    "side_output": _Builder.side_output,
    "sink": _Builder.sink,
    **dict.fromkeys(("legacy_sink", "print"), _Builder.legacy_sink),
    "iterate": _Builder.iterate,
    "co_iterate_process": _Builder.co_iterate_process,
    "close_with": _Builder.close_with,
}
