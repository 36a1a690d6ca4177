"""Sources as tasks run them. Flink: ``SourceOperator``, ``StreamIterationHead``."""

from __future__ import annotations

from typing import Any

from compiler.spark.elements import BUFFER_RECORDS, MAX_WATERMARK, MIN_TIMESTAMP
from compiler.spark.operators.base import NO_RECORD, OperatorContext, Output, StreamOperator
from compiler.spark.operators.factory import link
from compiler.spark.operators.watermarks import TimestampsAndWatermarks
from compiler.spark.sources import SourceWork, Split, reader_of
from compiler.spark.state.changes import Changes
from compiler.transformations.operators import Operator


class SourceOperator(StreamOperator):
    """Reads the splits of a subtask, with the timestamps and watermarks of the source's strategy."""

    def __init__(self, context: OperatorContext, output: Output, operator: Operator) -> None:
        super().__init__(context, output)
        self._reader = reader_of(operator, context.spec.output_type)
        strategy = operator.arguments.get("watermark_strategy")
        self._assigner = None if strategy is None else strategy.timestamp_assigner
        self.marks: TimestampsAndWatermarks | None = None
        self._target: Any = output
        if strategy is not None and (strategy.kind != "none" or strategy.idle_timeout is not None):
            self.marks = TimestampsAndWatermarks(context, output, operator)
            self.marks._timed = False
            self._target = link(self.marks, 0)
        self.splits: list[tuple[Split, bool]] = []
        self.count = 0

    def initialize_state(self) -> None:
        if self.marks is not None:
            self.marks.initialize_state()

    def run(self, work: SourceWork) -> None:
        """Read what the driver assigned; at the end of the input the last watermark follows."""
        left = work.limit
        for split in work.splits:
            try:
                read = self._reader.read(split, max(left, 0))
            except Exception as error:
                self.fail(NO_RECORD, error)
            self.splits.append((read.split, read.done))
            left -= len(read.values)
            self.count += len(read.values)
            times = read.timestamps
            if self._assigner is not None:
                times = [self._assigner.extract_timestamp(value, MIN_TIMESTAMP) for value in read.values]
            for start in range(0, len(read.values), BUFFER_RECORDS):
                end = start + BUFFER_RECORDS
                self._target.records(read.values[start:end], None if times is None else times[start:end])
        if self.marks is not None:
            self.marks.emit_periodically()
        if work.last and all(done for _, done in self.splits):
            self.output.watermark(MAX_WATERMARK)
            self.watermark_now = MAX_WATERMARK

    def next_timer(self) -> int | None:
        return None if self.marks is None else self.marks.next_timer()

    def snapshot_state(self, changes: Changes) -> Any:
        return None if self.marks is None else self.marks.snapshot_state(changes)


class IterationHead(StreamOperator):
    """Gives the records of a loop back, in the epoch after the one in which they reached its tail."""

    def run(self, work: tuple[list[tuple[list[Any], Any]], bool]) -> None:
        """Feedback, and whether the loop ends with it."""
        feedback, last = work
        for values, timestamps in feedback:
            self.output.records(values, timestamps)
        if last:
            self.output.watermark(MAX_WATERMARK)
            self.watermark_now = MAX_WATERMARK
