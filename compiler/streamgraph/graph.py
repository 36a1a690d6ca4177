"""The StreamGraph: one node an operator, one edge a stream between two.

Flink: ``org.apache.flink.streaming.api.graph.StreamGraph``, ``StreamNode``, ``StreamEdge``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from compat.compiler.configuration import JobSettings
from compat.compiler.errors import Location
from compat.compiler.transformations.operators import ChainingStrategy, Operator
from compat.compiler.transformations.partitioners import ExchangeMode, Partitioner
from compat.compiler.transformations.resources import UNKNOWN, ResourceSpec, SlotResources


class Task(Enum):
    """The class that runs a node (Flink: ``org.apache.flink.streaming.runtime.tasks``)."""

    SOURCE = "SourceOperatorStreamTask"
    LEGACY_SOURCE = "SourceStreamTask"
    ONE_INPUT = "OneInputStreamTask"
    TWO_INPUT = "TwoInputStreamTask"
    MULTIPLE_INPUT = "MultipleInputStreamTask"
    ITERATION_HEAD = "StreamIterationHead"
    ITERATION_TAIL = "StreamIterationTail"

    @property
    def flink_class(self) -> str:
        """The full Java name."""
        return f"org.apache.flink.streaming.runtime.tasks.{self.value}"


class GlobalExchangeMode(Enum):
    """The mode of exchanges that leave theirs undefined (Flink: ``GlobalStreamExchangeMode``)."""

    ALL_EDGES_BLOCKING = "ALL_EDGES_BLOCKING"
    ALL_EDGES_PIPELINED = "ALL_EDGES_PIPELINED"
    ALL_EDGES_PIPELINED_APPROXIMATE = "ALL_EDGES_PIPELINED_APPROXIMATE"
    ALL_EDGES_HYBRID_FULL = "ALL_EDGES_HYBRID_FULL"
    ALL_EDGES_HYBRID_SELECTIVE = "ALL_EDGES_HYBRID_SELECTIVE"


class StreamNode(Struct, frozen=True, kw_only=True):
    """An operator of the graph. ``id`` is its transformation's; iteration heads and tails have negative ids.

    ``operator`` and ``chaining`` are None for iteration heads and tails. ``state_keys`` counts the inputs with a key
    selector and ``key_type`` is their type. ``input_types`` and ``output_type`` are the types of the records that the
    operator reads, input by input, and writes; None if the program gave none.
    """

    id: int
    name: str
    description: str
    task: Task
    operator: Operator | None
    chaining: ChainingStrategy | None
    parallelism: int
    parallelism_configured: bool = False
    max_parallelism: int = -1
    uid: str | None = None
    user_hash: str | None = None
    slot_sharing_group: str | None = None
    co_location_group: str | None = None
    buffer_timeout: int = -1
    state_keys: int = 0
    key_type: Any = None
    input_types: tuple[Any, ...] = ()
    output_type: Any = None
    concurrent_attempts: bool = True
    min_resources: ResourceSpec = UNKNOWN
    preferred_resources: ResourceSpec = UNKNOWN
    location: Location | None = None

    @property
    def legacy_source(self) -> bool:
        """True for a ``SourceFunction``, which holds the lock of its whole chain."""
        return self.task is Task.LEGACY_SOURCE

    @property
    def yielding(self) -> bool:
        """True for an operator that may give up its thread while it processes a record."""
        return self.operator is not None and self.operator.yielding


class StreamEdge(Struct, frozen=True, kw_only=True):
    """A stream from ``source`` to ``target``.

    ``type_number`` is the input that it feeds: 0 for an operator with one input, else counted from 1. ``index`` counts the
    edges between the same two nodes. ``data_set`` marks the edge that writes a cached stream.
    """

    source: int
    target: int
    type_number: int
    partitioner: Partitioner
    exchange_mode: ExchangeMode
    side_output: str | None
    buffer_timeout: int
    index: int
    data_set: bool = False
    unaligned_checkpoints: bool = False


class StreamGraph(Struct, frozen=True, kw_only=True):
    """All operators and streams of a job. ``edges_in`` and ``edges_out`` keep each node's own order.

    ``slot_resources`` says what a slot of a slot sharing group needs, for the groups that say it (Flink: ``ResourceProfile``).
    """

    job_name: str
    batch: bool
    dynamic: bool
    exchange_mode: GlobalExchangeMode
    settings: JobSettings
    nodes: Mapping[int, StreamNode]
    edges_in: Mapping[int, tuple[StreamEdge, ...]]
    edges_out: Mapping[int, tuple[StreamEdge, ...]]
    sources: tuple[int, ...]
    sinks: tuple[int, ...]
    iterative: bool = False
    slot_resources: Mapping[str, SlotResources] = MappingProxyType({})

    @property
    def job_type(self) -> str:
        """``BATCH`` or ``STREAMING``."""
        return "BATCH" if self.batch else "STREAMING"
