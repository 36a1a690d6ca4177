"""Timestamps and watermarks. Flink: ``TimestampsAndWatermarksOperator``, ``WatermarksWithIdleness``."""

from __future__ import annotations

from operator import length_hint
from typing import Any

from compat.compiler.datastream.common.watermark_strategy import (
    BoundedOutOfOrdernessWatermarks,
    NoWatermarks,
    WatermarkStrategy,
)
from compat.compiler.spark.operators.base import OperatorContext, Output, StreamOperator
from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP, Timestamps, Values
from compat.compiler.spark.runtime_api.records import converter
from compat.compiler.spark.state.changes import Changes
from compat.compiler.transformations.operators import ExtractTimestamp as ExtractTimestampKind
from compat.state.time import milliseconds_of


class ExtractTimestamp(StreamOperator):
    """Calls the program's assigner; records become (record, timestamp), which go on beside each other, as keys and values."""

    def __init__(self, context: OperatorContext, output: Output, operator: ExtractTimestampKind) -> None:
        super().__init__(context, output)
        self._assigner = operator.function
        self._convert, self._convert_time = map(converter, context.spec.output_type.field_types)

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        extract = self._assigner.extract_timestamp
        rest = iter(values)
        try:
            if timestamps is None:
                times = [extract(value, MIN_TIMESTAMP) for value in rest]
            else:
                before = [MIN_TIMESTAMP if each is None else each for each in timestamps]
                times = [extract(value, each) for value, each in zip(rest, before, strict=True)]
        except Exception as error:
            self.fail(values[len(values) - length_hint(rest) - 1], error)
        converted = values if self._convert is None else self._convert(values)
        self.output.keyed(converted, times if self._convert_time is None else self._convert_time(times), timestamps)


class RemoveTimestamp(StreamOperator):
    """Takes the record from (record, timestamp)."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        self.output.records([value for value, _ in values], timestamps)

    def process_keyed(self, input: int, keys: Values, values: Values, timestamps: Timestamps) -> None:
        self.output.records(keys, timestamps)


class TimestampsAndWatermarks(StreamOperator):
    """Makes watermarks: after records that call for one, and at the end of an epoch.

    Watermarks from upstream are dropped, except for the last one, as in Flink; in a batch there is only the last one. ``timed``
    says that records are pairs (record, timestamp).
    """

    def __init__(self, context: OperatorContext, output: Output, strategy: WatermarkStrategy, timed: bool) -> None:
        super().__init__(context, output)
        self._strategy = strategy
        self._timed = timed
        self._generator = self._strategy.create_watermark_generator()
        self._last = MIN_TIMESTAMP
        self._idle = False
        self._active_at = context.clock()
        timeout = self._strategy.idle_timeout
        self._timeout = None if timeout is None else milliseconds_of(timeout)

    def initialize_state(self) -> None:
        if self.context.restored is not None:
            self.restore(self.context.restored)

    def restore(self, snapshot: Any) -> None:
        """Continue from the state of :meth:`snapshot_state`."""
        self._generator, self._last, self._idle, self._active_at = snapshot

    def open(self) -> None:
        if self.context.restored is None and self.context.floor > MIN_TIMESTAMP:
            self._emit(self.context.floor)

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        if self._timed:
            self._mark([value[0] for value in values], [value[1] for value in values], None)
        else:
            self._mark(values, None, timestamps)

    def process_keyed(self, input: int, keys: Values, values: Values, timestamps: Timestamps) -> None:
        if self._timed:
            self._mark(keys, values, None)
        else:
            super().process_keyed(input, keys, values, timestamps)

    def _mark(self, events: Values, given: Values | None, timestamps: Timestamps) -> None:
        """Pass records on, each with the timestamp that it was ``given``, if they are timed, and note their timestamps."""
        if self._idle:
            self._idle = False
            self.output.status(False)
        self._active_at = self.context.clock()
        timestamps = timestamps if given is None else given
        times = [MIN_TIMESTAMP if each is None else each for each in timestamps or [None] * len(events)]
        generator = self._generator
        if type(generator) is BoundedOutOfOrdernessWatermarks:
            generator.on_event(None, max(times))
        elif type(generator) is not NoWatermarks:
            self._one_by_one(events, given, times, timestamps)
            return
        self._pass(events, given, timestamps)

    def _one_by_one(self, events: Values, given: Values | None, times: list[int], timestamps: Timestamps) -> None:
        start = 0
        for place, (event, timestamp) in enumerate(zip(events, times, strict=True)):
            try:
                mark = self._generator.on_event(event, timestamp)
            except Exception as error:
                self.fail(event, error)
            if mark is not None and mark > self._last:
                self._pass_part(events, given, timestamps, start, place + 1)
                self._emit(mark)
                start = place + 1
        self._pass_part(events, given, timestamps, start, len(events))

    def _pass_part(self, events: Values, given: Values | None, timestamps: Timestamps, start: int, end: int) -> None:
        if end > start:
            times = None if timestamps is None else timestamps[start:end]
            self._pass(events[start:end], None if given is None else times, times)

    def _pass(self, events: Values, given: Values | None, timestamps: Timestamps) -> None:
        if given is None:
            self.output.records(events, timestamps)
        else:
            self.output.keyed(events, given, timestamps)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self._emit(timestamp)

    def process_status(self, idle: bool) -> None:
        """Do nothing: idleness is decided here, not upstream."""

    def emit_periodically(self) -> None:
        """Emit the watermark at the end of its interval, as of every epoch."""
        mark = self._generator.on_periodic_emit()
        if mark is not None and not self._idle:
            self._emit(mark)
        if self._timeout is not None and not self._idle and self.context.clock() - self._active_at > self._timeout:
            self._idle = True
            self.output.status(True)

    def next_timer(self) -> int | None:
        return None if self._timeout is None or self._idle else self._active_at + self._timeout + 1

    def _emit(self, mark: int) -> None:
        if mark > self._last and (mark == MAX_WATERMARK or not self.context.batch):
            self._last = self.watermark_now = mark
            self.output.watermark(mark)

    def snapshot_state(self, changes: Changes) -> Any:
        return self._generator, self._last, self._idle, self._active_at
