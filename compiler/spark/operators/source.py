"""Sources as tasks run them. Flink: ``SourceOperator``, ``StreamIterationHead``."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compat.compiler.spark.connectors.sources import SourceKind, reader_of
from compat.compiler.spark.operators.base import NO_RECORD, OperatorContext, Output, StreamOperator
from compat.compiler.spark.operators.valve import WatermarkValve
from compat.compiler.spark.operators.watermarks import TimestampsAndWatermarks
from compat.compiler.spark.runtime_api.elements import (
    BUFFER_RECORDS,
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    LatencyMarker,
    Timestamps,
    Values,
)
from compat.compiler.spark.runtime_api.splits import CacheDamaged, Read, SourceWork, Split
from compat.compiler.spark.runtime_api.work import IterationWork
from compat.compiler.spark.state.changes import Changes
from compat.compiler.transformations.operators import Source

LATENCY_INTERVAL = "metrics.latency.interval"
_QUICK = 0.05
"""The part of the time for reading that some records may take for more of them to be given on at once."""


class SourceOperator(StreamOperator):
    """Reads the splits of a subtask, with the timestamps and watermarks of the source's strategy.

    Each split has watermarks of its own, and the source's is the smallest of those that are being read.
    """

    def __init__(self, context: OperatorContext, output: Output, operator: SourceKind) -> None:
        super().__init__(context, output)
        self._reader = reader_of(operator, context.spec.output_type)
        self._strategy = strategy = operator.watermark_strategy if isinstance(operator, Source) else None
        self._assigner = None if strategy is None else strategy.timestamp_assigner
        self._marked = strategy is not None and (strategy.kind != "none" or strategy.idle_timeout is not None)
        self._valve = WatermarkValve(())
        self._marks: dict[str, TimestampsAndWatermarks] = {}
        self.splits: list[tuple[Split, bool]] = []
        self.count = 0

    def initialize_state(self) -> None:
        if self.context.restored is not None:
            valve, marks = self.context.restored
            self._valve.restore(valve)
            for id, restored in marks.items():
                self._mark(id).restore(restored)

    def open(self) -> None:
        if self.context.restored is None and self.context.floor > MIN_TIMESTAMP:
            self._valve.watermark = self.context.floor
            self.output.watermark(self.context.floor)

    def run(self, work: SourceWork) -> None:
        """Read what the driver assigned for this epoch; at the end of the input, emit the last watermark."""
        began = time.monotonic()
        if int(self.context.options.get(LATENCY_INTERVAL, "0").split()[0]) > 0:
            self.output.latency(LatencyMarker(self.context.clock(), self.context.spec.id, self.context.subtask))
        if work.concurrent:
            for split in work.splits:
                self._mark(split["id"])
        left = work.limit
        for place, split in enumerate(work.splits):
            share = -(-left // (len(work.splits) - place)) if work.concurrent else left
            spent = time.monotonic() - began
            seconds = (work.seconds - spent) / (len(work.splits) - place) if work.concurrent else work.seconds - spent
            left -= self._read(split, max(share, 0), seconds)
        for mark in self._marks.values():
            mark.emit_periodically()
        for split, done in self.splits:
            if done:
                self._release(split["id"])
        if work.last and all(done for _, done in self.splits):
            self.output.watermark(MAX_WATERMARK)
            self.watermark_now = MAX_WATERMARK

    def _read(self, split: Split, limit: int, seconds: float) -> int:
        """Read a split; gives the number of records that were taken."""
        with self._failing():
            read = self._reader.read(split, limit)
        taken = self._take(split["id"], read, seconds)
        if taken < len(read.values) and read.after is not None:
            with self._failing():
                read = Read([], None, read.after(taken), False)
        self.splits.append((read.split, read.done))
        self.count += taken
        if read.done:
            self._release(split["id"])
        return taken

    def _take(self, id: str, read: Read, seconds: float) -> int:
        """Give records on until the time is over, at least one; gives how many. The first few show what one costs."""
        now, size = time.monotonic(), 1
        if read.after is None or seconds == math.inf:
            seconds, size = math.inf, BUFFER_RECORDS
        target: Any = self.output if not self._marked or not read.values else self._mark(id)
        end, taken = now + seconds, 0
        while taken < len(read.values) and (taken == 0 or now < end):
            part = read.values[taken : taken + size]
            times = self._timestamps(part, None if read.timestamps is None else read.timestamps[taken : taken + size])
            if target is self.output:
                self.output.records(part, times)
            else:
                target.process(0, part, times)
            taken, before, now = taken + len(part), now, time.monotonic()
            if now - before < seconds * _QUICK:
                size = min(2 * size, BUFFER_RECORDS)
        return taken

    def _timestamps(self, values: Values, given: list[int | None] | None) -> Timestamps:
        """The timestamps of records, as the source's strategy has them."""
        if self._assigner is None:
            return given
        with self._failing():
            before = [MIN_TIMESTAMP] * len(values) if given is None else given
            return list(map(self._assigner.extract_timestamp, values, before))

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """What is raised meanwhile is the source's failure."""
        try:
            yield
        except CacheDamaged:
            raise
        except Exception as error:
            self.fail(NO_RECORD, error)

    def _mark(self, id: str) -> TimestampsAndWatermarks:
        if id not in self._marks and self._marked:
            assert self._strategy is not None
            self._valve.add(id)
            self._marks[id] = TimestampsAndWatermarks(self.context, _OfSplit(self, id), self._strategy, timed=False)
        return self._marks[id] if self._marked else None  # type: ignore[return-value]

    def _release(self, id: str) -> None:
        """A split that was read to its end holds nobody back any more; what it had reached counts."""
        mark = self._marks.pop(id, None)
        if mark is not None:
            mark.emit_periodically()
            self.split_watermark(self._valve.remove(id))

    def split_watermark(self, passed: int | None) -> None:
        """Handle the growth of the smallest watermark of the splits."""
        if passed is not None:
            self.watermark_now = passed
            self.output.watermark(passed)

    def split_status(self, id: str, idle: bool) -> None:
        """Handle the change of a split to idle or active."""
        changed, passed = self._valve.set_idle(id, idle)
        if changed is False:
            self.output.status(False)
        self.split_watermark(passed)
        if changed:
            self.output.status(True)

    def advance(self, id: str, timestamp: int) -> None:
        """Handle the growth of a split's watermark."""
        self.split_watermark(self._valve.advance(id, timestamp))

    def next_timer(self) -> int | None:
        due = [timer for mark in self._marks.values() if (timer := mark.next_timer()) is not None]
        return min(due, default=None)

    def snapshot_state(self, changes: Changes) -> Any:
        marks = {id: mark.snapshot_state(changes) for id, mark in self._marks.items()}
        return (self._valve.snapshot(), marks) if self._marked else None


class _OfSplit(Output):
    """The output of one split: its records go on, its watermarks are compared with those of the other splits."""

    def __init__(self, source: SourceOperator, id: str) -> None:
        super().__init__()
        self._source, self._id = source, id

    def records(self, values: Values, timestamps: Timestamps) -> None:
        self._source.output.records(values, timestamps)

    def watermark(self, timestamp: int) -> None:
        self._source.advance(self._id, timestamp)

    def status(self, idle: bool) -> None:
        self._source.split_status(self._id, idle)


class IterationHead(StreamOperator):
    """Emits the records of a loop, in the epoch after the one in which they reached its tail."""

    def run(self, work: IterationWork) -> None:
        """Emit the records that were sent back, and the last watermark if the loop ends with them."""
        for values, timestamps in work.feedback:
            self.output.records(values, timestamps)
        if work.last:
            self.output.watermark(MAX_WATERMARK)
            self.watermark_now = MAX_WATERMARK
