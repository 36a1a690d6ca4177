"""A subtask in an epoch. Flink: ``StreamTask``, ``OperatorChain``.

initialize_state → open → process_input → (finish) → snapshot_state, and close when it has ended or failed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compat.compiler.spark.operators.base import Opened, OperatorContext, Output, StreamOperator
from compat.compiler.spark.operators.factory import build, link
from compat.compiler.spark.operators.metrics import Metrics
from compat.compiler.spark.operators.source import IterationHead, SourceOperator
from compat.compiler.spark.operators.valve import WatermarkValve
from compat.compiler.spark.operators.watermarks import TimestampsAndWatermarks
from compat.compiler.spark.plan import Channels, OperatorSpec, TaskSpec
from compat.compiler.spark.runtime_api.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    Buffer,
    KeyedRecords,
    LatencyMarker,
    Records,
    Watermark,
    decode_elements,
)
from compat.compiler.spark.runtime_api.published import Published
from compat.compiler.spark.runtime_api.splits import SourceWork
from compat.compiler.spark.runtime_api.work import IterationWork, WorkOfSubtask
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.task.channels import RecordWriter
from compat.compiler.spark.task.stowage import payloads
from compat.compiler.streamgraph.graph import Task
from compat.state.delta.replica import Position
from compat.state.delta.rows import DataFile, Row
from compat.state.serializers import dump, load


@dataclass(slots=True)
class OpenTask:
    """The things a subtask keeps in a process between epochs, while nothing fails: its own copies of the operators, by node.

    Their functions are open, and metrics count since then; ``memory`` is its working state. ``ran`` is its last epoch with the
    attempt of the job. If another epoch was committed, or the job restarted since, its contents are useless.
    """

    operators: Mapping[int, Any]
    ran: tuple[Position, int] | None = None
    memory: Memory | None = None
    opened: dict[tuple[int, int], Opened] = field(default_factory=dict)
    metrics: dict[int, Metrics] = field(default_factory=dict)
    running: list[StreamOperator] = field(default_factory=list)

    def close(self) -> None:
        """Close the functions that are open."""
        running, self.running = self.running, []
        for operator in running:
            operator.close()


@dataclass(slots=True, kw_only=True)
class TaskEnvironment:
    """The input of a subtask for an epoch. ``runtime`` is its report after the last epoch, None for a new subtask."""

    subtask: int
    epoch: int
    attempt: int
    memory: Memory
    clock: Callable[[], int]
    options: Mapping[str, str]
    runtime: Any = None
    floors: Mapping[str, int] = field(default_factory=dict)
    described: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    work: WorkOfSubtask | None = None
    batch: bool = False
    store: str = ""
    job_id: str = ""
    cached: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class TaskReport:
    """The report of a subtask at the barrier.

    ``sent`` counts the records that left it, by the operator that they left from; ``busy`` is the time of all records in
    seconds. ``replica`` is the condition of its local state: ``current``, ``behind`` or ``rebuilt``; None if it keeps none.
    ``sealed`` replaces ``published`` on the way through processes without the program's modules. ``run`` distinguishes this run
    of the subtask from others in the epoch.
    """

    vertex: int
    subtask: int
    records: int
    ended: bool
    watermark: int
    runtime: bytes
    splits: list[tuple[dict[str, Any], bool]]
    published: list[Published]
    states: dict[str, list[dict[str, Any]]]
    watermarks: dict[str, int]
    next_timer: int | None
    source: str | None = None
    rows: DataFile | list[Row] = field(default_factory=list)
    replica: str | None = None
    changed: int = 0
    busy: float = 0.0
    sent: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    sealed: bytes = b""
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    @property
    def name(self) -> str:
        """The name of the subtask in the log."""
        return subtask_name(self.vertex, self.subtask)


def subtask_name(vertex: int, subtask: int) -> str:
    """The name of a subtask in the log."""
    return f"{vertex}/{subtask}"


class StreamTask:
    """Runs one subtask of a vertex for one epoch, with what it has open."""

    def __init__(
        self, spec: TaskSpec, environment: TaskEnvironment, open_task: OpenTask, emit: Callable[[Buffer], None]
    ) -> None:
        self.spec = spec
        self._environment = environment
        self._open_task = open_task
        self._levels: dict[int, int] = {}
        self._writers: list[RecordWriter] = []
        self._streams: dict[tuple[str, str | None], RecordWriter] = {}
        self._nodes: dict[int, list[StreamOperator]] = {}
        self._emit = emit
        self.ended = False

    def build(self, levels: Mapping[int, int]) -> None:
        """Build the chain. ``levels`` are those of the vertices."""
        operators = self._open_task.operators
        outputs: dict[int, Output] = {}
        restored = (self._environment.runtime or {}).get("operators", {})
        marks = (self._environment.runtime or {}).get("marks", {})
        for spec in reversed(self.spec.operators):
            output = outputs[spec.node] = Output(tagged=spec.tagged)
            for edge in spec.outputs:
                if edge.vertex is None:
                    consumer: Any = link(self._nodes[edge.target][0], edge.input)
                else:
                    consumer = RecordWriter(
                        edge,
                        levels[edge.vertex],
                        self._environment.subtask,
                        self._environment.epoch,
                        self._emit,
                    )
                    self._writers.append(consumer)
                    self._streams.setdefault((spec.id, edge.side_output), consumer)
                if edge.side_output is None:
                    output.main.append(consumer)
                else:
                    output.side.setdefault(edge.side_output, []).append(consumer)
            context = self._context(spec, restored.get(spec.id), marks.get(spec.id, MIN_TIMESTAMP))
            self._nodes[spec.node] = self._operators(spec, context, operators[spec.node], output)
        self._in_order = [operator for spec in self.spec.operators for operator in self._nodes[spec.node]]
        self._head = self._nodes[self.spec.operators[0].node][0]
        self._valves = {
            input: WatermarkValve(Channels(gates, self._environment.subtask))
            for input, gates in self.spec.gates.items()
        }
        self._combined = WatermarkValve(self._valves)
        self._input_head = next(
            (self._nodes[spec.node][0] for spec in self.spec.operators if not spec.is_source), self._head
        )

    def initialize_state(self) -> None:
        """Continue where the last epoch ended, or from the watermarks of a restored snapshot."""
        runtime = self._environment.runtime
        if runtime is not None:
            for input, snapshot in runtime["valves"].items():
                self._valves[input].restore(snapshot)
            self._combined.restore(runtime["combined"])
            self.ended = runtime["ended"]
            for writer, channel in zip(self._writers, runtime["writers"], strict=True):
                writer.next_channel = channel
        for operator in self._in_order:
            operator.initialize_state()

    def open(self) -> None:
        """Open operators from the end of the chain to its head, as Flink does. Functions of an earlier epoch are still open."""
        if self.ended:
            return
        self._open_task.running = self._in_order
        for operator in reversed(self._in_order):
            operator.open()

    def process_input(self, buffers: list[Buffer]) -> int:
        """Run sources, fire timers as they are due, and process the buffers of the epoch; gives the number of records."""
        count = 0
        self._advance_processing_time()
        for spec in self.spec.operators:
            head = self._nodes[spec.node][0]
            if isinstance(head, (SourceOperator, IterationHead)) and self._environment.work is not None:
                work = self._environment.work.get(spec.node)
                if isinstance(head, SourceOperator) and isinstance(work, SourceWork):
                    head.run(work)
                    count += head.count
                elif isinstance(head, IterationHead) and isinstance(work, IterationWork):
                    head.run(work)
        inputs = {gate.edge: input for input, gates in self.spec.gates.items() for gate in gates}
        in_order = sorted(buffers, key=lambda each: (each.number, each.channel, each.edge))
        for buffer, payload in payloads(in_order):
            if not self._environment.batch:
                self._advance_processing_time()
            input, channel = inputs[buffer.edge], (buffer.edge, buffer.channel)
            for element in decode_elements(payload):
                if isinstance(element, Records):
                    count += len(element.values)
                    self._input_head.process(input, element.values, element.timestamps)
                elif isinstance(element, KeyedRecords):
                    count += len(element.values)
                    self._input_head.process_keyed(input, *element)
                elif isinstance(element, Watermark):
                    self._watermark(input, self._valves[input].advance(channel, element.timestamp))
                elif isinstance(element, LatencyMarker):
                    self._input_head.process_latency(element)
                else:
                    self._status(input, channel, element.idle)
        if not self._environment.batch:
            self._advance_processing_time()
        for operator in self._in_order:
            if isinstance(operator, TimestampsAndWatermarks):
                operator.emit_periodically()
        self._finish_if_ended()
        return count

    def _advance_processing_time(self) -> None:
        if not self.ended:
            now = self._environment.clock()
            for operator in self._in_order:
                operator.advance_processing_time(now)

    def snapshot_state(self, changes: Changes) -> bytes:
        """Write the changed state; gives the state from which the task continues in the next epoch."""
        operators: dict[str, Any] = {}
        for spec in self.spec.operators:
            snapshots = [operator.snapshot_state(changes) for operator in self._nodes[spec.node]]
            operators[spec.id] = snapshots[0]
        for writer in self._writers:
            writer.flush()
        return dump(
            {
                "operators": operators,
                "marks": {spec.id: self._nodes[spec.node][0].watermark_now for spec in self.spec.operators},
                "valves": {input: valve.snapshot() for input, valve in self._valves.items()},
                "combined": self._combined.snapshot(),
                "ended": self.ended,
                "writers": [writer.next_channel for writer in self._writers],
            }
        )

    def report(self, count: int, runtime: bytes) -> TaskReport:
        """The report to the driver."""
        sources = [operator for operator in self._in_order if isinstance(operator, SourceOperator)]
        timers = [timer for operator in self._in_order if (timer := operator.next_timer()) is not None]
        return TaskReport(
            vertex=self.spec.vertex,
            subtask=self._environment.subtask,
            records=count,
            ended=self.ended,
            watermark=self._combined.watermark if self._valves else MAX_WATERMARK,
            runtime=runtime,
            splits=[split for source in sources for split in source.splits],
            published=[item for operator in self._in_order for item in operator.published],
            states={
                spec.id: described
                for spec in self.spec.operators
                if (described := self._nodes[spec.node][0].describe_states())
            },
            watermarks={
                spec.id: self._nodes[spec.node][0].watermark_now
                for spec in self.spec.operators
                if self._nodes[spec.node][0].watermark_now > MIN_TIMESTAMP
            },
            next_timer=min(timers, default=None),
            source=sources[0].context.spec.id if sources else None,
            sent=self._sent(),
            metrics={
                spec.id: measured
                for spec in self.spec.operators
                if (measured := self._nodes[spec.node][0].context.metrics.report())
            },
        )

    def _sent(self) -> dict[str, int]:
        """The records of each stream that leaves the task, once, however many read it."""
        found: dict[str, int] = {}
        for (id, _), writer in self._streams.items():
            found[id] = found.get(id, 0) + writer.sent
        return found

    def _context(self, spec: OperatorSpec, restored: Any, watermark: int) -> OperatorContext:
        environment = self._environment
        return OperatorContext(
            spec=spec,
            task_name=self.spec.name,
            subtask=environment.subtask,
            parallelism=self.spec.parallelism,
            max_parallelism=self.spec.max_parallelism,
            epoch=environment.epoch,
            attempt=environment.attempt,
            memory=environment.memory,
            clock=environment.clock,
            options=environment.options,
            restored=restored,
            watermark=watermark,
            batch=environment.batch,
            store=environment.store,
            job_id=environment.job_id,
            cached=environment.cached,
            metrics=self._open_task.metrics.setdefault(spec.node, Metrics()),
            floor=MIN_TIMESTAMP if environment.runtime is not None else environment.floors.get(spec.id, MIN_TIMESTAMP),
            described=environment.described.get(spec.id, {}),
        )

    def _operators(
        self, spec: OperatorSpec, context: OperatorContext, operator: Any, output: Output
    ) -> list[StreamOperator]:
        if spec.task is Task.ITERATION_HEAD:
            return [IterationHead(context, output)]
        if spec.is_source:
            return [SourceOperator(context, output, operator)]
        opened = self._open_task.opened
        return build(context, operator, output, lambda place: opened.setdefault((spec.node, place), Opened()))

    def _watermark(self, input: int, passed: int | None) -> None:
        if passed is None:
            return
        combined = self._combined.advance(input, passed)
        if combined is not None:
            self._input_head.process_watermark(combined)

    def _status(self, input: int, channel: Any, idle: bool) -> None:
        changed, passed = self._valves[input].set_idle(channel, idle)
        self._watermark(input, passed)
        if changed is not None:
            all_changed, combined = self._combined.set_idle(input, changed)
            if combined is not None:
                self._input_head.process_watermark(combined)
            if all_changed is not None:
                self._input_head.process_status(all_changed)

    def _finish_if_ended(self) -> None:
        if self.ended:
            return
        sources = [op for op in self._in_order if isinstance(op, (SourceOperator, IterationHead))]
        if self._valves:
            over = all(valve.ended for valve in self._valves.values())
        else:
            over = all(source.watermark_now == MAX_WATERMARK for source in sources)
        if over:
            for operator in self._in_order:
                operator.finish()
            self.ended = True


def load_runtime(data: bytes | None) -> Any:
    """The runtime state, as :meth:`StreamTask.snapshot_state` gave it."""
    return None if data is None else load(data)
