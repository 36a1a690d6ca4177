"""From an operator's kind to the class that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from compat.compiler.spark.operators import broadcast, keyed, sinks, stateless, waiting, watermarks, windows
from compat.compiler.spark.operators.base import Opened, OperatorContext, Output, StreamOperator, functions_of
from compat.compiler.spark.task.elements import LatencyMarker, Timestamps, Values
from compat.compiler.spark.task.records import converter
from compat.compiler.streamgraph.model import Task
from compat.compiler.transformations.operators import Operator

KINDS: dict[str, Any] = {
    "map": stateless.MapOperator,
    "print_map": stateless.MapOperator,
    "side_output_map": sinks.PassThrough,
    "partition_custom_values": stateless.MapOperator,
    "flat_map": stateless.FlatMapOperator,
    "filter": stateless.FilterOperator,
    "process": stateless.ProcessOperator,
    "key_by_map": stateless.KeyByMap,
    "partition_custom_map": stateless.PartitionCustomMap,
    "project": stateless.ProjectOperator,
    "co_map": stateless.CoOperator,
    "co_flat_map": stateless.CoOperator,
    "co_process": stateless.CoOperator,
    "multiple_input": stateless.MultipleInputOperator,
    "keyed_map": keyed.KeyedMap,
    "keyed_flat_map": keyed.KeyedMap,
    "keyed_filter": keyed.KeyedMap,
    "keyed_values": keyed.KeyedMap,
    "keyed_reduce": keyed.KeyedReduce,
    "keyed_process": keyed.KeyedProcess,
    "keyed_co_map": keyed.KeyedProcess,
    "keyed_co_flat_map": keyed.KeyedProcess,
    "keyed_co_process": keyed.KeyedProcess,
    "keyed_multiple_input": keyed.KeyedProcess,
    "window": windows.WindowOperator,
    "broadcast_process": broadcast.BroadcastProcess,
    "keyed_broadcast_process": broadcast.KeyedBroadcastProcess,
    "extract_timestamp": watermarks.ExtractTimestamp,
    "timestamps_and_watermarks": watermarks.TimestampsAndWatermarks,
    "remove_timestamp": watermarks.RemoveTimestamp,
    "async_wait": waiting.AsyncWaitOperator,
    "print": sinks.PrintSink,
    "collect": sinks.CollectSink,
    "add_sink": sinks.WriterOperator,
    "sink_writer": sinks.WriterOperator,
    "sink_committer": sinks.CommitterOperator,
    "file_sink_compactor_coordinator": sinks.PassThrough,
    "file_sink_compactor": sinks.PassThrough,
    "rows_to_row_data": sinks.PassThrough,
    "cache_write": sinks.PassThrough,
}


_PLAIN = frozenset({"builtins", "functools", "compiler", "pyflink"})
"""The packages whose objects are plain functions, wrappers of one, or nothing."""


class _Link:
    """Hands the records of one operator of a chain to an input of the next."""

    def __init__(self, operator: StreamOperator, input: int) -> None:
        self.operator = operator
        self.input = input

    def records(self, values: Values, timestamps: Timestamps) -> None:
        self.operator.process(self.input, values, timestamps)

    def watermark(self, timestamp: int) -> None:
        self.operator.process_watermark(timestamp)

    def status(self, idle: bool) -> None:
        self.operator.process_status(idle)

    def latency(self, marker: LatencyMarker) -> None:
        self.operator.process_latency(marker)


class _Converting:
    """Gives records the form of the output type before they leave an operator."""

    def __init__(self, output: Output, convert: Any) -> None:
        self._output = output
        self._convert = convert

    def records(self, values: Values, timestamps: Timestamps) -> None:
        self._output.records(self._convert(values), timestamps)

    def watermark(self, timestamp: int) -> None:
        self._output.watermark(timestamp)

    def status(self, idle: bool) -> None:
        self._output.status(idle)

    def latency(self, marker: LatencyMarker) -> None:
        self._output.latency(marker)


class _InnerOutput(Output):
    """The output of an operator with others merged behind it: side outputs are the node's, watermarks go down the chain."""

    def __init__(self, outer: Output) -> None:
        super().__init__()
        self.side = outer.side

    def _all(self) -> list[Any]:
        return self.main


def has_functions_to_keep(operator: Operator | None) -> bool:
    """True for an operator with function objects of the program: they are opened once, and what they remember stays.

    Plain functions remember nothing.
    """
    if operator is None:
        return False
    return any(
        type(function).__module__.partition(".")[0] not in _PLAIN
        for part in (operator, *operator.chained)
        if issubclass(KINDS.get(part.kind, StreamOperator), stateless.FunctionOperator)
        for function in functions_of(part)
    )


def link(operator: StreamOperator, input: int) -> _Link:
    """A consumer in front of an operator's input."""
    return _Link(operator, input)


def build(
    context: OperatorContext, operator: Operator | None, output: Output, opened: Callable[[int], Opened]
) -> list[StreamOperator]:
    """The operators of a node, the head first: those that were merged behind it share its id.

    ``opened`` gives what the functions of the operator at a place were opened with.
    """
    if operator is None:
        tail = sinks.IterationTail if context.spec.task is Task.ITERATION_TAIL else sinks.PassThrough
        return [tail(context, output, Operator(kind="iteration"))]
    parts = [operator, *operator.chained]
    convert = None if parts[-1].kind == "key_by_map" else converter(context.spec.output_type)
    made: list[StreamOperator] = []
    following = output
    for place, part in reversed(list(enumerate(parts))):
        target = following
        if place == len(parts) - 1 and convert is not None:
            target = _InnerOutput(output)
            target.main = [_Converting(output, convert)]
        if part.kind not in KINDS:
            raise NotImplementedError(f"Operator {context.spec.name!r} ({part.kind}) cannot be run yet.")
        made.insert(0, KINDS[part.kind](replace(context, opened=opened(place)), target, part))
        following = _InnerOutput(output)
        following.main = [_Link(made[0], 0)]
    return made
