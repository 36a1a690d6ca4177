"""Sinks. Flink: ``LegacySinkTransformationTranslator``, ``SinkTransformationTranslator`` and the global committer's.

A sink of the second kind is expanded into the operators of its topology while the graph is made.
"""

from __future__ import annotations

from compat.compiler.errors import illegal_state, unsupported
from compat.compiler.streamgraph.graph import Task
from compat.compiler.streamgraph.translators.context import Context
from compat.compiler.transformations.kinds import (
    LegacySink,
    OneInputTransformation,
    Partition,
    PhysicalTransformation,
    Sink,
    SinkStep,
)
from compat.compiler.transformations.operators import ChainingStrategy
from compat.compiler.transformations.partitioners import FORWARD, GLOBAL, ExchangeMode, Partitioner

COMMITTER_UID = "Sink Committer: {}"
GLOBAL_COMMITTER_UID = "Sink {} Global Committer"
"""The uids of a sink's committers, made from the sink's own uid, which its writer has."""


class GlobalCommitter(PhysicalTransformation, frozen=True, kw_only=True):
    """Flink's standard global committer before its own translation (Flink: ``GlobalCommitterTransform``)."""

    input: int

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.input,)


def translate_legacy_sink(sink: LegacySink, context: Context) -> tuple[int, ...]:
    """Translate a ``SinkFunction``. It has no output, so no id stands for it."""
    context.builder.sinks.append(sink.id)
    context.add_operator(
        sink,
        Task.ONE_INPUT,
        name=f"Sink: {sink.name}",
        chaining=context.batch_keyed(sink.chaining, sink.keyed),
        keyed_inputs=int(sink.keyed),
        key_type=sink.key_type,
    )
    return ()


def translate_sink(sink: Sink, context: Context) -> tuple[int, ...]:
    """Make all parts of the sink and the partitionings between them, in order, for translation."""
    expansion = _Expansion(sink, context)
    topology = sink.topology
    for step in topology.pre_write:
        expansion.add(step, concurrent=topology.concurrent_attempts)
    expansion.add(topology.writer, concurrent=topology.concurrent_attempts)
    if topology.committer is not None:
        expansion.add_failover_region()
        for step in topology.pre_commit:
            expansion.add(step)
        expansion.add(topology.committer)
    if topology.post_commit or topology.supports_post_commit:
        expansion.add_failover_region()
        for step in topology.post_commit:
            expansion.add(step)
    context.schedule(expansion.made)
    return ()


def translate_global_committer(committer: GlobalCommitter, context: Context) -> tuple[int, ...]:
    """Put a global partitioning and the operator in place of the standard global committer."""
    partition = Partition(
        id=context.pipeline.new_id(),
        name="Partition",
        input=committer.input,
        partitioner=GLOBAL.without_unaligned(),
    )
    context.pipeline.add(partition, register=False)
    operator = OneInputTransformation(
        id=context.pipeline.new_id(),
        name=committer.name,
        uid=committer.uid,
        operator=committer.operator,
        input=partition.id,
        parallelism=1,
        parallelism_configured=True,
        max_parallelism=1,
        slot_sharing_group=committer.slot_sharing_group,
        co_location_group=committer.co_location_group,
        location=committer.location,
    )
    context.pipeline.add(operator, register=False)
    context.schedule([operator.id])
    return ()


class _Expansion:
    """The parts of one sink, made one after the other."""

    def __init__(self, sink: Sink, context: Context) -> None:
        self.made: list[int] = []
        self._sink = sink
        self._pipeline = context.pipeline
        self._last = sink.input
        self._keyed = sink.keyed
        self._aligned = False

    def add_failover_region(self) -> None:
        """A batch exchange, so that a batch job need not repeat what is before it; nothing in streaming mode."""
        self._partition(FORWARD, ExchangeMode.BATCH)

    def add(self, step: SinkStep, *, concurrent: bool = False) -> None:
        """One operator, with what the sink gives to its parts."""
        sink = self._sink
        if step.partitioner is not None:
            if self._keyed:
                raise unsupported(
                    "Cannot override partitioning for KeyedStream.",
                    stage="streamGraph",
                    operator=sink.name,
                    location=sink.location,
                )
            self._partition(step.partitioner, ExchangeMode.UNDEFINED)
        if step is sink.topology.writer:
            self._aligned = True
        if step.uid is not None and sink.uid is None:
            raise illegal_state(
                f"Sink {sink.name} requires to set a uid since its customized topology has set uid for some operators.",
                stage="streamGraph",
                operator=sink.name,
                location=sink.location,
            )
        own_parallelism = step.parallelism is not None
        shared = {
            "id": self._pipeline.new_id(),
            "name": f"{sink.name}: {step.name}",
            "uid": _part_uid(step, sink),
            "operator": step.operator,
            "chaining": sink.chaining or ChainingStrategy.ALWAYS,
            "input": self._last,
            "parallelism": step.parallelism if own_parallelism else sink.parallelism,
            "parallelism_configured": own_parallelism or sink.parallelism_configured,
            "max_parallelism": step.max_parallelism or sink.max_parallelism,
            "slot_sharing_group": sink.slot_sharing_group,
            "co_location_group": sink.co_location_group or sink.topology.co_location_group,
            "location": sink.location,
        }
        part: PhysicalTransformation
        if step.deferred:
            part = GlobalCommitter(**shared)  # type: ignore[arg-type]
        else:
            part = OneInputTransformation(
                **shared,  # type: ignore[arg-type]
                concurrent_attempts=concurrent,
                keyed=self._keyed,
                key_type=sink.key_type if self._keyed else None,
            )
        self._pipeline.add(part, register=False)
        self.made.append(part.id)
        self._last = part.id
        self._keyed = False

    def _partition(self, partitioner: Partitioner, mode: ExchangeMode) -> None:
        """A partitioning before the next part; behind the writer, committables must not be overtaken by a barrier."""
        partition = Partition(
            id=self._pipeline.new_id(),
            name="Partition",
            input=self._last,
            partitioner=partitioner.without_unaligned() if self._aligned else partitioner,
            exchange_mode=mode,
        )
        self._pipeline.add(partition, register=False)
        self._last = partition.id


def _part_uid(step: SinkStep, sink: Sink) -> str | None:
    """The uid of a part, made of the sink's; the same spellings since the first kind of sinks."""
    if sink.uid is None:
        return step.uid
    topology = sink.topology
    if step is topology.writer:
        return sink.uid
    if step is topology.committer:
        return COMMITTER_UID.format(sink.uid)
    if step.deferred:
        return GLOBAL_COMMITTER_UID.format(sink.uid)
    return None if step.uid is None else f"{sink.uid}: {step.uid}"
