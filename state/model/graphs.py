"""The graphs of a plan: records under Flink's own names, as the JSON of ``compat plan`` has them."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from compat.state.model.fields import Id, Index, Int, Long, Record, written

JobType = Literal["STREAMING", "BATCH"]


class StreamNode(Record, frozen=True, kw_only=True):
    """A node of the StreamGraph. ``inputs`` and ``outputs`` are places in the graph's list of edges."""

    id: Int
    name: str
    description: str | None = written(None)
    uid: str | None = written(None)
    user_hash: str | None = written(None)
    parallelism: Int
    parallelism_configured: bool
    max_parallelism: Int
    slot_sharing_group: str | None = written(None)
    co_location_group: str | None = written(None)
    buffer_timeout: Long
    chaining_strategy: str | None = written(None)
    operator_factory: str | None = written(None)
    legacy_source: bool
    yielding: bool
    state_keys: Int
    output_only_after_end_of_stream: bool
    vertex_class: str
    inputs: tuple[Index, ...] = field(name="in")
    outputs: tuple[Index, ...] = field(name="out")


class StreamEdge(Record, frozen=True, kw_only=True):
    """An edge of the StreamGraph. Edges with one ``partitioner_group`` share one partitioner."""

    source: Int
    target: Int
    type_number: Int
    partitioner: str
    partitioner_class: str
    partitioner_group: Index
    exchange_mode: str
    side_output: str | None = written(None)
    buffer_timeout: Long
    unaligned_checkpoints: bool
    chainable: bool


class StreamGraph(Record, frozen=True, kw_only=True):
    """Flink's StreamGraph: nodes by id, edges by their source."""

    job_name: str
    job_type: JobType
    dynamic: bool
    exchange_mode: str
    chaining: bool
    chain_different_max_parallelism: bool
    sources: tuple[Int, ...]
    sinks: tuple[Int, ...]
    nodes: tuple[StreamNode, ...]
    edges: tuple[StreamEdge, ...]


class OperatorIds(Record, frozen=True, kw_only=True):
    """An operator of a vertex, by the ids under which its state may be found (Flink: ``OperatorIDPair``)."""

    id: Id
    user_defined_id: str | None = written(None)
    name: str | None = written(None)
    uid: str | None = written(None)


class JobEdge(Record, frozen=True, kw_only=True):
    """An input of a vertex. ``data_set`` is None if Flink draws the data set's id at random."""

    source: Id
    target: Id
    data_set_index: Index
    data_set: str | None = written(None)
    distribution_pattern: str
    result_partition_type: str
    ship_strategy: str
    broadcast: bool
    forward: bool
    upstream_state_mapper: str
    downstream_state_mapper: str
    type_number: Int


class DataSet(Record, frozen=True, kw_only=True):
    """The output that a vertex hands to others (Flink: ``IntermediateDataSet``)."""

    data_set_index: Index
    data_set: str | None = written(None)
    result_partition_type: str
    consumers: tuple[Id, ...]


class ChainedOperator(Record, frozen=True, kw_only=True):
    """An operator in the chain of its vertex, the head first."""

    node: Int
    name: str
    operator_id: Id
    index: Index
    start: bool
    end: bool
    chained_outputs: tuple[Int, ...]
    non_chained_outputs: Index


class JobVertex(Record, frozen=True, kw_only=True):
    """A vertex of the JobGraph. ``operators`` has the head last, ``chain`` has it first."""

    id: Id
    name: str
    description: str | None = written(None)
    parallelism: Int
    parallelism_configured: bool
    max_parallelism: Int
    invokable: str
    slot_sharing_group: Int | None = written(None)
    slot_sharing_group_name: str | None = written(None)
    co_location_group: Int | None = written(None)
    supports_concurrent_execution_attempts: bool
    operators: tuple[OperatorIds, ...]
    coordinators: Index
    inputs: tuple[JobEdge, ...]
    outputs: tuple[DataSet, ...]
    chain: tuple[ChainedOperator, ...]


class Checkpointing(Record, frozen=True, kw_only=True):
    """The checkpoint settings of the job; the interval in milliseconds."""

    interval: Long
    at_least_once: bool
    unaligned: bool


class JobGraph(Record, frozen=True, kw_only=True):
    """Flink's JobGraph: vertices in the order in which they are made, and their ids from the sources on."""

    job_name: str
    job_type: JobType
    dynamic: bool
    vertices: tuple[JobVertex, ...]
    topological: tuple[Id, ...]
    checkpointing: Checkpointing | None = written(None)
    user_artifacts: dict[str, str]
    slot_sharing_group_resources: dict[str, dict[str, float | int | dict[str, float] | None]] = written({})
    scheduler: str | None = None


class ExecutionEdge(Record, frozen=True, kw_only=True):
    """An exchange between the subtasks of two vertices."""

    source: Id
    data_set_index: Index
    distribution_pattern: str
    connections: Long


class IntermediateResult(Record, frozen=True, kw_only=True):
    """The output of the subtasks of a vertex, in as many partitions."""

    data_set_index: Index
    result_partition_type: str
    partitions: Int


class ExecutionVertex(Record, frozen=True, kw_only=True):
    """A vertex as it runs (Flink: ``ExecutionJobVertex``).

    Its subtasks run in the job's slots from ``first_slot`` on, which belong to the group as ``slots`` of the graph names it.
    """

    id: Id
    name: str
    parallelism: Int
    max_parallelism: Int
    max_parallelism_configured: bool
    slot_sharing_group: str | None = None
    first_slot: Index | None = None
    inputs: tuple[ExecutionEdge, ...]
    results: tuple[IntermediateResult, ...]


class ExecutionGraph(Record, frozen=True, kw_only=True):
    """Flink's ExecutionGraph, subtasks and partitions as counts. ``slots`` are counted by slot sharing group."""

    vertices: tuple[ExecutionVertex, ...]
    slots: dict[str, Long]
    total_slots: Long
    total_subtasks: Long
