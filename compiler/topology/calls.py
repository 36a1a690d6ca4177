"""The vocabulary of topologies: the calls, how many inputs each takes, and the attributes each allows."""

from __future__ import annotations

from msgspec import Struct

from compat.compiler.transformations.operators import Contents, Windowing

UNBOUNDED_INPUTS = 1_000_000


class Call(Struct, frozen=True):
    """A kind of call: the least and the largest number of inputs, whether it makes an operator, a sink, neither."""

    least: int
    most: int
    makes: str = "operator"


def _calls(names: str, least: int, most: int, makes: str = "operator") -> dict[str, Call]:
    return {name: Call(least, most, makes) for name in names.split()}


CALLS: dict[str, Call] = {
    **_calls("source source_data source_unbounded legacy_source collection", 0, 0),
    **_calls("map flat_map filter process assign_timestamps async_wait window_all map_partition", 1, 1),
    **_calls("reduce sum keyed_process window", 1, 1),
    **_calls(
        "connect_map connect_flat_map connect_process connect_keyed_process broadcast_connect keyed_broadcast_connect",
        2,
        2,
    ),
    **_calls("multi_input", 1, UNBOUNDED_INPUTS),
    **_calls(
        "key_by forward rebalance rescale shuffle global broadcast partition_custom side_output",
        1,
        1,
        "virtual",
    ),
    **_calls("union", 1, UNBOUNDED_INPUTS, "virtual"),
    **_calls("sink legacy_sink print", 1, 1, "sink"),
    **_calls("iterate", 1, 1, "virtual"),
    **_calls("co_iterate_process", 1, 1),
    **_calls("close_with", 2, 2, "nothing"),
}

ATTRIBUTES = frozenset(
    "name description uid uidHash parallelism maxParallelism forceNonParallel slotSharingGroup coLocationGroup "
    "bufferTimeout chaining".split()
)
ARGUMENTS = frozenset(
    "id kind inputs about outType keyType parallelSource tag topology window function keyed maxWait states".split()
)

DEFAULT_NAMES: dict[str, str] = {
    "source": "Sequence Source",
    "source_data": "Collection Source",
    "source_unbounded": "Unbounded Source",
    "legacy_source": "Custom Source",
    "collection": "Collection Source",
    "map": "Map",
    "flat_map": "Flat Map",
    "filter": "Filter",
    "process": "Process",
    "assign_timestamps": "Timestamps/Watermarks",
    "async_wait": "async wait operator",
    "window_all": "TumblingProcessingTimeWindows",
    "map_partition": "MapPartition",
    "reduce": "Keyed Reduce",
    "sum": "Keyed Aggregation",
    "keyed_process": "KeyedProcess",
    "connect_map": "Co-Map",
    "connect_flat_map": "Co-Flat Map",
    "connect_process": "Co-Process",
    "connect_keyed_process": "Co-Keyed-Process",
    "co_iterate_process": "Co-Process",
    "broadcast_connect": "Co-Process-Broadcast",
    "keyed_broadcast_connect": "Co-Process-Broadcast-Keyed",
    "multi_input": "Multi-Input",
    "legacy_sink": "Unnamed",
    "print": "Print to Std. Out",
    "sink": "Sink",
}


WINDOWS: dict[str, Windowing] = {
    "tumbling_processing_time": Windowing(
        assigner_class="TumblingProcessingTimeWindows",
        assigner="TumblingProcessingTimeWindows(5000)",
        trigger="ProcessingTimeTrigger",
    ),
    "tumbling_event_time": Windowing(
        assigner_class="TumblingEventTimeWindows",
        assigner="TumblingEventTimeWindows(5000)",
        trigger="EventTimeTrigger",
        event_time=True,
    ),
    "sliding_event_time": Windowing(
        assigner_class="SlidingEventTimeWindows",
        assigner="SlidingEventTimeWindows(10000, 5000)",
        trigger="EventTimeTrigger",
        event_time=True,
    ),
    "session_processing_time": Windowing(
        assigner_class="ProcessingTimeSessionWindows",
        assigner="ProcessingTimeSessionWindows(5000)",
        trigger="ProcessingTimeTrigger",
        merging=True,
    ),
    "count": Windowing(
        assigner_class="GlobalWindows",
        assigner="GlobalWindows(trigger=NeverTrigger)",
        trigger="PurgingTrigger",
        counted=True,
    ),
    "count_slide": Windowing(
        assigner_class="GlobalWindows",
        assigner="GlobalWindows(trigger=NeverTrigger)",
        trigger="CountTrigger",
        evictor="CountEvictor",
        counted=True,
    ),
}


class WindowFunction(Struct, frozen=True):
    """A function of windows, as Flink describes it, and what is stored for it if there is no evictor."""

    description: str
    contents: Contents


WINDOW_FUNCTIONS: dict[str, WindowFunction] = {
    "reduce": WindowFunction("Reducer, PassThroughWindowFunction", Contents.REDUCED),
    "process": WindowFunction("WinProc", Contents.ALL),
    "aggregate": WindowFunction("Agg, PassThroughWindowFunction", Contents.AGGREGATED),
    "sum": WindowFunction("SumAggregator, PassThroughWindowFunction", Contents.REDUCED),
}
