"""State in a program. Flink: ``pyflink.datastream.state``.

Descriptors say what a state is; the abstract classes are what ``runtime_context.get_state(…)`` and its like give.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from compat.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from compat.state.ttl import StateTtlConfig

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """The base of all states; in keyed state, each call is about the key of the present record."""

    @abstractmethod
    def clear(self) -> None:
        """Forget the value."""


class ValueState(State, Generic[T]):
    """One value."""

    @abstractmethod
    def value(self) -> T:
        """The value, or None."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Set the value; None forgets it."""


class AppendingState(State, Generic[IN, OUT]):
    """A state to which values are added."""

    @abstractmethod
    def get(self) -> OUT:
        """The result of the values so far, or None."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add a value."""


class MergingState(AppendingState[IN, OUT]):
    """An appending state that can be merged with another, as session windows need."""


class ReducingState(MergingState[T, T]):
    """Values folded into one by a ``ReduceFunction``."""


class AggregatingState(MergingState[IN, OUT]):
    """Values folded into one by an ``AggregateFunction``."""


class ListState(MergingState[T, Iterable[T]]):
    """A list of values."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Put these values in place of the present ones."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Add these values."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """A map that is the same in all subtasks, on the side that may only read it."""

    @abstractmethod
    def get(self, key: K) -> V:
        """The value of the key, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether the key is there."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All keys with their values."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no key."""

    def __getitem__(self, key: K) -> V:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _WritableMap(State, Generic[K, V]):
    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of many keys."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Forget a key."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map."""

    @abstractmethod
    def get(self, key: K) -> V:
        """The value of the key, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether the key is there."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All keys with their values."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no key."""

    def __getitem__(self, key: K) -> V:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(_WritableMap[K, V], ReadOnlyBroadcastState[K, V]):
    """A map that is the same in all subtasks, on the side that fills it."""


class OperatorStateStore(ABC):
    """Gives the states that belong to an operator rather than to a key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """The broadcast state of this name."""
