"""The part of a generation that its translators see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from compat.compiler.configuration import JobSettings
from compat.compiler.streamgraph.builder import GraphBuilder
from compat.compiler.streamgraph.graph import StreamNode, Task
from compat.compiler.transformations.kinds import PhysicalTransformation, SideOutput, Transformation
from compat.compiler.transformations.operators import ChainingStrategy, Operator
from compat.compiler.transformations.pipeline import Pipeline

DEFAULT_SLOT_SHARING_GROUP = "default"


class Context(Struct, frozen=True):
    """The generation's state as one translator needs it.

    ``node_ids`` gives the ids that stand for a translated transformation. ``schedule`` queues work for the time right after
    this translation, before anything else: ids to translate and functions to call, in order. ``finished`` declares
    a transformation translated before its translator returns. ``iteration_ids`` draws the ids of a head and a tail.
    """

    builder: GraphBuilder
    pipeline: Pipeline
    settings: JobSettings
    node_ids: Callable[[int], tuple[int, ...]]
    schedule: Callable[[Iterable[int | Callable[[], None]]], None]
    finished: Callable[[int, tuple[int, ...]], None]
    iteration_ids: Callable[[], tuple[int, int]]

    def slot_sharing_group(self, chosen: str | None, inputs: Iterable[int]) -> str:
        """The group of the transformation, else the common group of all inputs, else the default one."""
        if chosen is not None:
            return chosen
        shared: str | None = None
        for node in inputs:
            group = self.builder.slot_sharing_group(node)
            if shared is None:
                shared = group
            elif shared != group:
                return DEFAULT_SLOT_SHARING_GROUP
        return DEFAULT_SLOT_SHARING_GROUP if shared is None else shared

    def inputs_of(self, transformation: Transformation) -> tuple[tuple[int, ...], ...]:
        """The node ids of each input, in order."""
        return tuple(self.node_ids(id) for id in transformation.inputs)

    def add_operator(
        self,
        transformation: PhysicalTransformation,
        task: Task,
        *,
        name: str | None = None,
        chaining: ChainingStrategy | None = None,
        keyed_inputs: int = 0,
        key_type: object = None,
    ) -> tuple[int, ...]:
        """Add the node of a physical transformation and the edges from its inputs."""
        inputs = self.inputs_of(transformation)
        node = self.node(
            transformation,
            transformation.operator,
            task,
            name=name or transformation.name,
            chaining=chaining or transformation.chaining,
            slot_sharing_group=self.slot_sharing_group(
                transformation.slot_sharing_group, (id for ids in inputs for id in ids)
            ),
            keyed_inputs=keyed_inputs,
            key_type=key_type,
        )
        self.builder.add_node(node)
        several = len(inputs) > 1 or task is Task.MULTIPLE_INPUT
        for number, ids in enumerate(inputs, start=1):
            for upstream in ids:
                self.builder.add_edge(upstream, node.id, number if several else 0)
        return (node.id,)

    def node(
        self,
        transformation: PhysicalTransformation,
        operator: Operator,
        task: Task,
        *,
        name: str,
        chaining: ChainingStrategy,
        slot_sharing_group: str,
        keyed_inputs: int = 0,
        key_type: object = None,
    ) -> StreamNode:
        """The node of a transformation, with the job's settings in place of missing ones."""
        settings = self.settings
        return StreamNode(
            id=transformation.id,
            name=name,
            description=name if transformation.description is None else transformation.description,
            task=task,
            operator=operator,
            chaining=chaining,
            parallelism=settings.parallelism if transformation.parallelism == -1 else transformation.parallelism,
            parallelism_configured=transformation.parallelism_configured,
            max_parallelism=self.max_parallelism(transformation),
            uid=transformation.uid,
            user_hash=transformation.user_hash,
            slot_sharing_group=slot_sharing_group,
            co_location_group=transformation.co_location_group,
            buffer_timeout=transformation.buffer_timeout
            if transformation.buffer_timeout >= 0
            else self.default_buffer_timeout,
            state_keys=keyed_inputs,
            key_type=key_type,
            input_types=tuple(self.type_of(id) for id in transformation.inputs),
            output_type=transformation.output_type,
            concurrent_attempts=transformation.concurrent_attempts,
            location=transformation.location,
        )

    def type_of(self, id: int) -> Any:
        """The type of a transformation's records; without an operator, that of its input."""
        transformation = self.pipeline[id]
        while not transformation.physical and transformation.output_type is None and transformation.inputs:
            if isinstance(transformation, SideOutput):
                return None
            transformation = self.pipeline[transformation.inputs[0]]
        return transformation.output_type

    def max_parallelism(self, transformation: Transformation) -> int:
        """The transformation's max parallelism, else the job's; -1 if neither is set."""
        own = transformation.max_parallelism
        return own if own > 0 or self.settings.max_parallelism <= 0 else self.settings.max_parallelism

    @property
    def default_buffer_timeout(self) -> int:
        """The job's buffer timeout; batch jobs have none."""
        return -1 if self.builder.batch else self.settings.buffer_timeout

    def batch_keyed(self, chaining: ChainingStrategy, keyed: bool) -> ChainingStrategy:
        """The chaining strategy of an operator; in batch mode a keyed one must head its chain, as its input is sorted."""
        follows = chaining in (ChainingStrategy.ALWAYS, ChainingStrategy.HEAD_WITH_SOURCES)
        return ChainingStrategy.HEAD if self.builder.batch and keyed and follows else chaining
