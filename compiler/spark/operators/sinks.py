"""Operators that end a stream. Flink: ``SinkWriterOperator``, ``CommitterOperator``, ``PrintSinkFunction``.

What leaves the job goes into the task's report, and out only after the epoch is committed.
"""

from __future__ import annotations

import uuid
from itertools import repeat
from typing import Any

from compat.compiler.spark.connectors.sinks import writer_of
from compat.compiler.spark.operators.base import OperatorContext, Output, StreamOperator
from compat.compiler.spark.operators.texts import text_of
from compat.compiler.spark.runtime_api.elements import Timestamps, Values
from compat.compiler.spark.runtime_api.published import Collected, Printed, Published, SentBack, Written
from compat.compiler.spark.runtime_api.sinks import ClosingWriter, WriterContext
from compat.compiler.spark.state.changes import Changes
from compat.compiler.transformations import operators as ops
from compat.state.delta.errors import StoreError


class ReportingSink(StreamOperator):
    """A sink whose ``published`` output goes to the driver with the report."""

    def __init__(self, context: OperatorContext, output: Output) -> None:
        super().__init__(context, output)
        self.published: list[Published] = []

    def process_watermark(self, timestamp: int) -> None:
        self.watermark_now = timestamp
        self.output.watermark(timestamp)


class PrintSink(ReportingSink):
    """Prints lines to the standard output, marked with the subtask if there are several."""

    def __init__(self, context: OperatorContext, output: Output, operator: ops.Print) -> None:
        super().__init__(context, output)
        prefix = operator.identifier or ""
        if context.parallelism > 1:
            prefix += f"{':' if prefix else ''}{context.subtask + 1}"
        self._prefix = f"{prefix}> " if prefix else ""
        self._text = text_of(operator.type)

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        self.published.append(Printed([f"{self._prefix}{self._text(value)}" for value in values]))


class CollectSink(ReportingSink):
    """Collects records for the program."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        self.published.append(Collected(list(values)))


class IterationTail(ReportingSink):
    """Sends records back to the head of a loop, for the next epoch."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        assert self.context.spec.loop is not None
        self.published.append(SentBack(self.context.spec.loop, self.context.subtask, values, timestamps))


class WriterOperator(ReportingSink):
    """Writes records; the output to be published goes on to the committer, or to the driver if there is none."""

    def __init__(self, context: OperatorContext, output: Output, operator: ops.SinkWriter | ops.LegacySink) -> None:
        super().__init__(context, output)
        # Of an epoch that is tried again, the task that was given up may still be writing.
        attempt = f"{context.attempt}-{uuid.uuid4().hex[:12]}"
        told = WriterContext(context.spec.id, context.subtask, context.epoch, attempt, context.store, context.job_id)
        self._writer = writer_of(operator.function, told)

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        write = self._writer.write
        value: Any = None
        try:
            for value, time in zip(values, timestamps or repeat(None), strict=False):
                write(value, time)
        except StoreError:
            raise
        except Exception as error:
            self.fail(value, error)

    def snapshot_state(self, changes: Changes) -> Any:
        committables = self._writer.prepare_commit()
        if committables and self.output.main:
            self.output.records(committables, None)
        elif committables:
            self.published.append(Written(self.context.spec.id, committables))

    def close(self) -> None:
        if isinstance(self._writer, ClosingWriter):
            self._writer.close()


class CommitterOperator(ReportingSink):
    """Hands the writers' output to the driver, which publishes it after the commit."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        self.published.append(Written(self.context.spec.id, list(values)))


class PassThrough(StreamOperator):
    """An operator that changes nothing, such as the parts of a compacting sink."""

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        self.output.records(values, timestamps)
