"""The JobGraph's parts. Flink: ``org.apache.flink.runtime.jobgraph``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from compat.compiler.configuration import JobSettings
from compat.compiler.errors import Location
from compat.compiler.jobgraph.scheduling import SchedulerType, scheduler_type
from compat.compiler.streamgraph.graph import StreamEdge, Task
from compat.compiler.transformations.operators import Operator
from compat.compiler.transformations.partitioners import Partitioner, Ship
from compat.compiler.transformations.resources import ResourceSpec, SlotResources


class ResultPartitionType(Enum):
    """The way in which the partitions of a data set are produced and consumed (Flink: ``ResultPartitionType``)."""

    PIPELINED_BOUNDED = "PIPELINED_BOUNDED"
    PIPELINED_APPROXIMATE = "PIPELINED_APPROXIMATE"
    BLOCKING = "BLOCKING"
    BLOCKING_PERSISTENT = "BLOCKING_PERSISTENT"
    HYBRID_FULL = "HYBRID_FULL"
    HYBRID_SELECTIVE = "HYBRID_SELECTIVE"

    @property
    def pipelined(self) -> bool:
        """True if a consumer may read while the producer writes."""
        return not self.value.startswith("BLOCKING")

    @property
    def shareable(self) -> bool:
        """True if several exchanges of one operator may read the same data set."""
        return not self.value.startswith("PIPELINED")

    @property
    def joins_regions(self) -> bool:
        """True if both ends must run at the same time, and so belong to one pipelined region."""
        return self.value.startswith("PIPELINED")


class DistributionPattern(Enum):
    """The connections from the producer's subtasks to the consumer's."""

    ALL_TO_ALL = "ALL_TO_ALL"
    POINTWISE = "POINTWISE"


class NonChainedOutput(Struct, frozen=True, kw_only=True):
    """A data set that one operator of a chain writes. If several edges may read it, it is one object for all of them.

    ``source`` is the node that writes it; ``id`` is None if Flink draws it at random (1.x).
    """

    source: int
    id: str | None
    type: ResultPartitionType
    partitioner: Partitioner

    @property
    def pattern(self) -> DistributionPattern:
        """The distribution pattern from producer to consumer subtasks."""
        return DistributionPattern.POINTWISE if self.partitioner.ship.pointwise else DistributionPattern.ALL_TO_ALL


class StreamConfig(Struct, frozen=True, kw_only=True):
    """The configuration that a task needs to run one operator of its chain. Flink: ``StreamConfig``.

    ``index`` counts from 1 at the head; 0 is a source inside the head. ``start`` marks the head and ``end`` an operator
    after which nothing is chained. ``chained_outputs`` are the edges to the next operators of the chain and
    ``non_chained_outputs`` the data sets for other tasks. ``input_types``, ``output_type`` and ``key_type`` are the types
    whose serializers the operator uses; ``state_partitioners`` counts its inputs that have a key.
    """

    node: int
    name: str
    operator_id: str
    task: Task
    operator: Operator | None
    index: int
    start: bool
    end: bool
    chained_outputs: tuple[StreamEdge, ...]
    non_chained_outputs: tuple[NonChainedOutput, ...]
    input_types: tuple[Any, ...]
    output_type: Any
    key_type: Any
    state_partitioners: int


class OperatorIdPair(Struct, frozen=True, kw_only=True):
    """The two ids under which an operator's state may be found, and the operator's name for people."""

    node: int
    id: str
    user_defined_id: str | None
    name: str
    uid: str | None


class IntermediateDataSet(Struct, frozen=True, kw_only=True):
    """A data set that a vertex produces for others. ``id`` is None if Flink draws it at random (1.x)."""

    index: int
    id: str | None
    producer: str
    type: ResultPartitionType
    consumers: tuple[str, ...]


class JobEdge(Struct, frozen=True, kw_only=True):
    """An exchange between two vertices; ``data_set`` is the index of the data set that it consumes.

    ``stream_edge`` is the stream that it carries, from one operator of the source to one of the target.
    """

    source: str
    target: str
    data_set: int
    pattern: DistributionPattern
    type: ResultPartitionType
    ship: Ship
    stream_edge: StreamEdge

    @property
    def type_number(self) -> int:
        """The number of the target operator's input, as Flink counts."""
        return self.stream_edge.type_number


class JobVertex(Struct, frozen=True, kw_only=True):
    """A chain of operators that run in one task. Ids are 32 hex digits; ``operators`` has the head last.

    ``parallelism`` is -1 if the scheduler of a batch job decides it. ``slot_sharing_group`` and ``co_location_group``
    number the group objects in order of appearance. ``min_resources`` and ``preferred_resources`` are those of all operators of
    the chain together. ``location`` is that of the head.
    """

    id: str
    name: str
    description: str
    task: Task
    parallelism: int
    parallelism_configured: bool
    max_parallelism: int
    slot_sharing_group: int
    slot_sharing_group_name: str
    co_location_group: int | None
    concurrent_attempts: bool
    coordinators: int
    min_resources: ResourceSpec
    preferred_resources: ResourceSpec
    operators: tuple[OperatorIdPair, ...]
    chain: tuple[StreamConfig, ...]
    inputs: tuple[JobEdge, ...]
    outputs: tuple[IntermediateDataSet, ...]
    location: Location | None


NO_CHECKPOINTS = 2**63 - 1
"""The interval of a job that takes no checkpoints, in milliseconds."""


class CheckpointRetention(Enum):
    """The ends of the job after which its checkpoints are kept. Flink: ``CheckpointRetentionPolicy``."""

    RETAIN_ON_CANCELLATION = "RETAIN_ON_CANCELLATION"
    RETAIN_ON_FAILURE = "RETAIN_ON_FAILURE"
    NEVER_RETAIN_AFTER_TERMINATION = "NEVER_RETAIN_AFTER_TERMINATION"


class CheckpointSettings(Struct, frozen=True, kw_only=True):
    """The checkpoint settings of a job; times in milliseconds. Flink: ``CheckpointCoordinatorConfiguration``.

    Every job has them, as savepoints follow them, too: a job without checkpoints has an interval of ``NO_CHECKPOINTS``.
    """

    interval: int
    interval_during_backlog: int
    timeout: int
    min_pause: int
    max_concurrent: int
    retention: CheckpointRetention
    exactly_once: bool
    unaligned: bool
    aligned_timeout: int
    tolerable_failures: int
    ignored_in_flight: int
    after_tasks_finish: bool
    recover_output_downstream: bool

    @property
    def enabled(self) -> bool:
        """True if the job takes periodic checkpoints."""
        return self.interval != NO_CHECKPOINTS


class JobGraph(Struct, frozen=True, kw_only=True):
    """All vertices, in the order in which they were made, and their ids in order from the sources."""

    job_name: str
    job_type: str
    dynamic: bool
    settings: JobSettings
    vertices: tuple[JobVertex, ...]
    topological: tuple[str, ...]
    vertex_of: Mapping[int, str]
    checkpointing: CheckpointSettings
    user_artifacts: Mapping[str, str]
    slot_resources: Mapping[str, SlotResources]

    @property
    def scheduler(self) -> SchedulerType:
        """The scheduler that runs the job."""
        return scheduler_type(self.settings.options, batch=self.job_type == "BATCH", dynamic=self.dynamic)
