"""Keyed operators in a batch: records by key and time, each key's timers behind its last record.

Flink: ``SortingDataInput`` and ``MultiInputSortingDataInput`` in front of the operator, and in it
``BatchExecutionInternalTimeService``. Flink sorts the records in files. Here the state keeps them until the input has ended. So
the cost of an epoch depends only on its own records, and a batch goes on from its last checkpoint.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any

from compat.compiler.datastream.time_domain import TimeDomain
from compat.compiler.spark.operators.base import NO_RECORD, StreamOperator
from compat.compiler.spark.operators.keyed import KeyedOperator
from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP, Timestamps, Values
from compat.compiler.spark.state.changes import Changes
from compat.state.descriptors import ListStateDescriptor
from compat.state.names import SORTED_INPUT

_NAMESPACE = SORTED_INPUT.encode()
"""The number of the timers that stand for keys with records."""
_Held = tuple[int, int, Any, int | None]
"""The time to sort by, the input, the record, and its timestamp."""


class SortedInput(StreamOperator):
    """A keyed operator that gets all records of a key together, in the order of their time, when its input has ended.

    Records of one time stay as they came. What is broadcast has no keys and is not held: it comes first as a whole.
    """

    def __init__(self, operator: KeyedOperator[Any]) -> None:
        super().__init__(operator.context, operator.output)
        self._operator = operator
        self._held = operator.backend.cells(ListStateDescriptor(SORTED_INPUT, None))

    def initialize_state(self) -> None:
        self._operator.initialize_state()

    def open(self) -> None:
        self._operator.open()

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        if self._operator.has_keys(input):
            self.process_keyed(input, [key for key, _ in values], [value for _, value in values], timestamps)
        else:
            self._operator.process(input, values, timestamps)

    def process_keyed(self, input: int, keys: Values, values: Values, timestamps: Timestamps) -> None:
        backend, register = self._operator.backend, self._operator.timers.event.register
        grouped: dict[Any, list[_Held]] = defaultdict(list)
        slots = backend.slots.all_of(keys)
        for slot, value, time in zip(slots, values, timestamps or repeat(None), strict=False):
            grouped[slot].append((MIN_TIMESTAMP if time is None else time, input, value, time))
        for slot, held in grouped.items():
            backend.set_slot(slot)
            self._held.add_all(held)
            backend.set_namespace(_NAMESPACE)
            register(MAX_WATERMARK)

    def process_watermark(self, timestamp: int) -> None:
        """Handle the end of the input: a batch has no other watermark."""
        if timestamp < MAX_WATERMARK:
            return
        operator, backend, timers = self._operator, self._operator.backend, self._operator.timers
        try:
            for time, slot, namespace in timers.event.due(MAX_WATERMARK):
                if namespace == _NAMESPACE:
                    self._fire_by_clock()
                    backend.set_slot(slot)
                    self._give(backend.key)
                else:
                    backend.set_slot(slot)
                    operator.on_timer(time, backend.key, namespace, TimeDomain.EVENT_TIME)
            self._fire_by_clock()
        except Exception as error:
            self.fail(NO_RECORD, error)
        self.watermark_now = operator.watermark_now = timestamp
        self.output.watermark(timestamp)

    def _give(self, key: Any) -> None:
        """All records of the present key. What callbacks do behind them is at the end of time, and they set no timers."""
        timers = self._operator.timers
        held = sorted(self._held.values(), key=itemgetter(0))
        self._held.clear()
        timers.begin_key()
        for input, together in groupby(held, itemgetter(1)):
            _, _, values, times = zip(*together, strict=True)
            timestamps = None if all(time is None for time in times) else list(times)
            self._operator.process_keyed(input, [key] * len(values), list(values), timestamps)
        timers.end_key()

    def _fire_by_clock(self) -> None:
        """Fire the timers by the clock of the key before: its others have fired, and it is done."""
        backend = self._operator.backend
        for time, slot, namespace in self._operator.timers.processing.due(MAX_WATERMARK):
            backend.set_slot(slot)
            self._operator.on_timer(time, backend.key, namespace, TimeDomain.PROCESSING_TIME)
        self._operator.emitter.flush()

    def snapshot_state(self, changes: Changes) -> Any:
        return self._operator.snapshot_state(changes)

    def describe_states(self) -> list[dict[str, Any]]:
        return self._operator.describe_states()

    def close(self) -> None:
        self._operator.close()
