"""Operators without state. Flink: ``StreamMap``, ``StreamFlatMap``, ``StreamFilter``, PyFlink's process operators."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress, repeat
from operator import length_hint
from typing import Any, Generic, TypeVar, assert_never

from compat.compiler.datastream.timerservice import TimerService
from compat.compiler.spark.operators.base import (
    NO_RECORD,
    Emitter,
    OperatorContext,
    Output,
    StreamOperator,
    TaskRuntimeContext,
    call_of,
    close_functions,
    open_functions,
)
from compat.compiler.spark.runtime_api.elements import MIN_TIMESTAMP, Timestamps, Values
from compat.compiler.spark.runtime_api.records import converter
from compat.compiler.transformations import operators as ops

Handler = Callable[[Any, int | None], None]
"""The function that handles a record and its timestamp."""

Kind = TypeVar("Kind", bound=ops.Operator)


class FunctionOperator(StreamOperator, Generic[Kind]):
    """An operator around a user's function; ``Kind`` is the record that describes it."""

    method = ""

    def __init__(self, context: OperatorContext, output: Output, operator: Kind) -> None:
        super().__init__(context, output)
        self.operator = operator
        self.function = operator.function
        self.call: Any = call_of(self.function, self.method) if self.method else None

    def open(self) -> None:
        try:
            open_functions(self.operator, self.context, lambda: TaskRuntimeContext(self.context, None))
        except Exception as error:
            self.fail(NO_RECORD, error)

    def close(self) -> None:
        close_functions(self.operator)

    def _emit_results(
        self, call: Callable[[Any, Any], Any], context: PlainContext, values: Values, timestamps: Timestamps
    ) -> None:
        """Emit what a function of a record and the context gives for each: main and side outputs apart, if there are any."""
        emitter = Emitter(self.output) if self.output.tagged else None
        made: Values = []
        times: list[int | None] | None = None if timestamps is None else []
        value: Any = NO_RECORD
        try:
            for value, time in zip(values, timestamps or repeat(None), strict=False):
                context.time = time
                results = call(value, context)
                if emitter is not None:
                    emitter.take(results, time)
                elif results is not None:
                    for result in results:
                        made.append(result)
                        if times is not None:
                            times.append(time)
        except Exception as error:
            self.fail(value, error)
        if emitter is not None:
            emitter.flush()
        self.output.records(made, times)


class MapOperator(FunctionOperator[ops.Map | ops.PrintMap | ops.PartitionCustomValues]):
    """Makes one record of each record."""

    method = "map"

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        call, rest = self.call, iter(values)
        try:
            made = [call(value) for value in rest]
        except Exception as error:
            self.fail(values[len(values) - length_hint(rest) - 1], error)
        self.output.records(made, timestamps)


class FilterOperator(FunctionOperator[ops.Filter]):
    """Passes the records for which the function is true."""

    method = "filter"

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        call, rest = self.call, iter(values)
        try:
            kept = [call(value) for value in rest]
        except Exception as error:
            self.fail(values[len(values) - length_hint(rest) - 1], error)
        times = None if timestamps is None else list(compress(timestamps, kept))
        self.output.records(list(compress(values, kept)), times)


class FlatMapOperator(FunctionOperator[ops.FlatMap]):
    """Makes any number of records of each record."""

    method = "flat_map"

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        emitter = Emitter(self.output)
        call, take = self.call, emitter.take
        value: Any = NO_RECORD
        try:
            for value, time in zip(values, timestamps or repeat(None), strict=False):
                take(call(value), time)
        except Exception as error:
            self.fail(value, error)
        emitter.flush()


class PlainTimers(TimerService):
    """The time, without timers, for functions on streams without keys. Flink refuses timers there, and so do we."""

    def __init__(self, operator: StreamOperator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark_now

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def register_event_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def _refuse(self) -> None:
        raise RuntimeError("Register timers is only supported on a keyed stream.")


class PlainContext:
    """The context of a process function on a stream without keys."""

    def __init__(self, operator: StreamOperator) -> None:
        self._timers = PlainTimers(operator)
        self.time: int | None = None

    def timer_service(self) -> TimerService:
        """The timer service, which gives the time."""
        return self._timers

    def timestamp(self) -> int:
        """The timestamp of the present record; the smallest long, as in PyFlink, for a record without one."""
        return MIN_TIMESTAMP if self.time is None else self.time

    def current_processing_time(self) -> int:
        """The machine's time."""
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        """The present event time."""
        return self._timers.current_watermark()


class ProcessOperator(FunctionOperator[ops.Process]):
    """The operator that emits the records a process function yields."""

    method = "process_element"

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        self._emit_results(self.call, PlainContext(self), values, timestamps)


class KeyByMap(FunctionOperator[ops.KeyByMap]):
    """Gives each record its key, in the form of the key's type.

    Behind an operator that it was merged with, ``convert`` gives records the form of theirs.
    """

    method = "get_key"

    def __init__(self, context: OperatorContext, output: Output, operator: ops.KeyByMap) -> None:
        super().__init__(context, output, operator)
        self._form = converter(context.spec.output_type.field_types[0])
        self.convert: Callable[[Values], Values] | None = None

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        call, rest = self.call, iter(values)
        try:
            keys = [call(value) for value in rest]
        except Exception as error:
            self.fail(values[len(values) - length_hint(rest) - 1], error)
        formed = keys if self._form is None else self._formed(self._form, keys, values)
        self.output.keyed(formed, values if self.convert is None else self.convert(values), timestamps)

    def _formed(self, form: Callable[[Values], Values], keys: Values, values: Values) -> Values:
        """Keys in the form of their type. Fails with the first record whose key cannot have it."""
        try:
            return form(keys)
        except Exception:
            for key, value in zip(keys, values, strict=True):
                try:
                    form([key])
                except Exception as error:
                    self.fail(value, error)
            raise


class PartitionCustomMap(FunctionOperator[ops.PartitionCustomMap]):
    """Pairs each record with the subtask that a custom partitioner chooses."""

    method = "partition"

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        select = call_of(self.operator.key_selector, "get_key")
        count = self.context.spec.outputs[0].parallelism
        made = []
        for value in values:
            try:
                target = self.call(select(value), count)
                if not 0 <= target < count:
                    raise ValueError(f"The partitioner chose subtask {target} of {count}.")
            except Exception as error:
                self.fail(value, error)
            made.append((target, value))
        self.output.records(made, timestamps)


class ProjectOperator(FunctionOperator[ops.Project]):
    """Selects some fields of a tuple."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        fields = self.operator.positions
        self.output.records([tuple(value[field] for field in fields) for value in values], timestamps)


CoKind = ops.CoMap | ops.CoFlatMap | ops.CoProcess


class CoOperator(FunctionOperator[CoKind]):
    """Runs a function on two connected streams without keys: map, flat map or process."""

    def __init__(self, context: OperatorContext, output: Output, operator: CoKind) -> None:
        super().__init__(context, output, operator)
        function = self.function
        self._emitter = Emitter(output)
        self._plain = PlainContext(self)
        match operator:
            case ops.CoMap():
                self._handlers = [self._one(function.map1), self._one(function.map2)]
            case ops.CoFlatMap():
                self._handlers = [self._several(function.flat_map1), self._several(function.flat_map2)]
            case ops.CoProcess():
                self._handlers = [
                    self._processed(function.process_element1),
                    self._processed(function.process_element2),
                ]
            case _:
                assert_never(operator)

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        handle = self._handlers[input]
        value: Any = NO_RECORD
        try:
            for value, time in zip(values, timestamps or repeat(None), strict=False):
                handle(value, time)
        except Exception as error:
            self.fail(value, error)
        self._emitter.flush()

    def _one(self, call: Callable[[Any], Any]) -> Handler:
        return one_unless_none(call, self._emitter)

    def _several(self, call: Callable[[Any], Any]) -> Handler:
        take = self._emitter.take
        return lambda value, time: take(call(value), time)

    def _processed(self, call: Callable[[Any, Any], Any]) -> Handler:
        take, plain = self._emitter.take, self._plain

        def handle(value: Any, time: int | None) -> None:
            plain.time = time
            take(call(value, plain), time)

        return handle


def one_unless_none(call: Callable[[Any], Any], emitter: Emitter) -> Handler:
    """Emits the result of ``call`` for a record, unless that is None."""

    def handle(value: Any, time: int | None) -> None:
        result = call(value)
        if result is not None:
            emitter.one(result, time)

    return handle


class MultipleInputOperator(FunctionOperator[ops.MultipleInput]):
    """Runs one function on any number of streams; inputs are counted from 1."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        emitter, context = Emitter(self.output), PlainContext(self)
        for value, time in zip(values, timestamps or repeat(None), strict=False):
            context.time = time
            try:
                emitter.take(self.function.process_element(input + 1, value, context), time)
            except Exception as error:
                self.fail(value, error)
        emitter.flush()
