"""The classes that run operators, by the operators' records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, assert_never

from compat.compiler.own_code import is_our_module
from compat.compiler.spark.operators import broadcast, keyed, sinks, stateless, waiting, watermarks, windows
from compat.compiler.spark.operators.base import Opened, OperatorContext, Output, StreamOperator
from compat.compiler.spark.operators.sorted_input import SortedInput
from compat.compiler.spark.runtime_api.elements import Timestamps, Values
from compat.compiler.spark.runtime_api.records import converter
from compat.compiler.streamgraph.graph import Task
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.operators import Operator

Runnable = (
    ops.Map
    | ops.PrintMap
    | ops.SideOutputMap
    | ops.PartitionCustomValues
    | ops.FlatMap
    | ops.Filter
    | ops.Process
    | ops.KeyByMap
    | ops.PartitionCustomMap
    | ops.Project
    | stateless.CoKind
    | ops.MultipleInput
    | ops.KeyedMap
    | ops.KeyedFlatMap
    | ops.KeyedFilter
    | ops.KeyedValues
    | ops.KeyedReduce
    | keyed.ProcessKind
    | ops.Window
    | ops.BroadcastProcess
    | ops.ExtractTimestamp
    | ops.TimestampsAndWatermarks
    | ops.RemoveTimestamp
    | ops.AsyncWait
    | ops.Print
    | ops.Collect
    | ops.LegacySink
    | ops.SinkWriter
    | ops.SinkCommitter
    | ops.FileCompactorCoordinator
    | ops.FileCompactor
    | ops.RowsToRowData
    | ops.CacheWrite
)
"""The operators that :func:`build` can run; sources are run separately."""


def _runner(context: OperatorContext, output: Output, operator: Runnable) -> StreamOperator:
    """The object that runs an operator in a task."""
    match operator:
        case ops.Map() | ops.PrintMap() | ops.PartitionCustomValues():
            return stateless.MapOperator(context, output, operator)
        case ops.FlatMap():
            return stateless.FlatMapOperator(context, output, operator)
        case ops.Filter():
            return stateless.FilterOperator(context, output, operator)
        case ops.Process():
            return stateless.ProcessOperator(context, output, operator)
        case ops.KeyByMap():
            return stateless.KeyByMap(context, output, operator)
        case ops.PartitionCustomMap():
            return stateless.PartitionCustomMap(context, output, operator)
        case ops.Project():
            return stateless.ProjectOperator(context, output, operator)
        case ops.CoMap() | ops.CoFlatMap() | ops.CoProcess():
            return stateless.CoOperator(context, output, operator)
        case ops.MultipleInput():
            return stateless.MultipleInputOperator(context, output, operator)
        case ops.KeyedMap() | ops.KeyedFlatMap() | ops.KeyedFilter() | ops.KeyedValues():
            return keyed.KeyedMap(context, output, operator)
        case ops.KeyedReduce():
            return keyed.KeyedReduce(context, output, operator)
        case ops.KeyedBroadcastProcess():
            return broadcast.KeyedBroadcastProcess(context, output, operator)
        case (
            ops.KeyedProcess()
            | ops.KeyedCoMap()
            | ops.KeyedCoFlatMap()
            | ops.KeyedCoProcess()
            | ops.KeyedMultipleInput()
        ):
            return keyed.KeyedProcess(context, output, operator)
        case ops.Window():
            return windows.WindowOperator(context, output, operator)
        case ops.BroadcastProcess():
            return broadcast.BroadcastProcess(context, output, operator)
        case ops.ExtractTimestamp():
            return watermarks.ExtractTimestamp(context, output, operator)
        case ops.TimestampsAndWatermarks(function=strategy):
            timed = strategy.timestamp_assigner is not None
            return watermarks.TimestampsAndWatermarks(context, output, strategy, timed)
        case ops.RemoveTimestamp():
            return watermarks.RemoveTimestamp(context, output)
        case ops.AsyncWait():
            return waiting.AsyncWaitOperator(context, output, operator)
        case ops.Print():
            return sinks.PrintSink(context, output, operator)
        case ops.Collect():
            return sinks.CollectSink(context, output)
        case ops.LegacySink() | ops.SinkWriter():
            return sinks.WriterOperator(context, output, operator)
        case ops.SinkCommitter():
            return sinks.CommitterOperator(context, output)
        case (
            ops.SideOutputMap()
            | ops.FileCompactorCoordinator()
            | ops.FileCompactor()
            | ops.RowsToRowData()
            | ops.CacheWrite()
        ):
            return sinks.PassThrough(context, output)
        case _:
            assert_never(operator)


_PLAIN = frozenset({"builtins", "functools", "pyflink"})
"""The packages besides our own whose objects are plain functions, wrappers of one, or nothing."""


class _Link:
    """Hands the records of one operator of a chain to an input of the next."""

    def __init__(self, operator: StreamOperator, input: int) -> None:
        self.records, self.keyed = partial(operator.process, input), partial(operator.process_keyed, input)
        self.watermark, self.status = operator.process_watermark, operator.process_status
        self.latency = operator.process_latency


class _Converting:
    """Gives records the form of the output type before they leave an operator."""

    def __init__(self, output: Output, convert: Any) -> None:
        self._output = output
        self._convert = convert
        self.watermark, self.status, self.latency = output.watermark, output.status, output.latency

    def records(self, values: Values, timestamps: Timestamps) -> None:
        self._output.records(self._convert(values), timestamps)

    def keyed(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        self.records(list(zip(keys, values, strict=True)), timestamps)


class _InnerOutput(Output):
    """The output of an operator with others merged behind it: side outputs are the node's, watermarks go down the chain."""

    def __init__(self, outer: Output) -> None:
        super().__init__(tagged=outer.tagged)
        self.side = outer.side

    def _all(self) -> list[Any]:
        return self.main


def has_functions_to_keep(operator: Operator | None) -> bool:
    """True for an operator with function objects of the program: they are opened once, and keep what they remember.

    Plain functions remember nothing.
    """
    if operator is None:
        return False
    return any(not _is_plain(function) for part in (operator, *operator.chained) for function in part.functions)


def _is_plain(function: Any) -> bool:
    module = type(function).__module__
    return is_our_module(module) or module.partition(".")[0] in _PLAIN


def link(operator: StreamOperator, input: int) -> _Link:
    """The consumer in front of an operator's input."""
    return _Link(operator, input)


_PASSING_ON = ops.KeyByMap | ops.ExtractTimestamp | ops.TimestampsAndWatermarks | ops.RemoveTimestamp
"""The operators that give records on as they are; what the first two add to them, they look at themselves."""


def build(
    context: OperatorContext, operator: Operator | None, output: Output, opened: Callable[[int], Opened]
) -> list[StreamOperator]:
    """The operators of a node, the head first: those that were merged behind it share its id.

    ``opened`` gives what the functions of the operator at a place were opened with.
    """
    if operator is None:
        tail = context.spec.task is Task.ITERATION_TAIL
        return [sinks.IterationTail(context, output) if tail else sinks.PassThrough(context, output)]
    parts = [operator, *operator.chained]
    passed_on = isinstance(parts[-1], _PASSING_ON)
    convert = None if passed_on else converter(context.spec.output_type)  # who passes on looks at the form
    made: list[StreamOperator] = []
    following = output
    for place, part in reversed(list(enumerate(parts))):
        target = following
        if place == len(parts) - 1 and convert is not None:
            target = _InnerOutput(output)
            target.main = [_Converting(output, convert)]
        if not isinstance(part, Runnable):
            raise NotImplementedError(f"Operator {context.spec.name!r} ({part.kind}) cannot be run yet.")
        own = replace(context) if place else context
        own.opened = opened(place)
        runner = _runner(own, target, part)
        if place and isinstance(runner, stateless.KeyByMap):
            runner.convert = converter(context.spec.output_type.field_types[1])
        made.insert(0, SortedInput(runner) if own.batch and isinstance(runner, keyed.KeyedOperator) else runner)
        following = _InnerOutput(output)
        following.main = [_Link(made[0], 0)]
    return made
