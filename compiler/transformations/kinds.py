"""The transformations: what a program's calls built, one frozen class a kind.

Flink: ``org.apache.flink.api.dag.Transformation`` and its subclasses. A transformation names its inputs by id; the
objects themselves live in a :class:`~compat.compiler.transformations.pipeline.Pipeline`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

from compat.compiler.errors import Location
from compat.compiler.transformations.operators import ChainingStrategy, Operator
from compat.compiler.transformations.partitioners import ExchangeMode, Partitioner
from compat.compiler.transformations.resources import SlotResources

PARALLELISM_DEFAULT = -1
MAX_PARALLELISM_UNSET = -1


class Transformation(Struct, frozen=True, kw_only=True):
    """The attributes that all kinds of transformation share. Unset numbers are -1, unset text is None, as in Flink.

    ``parallelism_configured`` is true if the program set the parallelism on this operator, false if it comes from the job.
    ``slot_resources`` are the resources of the slot sharing group, if the program gave a whole group.
    ``buffer_timeout`` is in milliseconds. ``location`` is the line of the program that made the transformation.
    """

    id: int
    name: str
    output_type: Any = None
    parallelism: int = PARALLELISM_DEFAULT
    parallelism_configured: bool = False
    max_parallelism: int = MAX_PARALLELISM_UNSET
    uid: str | None = None
    user_hash: str | None = None
    slot_sharing_group: str | None = None
    slot_resources: SlotResources | None = None
    co_location_group: str | None = None
    buffer_timeout: int = -1
    description: str | None = None
    location: Location | None = None

    physical: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[int, ...]:
        """The ids of the transformations that feed this one, in order."""
        return ()

    def with_input(self, old: int, new: int) -> dict[str, Any]:
        """The changed fields that make ``new`` feed this transformation in place of ``old``."""
        return {}


class PhysicalTransformation(Transformation, frozen=True, kw_only=True):
    """A transformation that becomes an operator. ``parts`` are the ids of those that were merged into it, if any."""

    operator: Operator
    parts: tuple[int, ...] = ()
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    concurrent_attempts: bool = True

    physical: ClassVar[bool] = True


class _Fed:
    """What feeds a transformation that has one input."""

    __slots__ = ()

    input: int

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.input,)

    def with_input(self, old: int, new: int) -> dict[str, Any]:
        return {"input": new} if self.input == old else {}


class _OneInput(_Fed, Transformation, frozen=True, kw_only=True):
    input: int


class _OneInputOperator(_Fed, PhysicalTransformation, frozen=True, kw_only=True):
    input: int


class Source(PhysicalTransformation, frozen=True, kw_only=True):
    """A source of the new kind: an enumerator on the coordinator and readers in tasks (FLIP-27)."""

    bounded: bool


class LegacySource(PhysicalTransformation, frozen=True, kw_only=True):
    """A ``SourceFunction``; one that is not ``parallel`` runs as a single subtask, whatever the program says."""

    bounded: bool
    parallel: bool = False


class OneInputTransformation(_OneInputOperator, frozen=True, kw_only=True):
    """An operator with one input; keyed when ``key_type`` is given. ``parallel`` is False after forceNonParallel."""

    keyed: bool = False
    key_type: Any = None
    parallel: bool = True


class ReduceTransformation(_OneInputOperator, frozen=True, kw_only=True):
    """Flink's rolling reduce on a keyed stream."""

    key_type: Any = None


class TimestampsAndWatermarks(_OneInputOperator, frozen=True, kw_only=True):
    """Assigns timestamps and watermarks."""


class LegacySink(_OneInputOperator, frozen=True, kw_only=True):
    """A ``SinkFunction``; keyed when it reads a keyed stream."""

    keyed: bool = False
    key_type: Any = None


class TwoInputTransformation(PhysicalTransformation, frozen=True, kw_only=True):
    """An operator with two inputs, each of which may be keyed."""

    input1: int
    input2: int
    keyed1: bool = False
    keyed2: bool = False
    key_type: Any = None

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.input1, self.input2)

    def with_input(self, old: int, new: int) -> dict[str, Any]:
        if self.input1 == old:
            return {"input1": new}
        return {"input2": new} if self.input2 == old else {}


class MultipleInputTransformation(PhysicalTransformation, frozen=True, kw_only=True):
    """An operator with any number of inputs."""

    input_list: tuple[int, ...]

    keyed: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[int, ...]:
        return self.input_list

    def with_input(self, old: int, new: int) -> dict[str, Any]:
        return {"input_list": _moved_to_end(self.input_list, old, new)}


class KeyedMultipleInputTransformation(MultipleInputTransformation, frozen=True, kw_only=True):
    """An operator on keyed streams with any number of inputs."""

    key_type: Any = None

    keyed: ClassVar[bool] = True


class BroadcastStateTransformation(PhysicalTransformation, frozen=True, kw_only=True):
    """A stream connected with a broadcast stream. Its own chaining strategy is ignored by Flink."""

    regular_input: int
    broadcast_input: int

    keyed: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.regular_input, self.broadcast_input)

    def with_input(self, old: int, new: int) -> dict[str, Any]:
        if self.regular_input == old:
            return {"regular_input": new}
        return {"broadcast_input": new} if self.broadcast_input == old else {}


class KeyedBroadcastStateTransformation(BroadcastStateTransformation, frozen=True, kw_only=True):
    """A keyed stream connected with a broadcast stream."""

    key_type: Any = None

    keyed: ClassVar[bool] = True


class SinkStep(Struct, frozen=True, kw_only=True):
    """One operator of a sink's topology; ``partitioner`` is put before the step, if there is one.

    If a text or number is None, the sink's own applies. ``deferred`` marks Flink's standard global committer, which
    is built only when the graph is made.
    """

    name: str
    operator: Operator
    partitioner: Partitioner | None = None
    uid: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    deferred: bool = False


class SinkTopology(Struct, frozen=True, kw_only=True):
    """The parts of a sink (Flink: ``Sink`` and its ``Supports…Topology`` interfaces), in the order of the data.

    ``concurrent_attempts`` says that several attempts of the writer may run at once (speculative execution).
    ``co_location_group`` is the sink's group for its writer and committer, if the program set none. ``supports_post_commit``
    marks a sink that may add parts after its committer: the partitioning before them is made, and takes an id, even without
    such parts.
    """

    writer: SinkStep
    pre_write: tuple[SinkStep, ...] = ()
    pre_commit: tuple[SinkStep, ...] = ()
    committer: SinkStep | None = None
    post_commit: tuple[SinkStep, ...] = ()
    concurrent_attempts: bool = False
    co_location_group: str | None = None
    supports_post_commit: bool = False


class Sink(_OneInput, frozen=True, kw_only=True):
    """A sink of the second kind. It has no node of its own: the graph holds the parts of its topology.

    ``keyed`` when it reads a keyed stream.
    """

    topology: SinkTopology
    keyed: bool = False
    key_type: Any = None
    chaining: ChainingStrategy | None = None

    physical: ClassVar[bool] = True


class CacheTransformation(_OneInput, frozen=True, kw_only=True):
    """A cached stream (batch only): a node that writes the cache stands beside the stream's readers."""


class Union(Transformation, frozen=True, kw_only=True):
    """Several streams as one."""

    input_list: tuple[int, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        return self.input_list

    def with_input(self, old: int, new: int) -> dict[str, Any]:
        return {"input_list": _moved_to_end(self.input_list, old, new)}


class Partition(_OneInput, frozen=True, kw_only=True):
    """A partitioning that the program asked for."""

    partitioner: Partitioner
    exchange_mode: ExchangeMode = ExchangeMode.UNDEFINED


class SideOutput(_OneInput, frozen=True, kw_only=True):
    """The records that an operator emitted under a tag."""

    tag: str


class Feedback(_OneInput, frozen=True, kw_only=True):
    """The head of an iteration (Flink before 2.0). ``feedback`` are the streams that close it; ``wait`` in milliseconds."""

    feedback: tuple[int, ...] = ()
    wait: int = 0


class CoFeedback(Transformation, frozen=True, kw_only=True):
    """The feedback input of a connected iteration: it has a head and a tail, but no input of its own."""

    feedback: tuple[int, ...] = ()
    wait: int = 0


def _moved_to_end(inputs: tuple[int, ...], old: int, new: int) -> tuple[int, ...]:
    """``inputs`` with the first ``old`` taken out and ``new`` put at the end, as PyFlink rewrites a union."""
    rest = list(inputs)
    rest.remove(old)
    return (*rest, new)
