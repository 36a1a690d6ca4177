"""The calls that make an operator with one input."""

from __future__ import annotations

from typing import Any

from compat.compiler.topology.calls import WINDOW_FUNCTIONS, WINDOWS
from compat.compiler.topology.in_making import JobInMaking, choice, require_key
from compat.compiler.topology.parse import Entry
from compat.compiler.topology.streams import Stream
from compat.compiler.transformations import kinds
from compat.compiler.transformations.operators import ChainingStrategy, Contents, Described
from compat.compiler.transformations.partitioners import Partitioner, Ship
from compat.state.names import WINDOW_CONTENTS


def one_input(
    job: JobInMaking,
    entry: Entry,
    stream: Stream,
    *,
    operator: Described | None = None,
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS,
    keyed: bool | None = None,
    **changes: Any,
) -> Stream:
    """An operator with one input; without ``operator`` that of the entry."""
    keyed = stream.keyed if keyed is None else keyed
    out_type = entry.get("outType", "long").capitalize() if entry.kind == "map" else stream.type
    transformation = kinds.OneInputTransformation(
        **job.common(entry, output_type=out_type, **changes),
        operator=operator or job.operator(entry),
        chaining=chaining,
        input=stream.id,
        keyed=keyed,
        key_type=stream.key_type if keyed else None,
    )
    parallel = changes.get("max_parallelism") != 1
    return Stream(job.pipeline.add(transformation).id, out_type, parallel=parallel)


def simple(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A function without timers."""
    return one_input(job, entry, inputs[0])


def process(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """Flink 1.x has timers for a ``ProcessFunction`` on keys (``LegacyKeyedProcessOperator``), 2.x does not."""
    timers = job.settings.legacy and inputs[0].keyed
    return one_input(job, entry, inputs[0], operator=job.operator(entry, timers=timers))


def keyed(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A function with timers, which needs keys."""
    require_key(entry, inputs[0])
    return one_input(job, entry, inputs[0], operator=job.operator(entry, timers=True))


def rolling(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A rolling reduce or sum, which needs keys."""
    stream = inputs[0]
    require_key(entry, stream)
    transformation = kinds.ReduceTransformation(
        **job.common(entry, output_type=stream.type),
        operator=job.operator(entry),
        input=stream.id,
        key_type=stream.key_type,
    )
    return Stream(job.pipeline.add(transformation).id, stream.type)


def timestamps(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """What assigns timestamps and watermarks."""
    stream = inputs[0]
    upstream = job.pipeline[stream.id]
    transformation = kinds.TimestampsAndWatermarks(
        **job.common(entry, output_type=stream.type, parallelism=upstream.parallelism),
        operator=job.operator(entry, factory="TimestampsAndWatermarksOperatorFactory"),
        input=stream.id,
    )
    return Stream(job.pipeline.add(transformation).id, stream.type)


def async_wait(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """Asynchronous calls."""
    operator = job.operator(entry, factory="AsyncWaitOperatorFactory", yielding=True)
    return one_input(job, entry, inputs[0], operator=operator)


def window(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """Windows of a stream with keys."""
    require_key(entry, inputs[0])
    window = choice(entry, "window", WINDOWS, "tumbling_processing_time")
    function = choice(entry, "function", WINDOW_FUNCTIONS, "reduce")
    parts = filter(None, (window.assigner, window.trigger, window.evictor, function.description))
    operator = job.operator(
        entry,
        windowing=window,
        contents=Contents.ALL if window.evictor is not None else function.contents,
    )
    return one_input(
        job,
        entry,
        inputs[0],
        operator=operator,
        name=window.assigner_class,
        description=f"Window({', '.join(parts)})",
    )


def window_all(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """Windows of all records, which come together at one subtask."""
    stream = inputs[0]
    partition = job.partition(stream, Partitioner(Ship.HASH, job.selector()), entry)
    keyed = Stream(partition.id, stream.type, keyed=True, key_type="Byte")
    line, factory = (246, "SimpleUdfStreamOperatorFactory") if job.settings.legacy else (230, "WindowOperatorFactory")
    description = (
        f"TriggerWindow(TumblingProcessingTimeWindows(5000), ReducingStateDescriptor{{name={WINDOW_CONTENTS}, "
        "defaultValue=null, serializer=org.apache.flink.api.common.typeutils.base.LongSerializer@0}, "
        f"ProcessingTimeTrigger(), AllWindowedStream.reduce(AllWindowedStream.java:{line}))"
    )
    return one_input(
        job,
        entry,
        keyed,
        operator=job.operator(
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


def map_partition(job: JobInMaking, entry: Entry, inputs: list[Stream]) -> Stream:
    """A function that is given all records of a subtask at the end."""
    stream = inputs[0]
    operator = job.operator(entry, output_at_end=True)
    if stream.keyed:
        return one_input(
            job,
            entry,
            stream,
            operator=operator,
            chaining=ChainingStrategy.HEAD,
            name="GlobalWindows",
            description=(
                "Window(GlobalWindows(trigger=EndOfStreamTrigger), EndOfStreamTrigger, "
                f"{'WindowFunction$1' if job.settings.legacy else 'KeyedMapPartitionWindowFunction'})"
            ),
        )
    return one_input(
        job,
        entry,
        stream,
        operator=operator,
        chaining=ChainingStrategy.NEVER,
        parallelism=job.pipeline[stream.id].parallelism,
        parallelism_configured=True,
    )
