"""Operators on keyed streams. Flink: ``KeyedProcessOperator``, ``StreamGroupedReduceOperator``, ``KeyedCoProcessOperator``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import add, itemgetter
from typing import Any, Generic, TypeVar, assert_never

from compat.compiler.datastream.time_domain import TimeDomain
from compat.compiler.datastream.timerservice import TimerService
from compat.compiler.spark.operators.base import (
    NO_RECORD,
    Emitter,
    OperatorContext,
    Output,
    TaskRuntimeContext,
    call_of,
    open_functions,
)
from compat.compiler.spark.operators.stateless import FunctionOperator, Handler, one_unless_none
from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP, Timestamps, Values
from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.slots import VOID
from compat.compiler.spark.state.timers import InternalTimers
from compat.compiler.transformations import operators as ops
from compat.state.descriptors import ReducingStateDescriptor
from compat.state.names import PYTHON_REDUCE
from compat.state.serializers import key_codec_of
from compat.state.types import TupleTypeInfo

_KEY, _VALUE = itemgetter(0), itemgetter(1)
Keyed = TypeVar("Keyed", bound=ops.Operator)


class KeyedOperator(FunctionOperator[Keyed], Generic[Keyed]):
    """The base of operators on keyed streams: a backend, timers, and records with keys."""

    def __init__(self, context: OperatorContext, output: Output, operator: Keyed) -> None:
        super().__init__(context, output, operator)
        self.backend = context.opened.backend or self._new_backend(context)
        self.backend.begin(context.memory, context.clock)
        context.opened.backend = self.backend
        self.timers = context.opened.timers or InternalTimers(self.backend, context.clock)
        self.timers.begin(context.clock, context.watermark)
        context.opened.timers = self.timers
        self.emitter = Emitter(output)

    @staticmethod
    def _new_backend(context: OperatorContext) -> KeyedBackend:
        row = context.spec.key_type
        key_type = None if row is None else row.field_types[0]
        backend = KeyedBackend(context.spec.id, key_codec_of(key_type), context.max_parallelism, key_type)
        backend.restored = dict(context.described)
        return backend

    def open(self) -> None:
        try:
            open_functions(self.operator, self.context, self.runtime_context)
        except Exception as error:
            self.fail(NO_RECORD, error)

    def has_keys(self, input: int) -> bool:
        """True for an input whose records have keys."""
        return True

    def runtime_context(self) -> TaskRuntimeContext:
        """The context that functions are opened with."""
        return TaskRuntimeContext(self.context, self.backend)

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        self.process_keyed(input, list(map(_KEY, values)), list(map(_VALUE, values)), timestamps)

    def process_keyed(self, input: int, keys: Values, values: Values, timestamps: Timestamps) -> None:
        backend, handle = self.backend, self.handler(input)
        value: Any = NO_RECORD
        are_slots = backend.slots.are_keys(keys)
        timers = self.timers.processing
        try:
            for key, value, time in zip(keys, values, timestamps or repeat(None), strict=False):
                if timers.soonest < MAX_WATERMARK and not self.context.batch:
                    self.advance_processing_time(self.context.clock())
                if are_slots:
                    backend.key = backend.slot = key
                    backend.namespace = VOID
                else:
                    backend.set_key(key)
                handle(value, time)
        except Exception as error:
            self.fail(value, error)
        self.emitter.flush()

    def handler(self, input: int) -> Handler:
        """The function that handles a record of an input whose key is set."""
        raise NotImplementedError

    def on_timer(self, timestamp: int, key: Any, namespace: bytes, domain: TimeDomain) -> None:
        """Handle a timer that is due; its key is set."""

    def process_watermark(self, timestamp: int) -> None:
        self.watermark_now = self.timers.watermark = timestamp
        self._fire(self.timers.event.due(timestamp), TimeDomain.EVENT_TIME)
        self.output.watermark(timestamp)

    def advance_processing_time(self, now: int) -> None:
        timers = self.timers.processing
        if timers.soonest <= now:
            self._fire(timers.due(now), TimeDomain.PROCESSING_TIME)
            timers.look()

    def next_timer(self) -> int | None:
        return self.timers.processing.next()

    def _fire(self, due: Any, domain: TimeDomain) -> None:
        try:
            for time, slot, namespace in due:
                self.backend.set_slot(slot)
                self.on_timer(time, self.backend.key, namespace, domain)
        except Exception as error:
            self.fail(NO_RECORD, error)
        self.emitter.flush()

    def snapshot_state(self, changes: Changes) -> Any:
        self.backend.snapshot(changes)
        self.timers.snapshot(changes)

    def describe_states(self) -> list[dict[str, Any]]:
        return self.backend.described()


class KeyedMap(KeyedOperator[ops.KeyedMap | ops.KeyedFlatMap | ops.KeyedFilter | ops.KeyedValues]):
    """map, flat_map, filter and the operator that drops the key."""

    def handler(self, input: int) -> Handler:
        emitter = self.emitter
        match self.operator:
            case ops.KeyedValues():
                return emitter.one
            case ops.KeyedMap():
                make = call_of(self.function, "map")
                return lambda value, time: emitter.one(make(value), time)
            case ops.KeyedFilter():
                keep = call_of(self.function, "filter")
                return lambda value, time: emitter.one(value, time) if keep(value) else None
            case ops.KeyedFlatMap():
                several = call_of(self.function, "flat_map")
                return lambda value, time: emitter.take(several(value), time)
            case _:
                assert_never(self.operator)


class KeyedReduce(KeyedOperator[ops.KeyedReduce]):
    """reduce, sum, min, max, min_by and max_by: after each record, and in a batch once for each key at the end."""

    def initialize_state(self) -> None:
        aggregation, value_type = self.operator.aggregation, self.operator.value_type
        if aggregation is not None:
            combine = accumulator(aggregation, value_type)
        else:
            combine = call_of(self.function, "reduce")
        self.state = self.backend.cells(ReducingStateDescriptor(PYTHON_REDUCE, combine, value_type))
        self._combine = combine

    def process_keyed(self, input: int, keys: Values, values: Values, timestamps: Timestamps) -> None:
        if self.context.batch:
            super().process_keyed(input, keys, values, timestamps)
            return
        slots = self.backend.slots.all_of(keys)
        pairs, combine = self.state.many(set(slots)), self._combine
        made: Values = []
        value: Any = NO_RECORD
        try:
            for slot, value in zip(slots, values, strict=True):
                pair = pairs[slot]
                present = pair[0]
                pair[0] = value = value if present is None else combine(present, value)
                made.append(value)
        except Exception as error:
            self.fail(value, error)
        self.output.records(made, timestamps)

    def handler(self, input: int) -> Handler:
        state, emitter, combine, timers = self.state, self.emitter, self._combine, self.timers.event

        def handle(value: Any, time: int | None) -> None:
            present = state.read()
            if present is not None:
                value = combine(present, value)
            state.write(value)
            if not self.context.batch:
                emitter.one(value, time)
            elif present is None:
                timers.register(MAX_WATERMARK)

        return handle

    def on_timer(self, timestamp: int, key: Any, namespace: bytes, domain: TimeDomain) -> None:
        self.emitter.one(self.state.read(), timestamp)


_OPERATIONS: dict[ops.Aggregate, Callable[[Any, Any], Any]] = {
    ops.Aggregate.SUM: add,
    ops.Aggregate.MIN: min,
    ops.Aggregate.MAX: max,
}


def accumulator(aggregation: ops.Aggregation, value_type: Any = None) -> Callable[[Any, Any], Any]:
    """The function that combines two records: ``sum``, ``min``, ``max`` change a field of the first; ``…_by`` choose one
    of the two."""
    how, field = aggregation.how, aggregation.field
    operation = _OPERATIONS.get(how)
    if (
        operation is not None
        and field == 1
        and isinstance(value_type, TupleTypeInfo)
        and len(value_type.field_types) == 2
    ):
        return lambda left, right: (left[0], operation(left[1], right[1]))

    def read(record: Any) -> Any:
        if isinstance(record, (tuple, list)) or hasattr(record, "get_row_kind"):
            return record[field]
        if field != 0:
            raise TypeError(f"There is no field {field!r} in {record!r}: it is no tuple, list or Row.")
        return record

    def changed(record: Any, value: Any) -> Any:
        if isinstance(record, tuple):
            fields = list(record)
            fields[field] = value  # type: ignore[index]
            return tuple(fields)
        if isinstance(record, list) or hasattr(record, "get_row_kind"):
            import copy

            twin = copy.deepcopy(record)
            twin[field] = value
            return twin
        return value

    if operation is not None:

        def combine(left: Any, right: Any) -> Any:
            if field == 1 and type(left) is tuple and len(left) == 2:
                return left[0], operation(left[1], right[1])
            return changed(left, operation(read(left), read(right)))

        return combine
    if how is ops.Aggregate.MIN_BY:
        return lambda left, right: right if read(right) < read(left) else left
    return lambda left, right: right if read(right) > read(left) else left


class KeyedTimers(TimerService):
    """Time and timers of the present key."""

    def __init__(self, timers: InternalTimers) -> None:
        self._timers = timers
        self.register_event_time_timer = timers.event.register  # type: ignore[method-assign]
        self.register_processing_time_timer = timers.processing.register  # type: ignore[method-assign]
        self.delete_event_time_timer = timers.event.delete  # type: ignore[method-assign]
        self.delete_processing_time_timer = timers.processing.delete  # type: ignore[method-assign]

    def current_processing_time(self) -> int:
        return self._timers.clock()

    def current_watermark(self) -> int:
        return self._timers.watermark

    def register_processing_time_timer(self, timestamp: int) -> None: ...

    def register_event_time_timer(self, timestamp: int) -> None: ...


class KeyedContext:
    """The context of keyed process functions, for records and for timers."""

    def __init__(self, operator: KeyedOperator[Any]) -> None:
        self._operator = operator
        self._timer_service = KeyedTimers(operator.timers)
        self.time: int | None = None
        self.domain: TimeDomain | None = None

    def timer_service(self) -> TimerService:
        """Time and timers."""
        return self._timer_service

    def timestamp(self) -> int:
        """The timestamp of the present record or timer; the smallest long, as in PyFlink, for a record without one."""
        return MIN_TIMESTAMP if self.time is None else self.time

    def time_domain(self) -> TimeDomain | None:
        """The clock of the timer."""
        return self.domain

    def get_current_key(self) -> Any:
        """The present key."""
        return self._operator.backend.key

    def current_processing_time(self) -> int:
        """The machine's time."""
        return self._timer_service.current_processing_time()

    def current_watermark(self) -> int:
        """The present event time."""
        return self._timer_service.current_watermark()


ProcessKind = (
    ops.KeyedProcess
    | ops.KeyedCoMap
    | ops.KeyedCoFlatMap
    | ops.KeyedCoProcess
    | ops.KeyedMultipleInput
    | ops.KeyedBroadcastProcess
)


class KeyedProcess(KeyedOperator[ProcessKind]):
    """A KeyedProcessFunction, and with two inputs the keyed co-functions; with many, a function of all inputs."""

    def __init__(self, context: OperatorContext, output: Output, operator: ProcessKind) -> None:
        super().__init__(context, output, operator)
        self.ctx = KeyedContext(self)

    def process_keyed(self, input: int, keys: Values, values: Values, timestamps: Timestamps) -> None:
        call = self._call_of(input)
        if call is None or self.output.tagged or not self.backend.slots.are_keys(keys):
            super().process_keyed(input, keys, values, timestamps)
            return
        backend, context, timers, batch = self.backend, self.ctx, self.timers.processing, self.context.batch
        made: Values = []
        times: list[int | None] | None = None if timestamps is None else []
        value: Any = NO_RECORD
        backend.namespace = VOID
        try:
            for key, value, time in zip(keys, values, timestamps or repeat(None), strict=False):
                if timers.soonest != MAX_WATERMARK and not batch:
                    self.output.records(made, times)
                    made, times = [], None if timestamps is None else []
                    self.advance_processing_time(self.context.clock())
                    backend.namespace = VOID
                backend.key = backend.slot = key
                context.time = time
                results = call(value, context)
                if results is not None:
                    for result in results:
                        made.append(result)
                        if times is not None:
                            times.append(time)
        except Exception as error:
            self.fail(value, error)
        self.output.records(made, times)

    def _call_of(self, input: int) -> Callable[[Any, Any], Any] | None:
        """The function that makes results of a record and the context, for operators that have just that."""
        match self.operator:
            case ops.KeyedCoProcess():
                return (self.function.process_element1, self.function.process_element2)[input]  # type: ignore[no-any-return]
            case ops.KeyedProcess() | ops.KeyedBroadcastProcess():
                return self.function.process_element  # type: ignore[no-any-return]
            case _:
                return None

    def handler(self, input: int) -> Handler:
        function, emitter = self.function, self.emitter
        match self.operator:
            case ops.KeyedCoMap():
                return one_unless_none((function.map1, function.map2)[input], emitter)
            case ops.KeyedCoFlatMap():
                several = (function.flat_map1, function.flat_map2)[input]
                return lambda value, time: emitter.take(several(value), time)
            case ops.KeyedCoProcess():
                return self._processed((function.process_element1, function.process_element2)[input])
            case ops.KeyedMultipleInput():
                return self._processed(lambda value, context: function.process_element(input + 1, value, context))
            case ops.KeyedProcess() | ops.KeyedBroadcastProcess():
                return self._processed(function.process_element)
            case _:
                assert_never(self.operator)

    def _processed(self, call: Callable[[Any, Any], Any]) -> Handler:
        context, emitter = self.ctx, self.emitter

        def handle(value: Any, time: int | None) -> None:
            context.time = time
            emitter.take(call(value, context), time)

        return handle

    def on_timer(self, timestamp: int, key: Any, namespace: bytes, domain: TimeDomain) -> None:
        self.ctx.time, self.ctx.domain = timestamp, domain
        if hasattr(self.function, "on_timer"):
            self.emitter.take(self.function.on_timer(timestamp, self.ctx), timestamp)
