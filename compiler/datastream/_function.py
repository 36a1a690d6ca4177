"""The base of all functions: their life cycle, and the context that gives them state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.beyond.functions import ContextBeyond

if TYPE_CHECKING:
    from compat.compiler.datastream.state import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )


class KeyedStateStore(ABC):
    """Gives a function the state of the present key. Flink: ``KeyedStateStore``."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """One value a key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list a key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """A map a key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """A value a key that takes what is added by a reduce function."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """An accumulator a key that takes what is added by an aggregate function."""


class RuntimeContext(KeyedStateStore, ContextBeyond):
    """The task that a function runs in, as the function sees it. Flink: ``RuntimeContext``."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The name of the task."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """The parallelism that the task runs with."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """The number of this subtask, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """The number of earlier starts of this subtask."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The name of the task with the number of this subtask."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A parameter of the job."""

    @abstractmethod
    def get_metrics_group(self) -> Any:
        """The group in which the function registers its metrics."""


class Function(ABC):  # noqa: B024
    """The base class of all functions. Flink: ``Function``."""

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027
        """Called once before the first record: the place to ask for state."""

    def close(self) -> None:  # noqa: B027
        """Called once after the last record."""
