"""Broadcast state. Flink: ``CoBroadcastWithNonKeyedOperator``, ``CoBroadcastWithKeyedOperator``, ``HeapBroadcastState``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from compat.compiler.datastream.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState
from compat.compiler.spark.operators.base import NO_RECORD, OperatorContext, Output
from compat.compiler.spark.operators.keyed import KeyedContext, KeyedProcess
from compat.compiler.spark.operators.stateless import FunctionOperator, PlainContext
from compat.compiler.spark.runtime_api.elements import Timestamps, Values
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import Memory
from compat.compiler.transformations.operators import BroadcastProcess as BroadcastProcessKind
from compat.compiler.transformations.operators import KeyedBroadcastProcess as KeyedBroadcastProcessKind
from compat.state.delta.replica import (
    entry_key,
    map_entry,
    split_map_entry,
    split_timestamp,
    state_prefix,
    with_timestamp,
)
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row
from compat.state.serializers import codec_of, key_codec_of


class BroadcastCells(BroadcastState[Any, Any]):
    """A broadcast state of a subtask, read whole when the task starts. Every subtask has it; the first one logs it."""

    def __init__(self, operator_id: str, descriptor: MapStateDescriptor, memory: Memory) -> None:
        self.descriptor = descriptor
        self._operator_id = operator_id
        self._keys = key_codec_of(descriptor.key_type)
        self._values = codec_of(descriptor.value_type)
        self._entry = entry_key(state_prefix(operator_id, Kind.BROADCAST, descriptor.name), b"", b"")
        self._map: dict[Any, Any] = {}
        self._dirty: set[Any] = set()
        for key, data in memory.items(self._entry):
            name, value = split_map_entry(self._entry, key, split_timestamp(data)[1])
            self._map[self._keys.decode(name)] = self._values.decode(value)

    def get(self, key: Any) -> Any:
        return self._map.get(key)

    def contains(self, key: Any) -> bool:
        return key in self._map

    def items(self) -> Iterable[tuple[Any, Any]]:
        return list(self._map.items())

    def keys(self) -> Iterable[Any]:
        return list(self._map)

    def values(self) -> Iterable[Any]:
        return list(self._map.values())

    def is_empty(self) -> bool:
        return not self._map

    def put(self, key: Any, value: Any) -> None:
        self._map[key] = value
        self._dirty.add(key)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._map.pop(key, None)
        self._dirty.add(key)

    def clear(self) -> None:
        for key in list(self._map):
            self.remove(key)

    def snapshot(self, changes: Changes, logged: bool) -> None:
        """Add the epoch's changes; to the log only if ``logged``."""
        for key in self._dirty:
            name = self._keys.encode(key)
            value = self._values.encode(self._map[key]) if key in self._map else None
            entry, stored = map_entry(self._entry, name, value or b"")
            changes.put(self._entry, entry, None if value is None else with_timestamp(None, stored))
            if logged:
                changes.rows.append(
                    Row(self._operator_id, Kind.BROADCAST, NO_KEY_GROUP, self.descriptor.name, b"", b"", name, value)
                )


class _ReadOnly(ReadOnlyBroadcastState[Any, Any]):
    """A broadcast state as the side that may not change it sees it."""

    def __init__(self, cells: BroadcastCells) -> None:
        self._cells = cells

    def get(self, key: Any) -> Any:
        return self._cells.get(key)

    def contains(self, key: Any) -> bool:
        return self._cells.contains(key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._cells.items()

    def keys(self) -> Iterable[Any]:
        return self._cells.keys()

    def values(self) -> Iterable[Any]:
        return self._cells.values()

    def is_empty(self) -> bool:
        return self._cells.is_empty()

    def clear(self) -> None:
        raise RuntimeError("Broadcast state can only be changed by records of the broadcast stream.")

    def __getattr__(self, name: str) -> Any:
        if name in ("put", "put_all", "remove"):
            self.clear()
        raise AttributeError(f"A broadcast state has no {name!r}.")


class _States:
    """The broadcast states of an operator, by name."""

    def __init__(self, context: OperatorContext, descriptors: Iterable[MapStateDescriptor]) -> None:
        self.by_name = {
            descriptor.name: BroadcastCells(context.spec.id, descriptor, context.memory) for descriptor in descriptors
        }
        self._read_only = {name: _ReadOnly(cells) for name, cells in self.by_name.items()}
        self._logged = context.subtask == 0

    def get(self, descriptor: MapStateDescriptor) -> BroadcastCells:
        if descriptor.name not in self.by_name:
            raise RuntimeError(
                f"The requested state {descriptor.name!r} does not exist: pass its descriptor to broadcast(…). "
                f"There are {sorted(self.by_name)}."
            )
        return self.by_name[descriptor.name]

    def read_only(self, descriptor: MapStateDescriptor) -> _ReadOnly:
        return self._read_only.get(descriptor.name) or _ReadOnly(self.get(descriptor))

    def snapshot(self, changes: Changes) -> None:
        for cells in self.by_name.values():
            cells.snapshot(changes, self._logged)

    def described(self) -> list[dict[str, Any]]:
        return [{**cells.descriptor.to_json(), "scope": "broadcast"} for cells in self.by_name.values()]


class _PlainBroadcastContext(PlainContext):
    def __init__(self, operator: Any, states: Callable[[MapStateDescriptor], Any]) -> None:
        super().__init__(operator)
        self.get_broadcast_state = states


class BroadcastProcess(FunctionOperator[BroadcastProcessKind]):
    """A BroadcastProcessFunction."""

    def __init__(self, context: OperatorContext, output: Output, operator: BroadcastProcessKind) -> None:
        super().__init__(context, output, operator)
        self._states = _States(context, operator.state_descriptors)
        reading = _PlainBroadcastContext(self, self._states.read_only)
        self._sides = (
            (self.function.process_element, reading),
            (self.function.process_broadcast_element, _PlainBroadcastContext(self, self._states.get)),
        )

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        call, context = self._sides[input]
        self._emit_results(call, context, values, timestamps)

    def snapshot_state(self, changes: Changes) -> Any:
        self._states.snapshot(changes)

    def describe_states(self) -> list[dict[str, Any]]:
        return self._states.described()


class _KeyedBroadcastContext(KeyedContext):
    def __init__(self, operator: KeyedProcess, states: Callable[[MapStateDescriptor], Any]) -> None:
        super().__init__(operator)
        self.get_broadcast_state = states


class KeyedBroadcastProcess(KeyedProcess):
    """A KeyedBroadcastProcessFunction; records of the second input have no key."""

    def __init__(self, context: OperatorContext, output: Output, operator: KeyedBroadcastProcessKind) -> None:
        super().__init__(context, output, operator)
        self._states = _States(context, operator.state_descriptors)
        self.ctx = _KeyedBroadcastContext(self, self._states.read_only)
        self._broadcast = _PlainBroadcastContext(self, self._states.get)

    def has_keys(self, input: int) -> bool:
        return input == 0

    def process(self, input: int, values: Values, timestamps: Timestamps) -> None:
        if self.has_keys(input):
            super().process(input, values, timestamps)  # pairs (key, value)
            return
        value: Any = NO_RECORD
        try:
            for value, time in zip(values, timestamps or repeat(None), strict=False):
                self._broadcast.time = time
                self.emitter.take(self.function.process_broadcast_element(value, self._broadcast), time)
        except Exception as error:
            self.fail(value, error)
        self.emitter.flush()

    def snapshot_state(self, changes: Changes) -> Any:
        self._states.snapshot(changes)
        return super().snapshot_state(changes)

    def describe_states(self) -> list[dict[str, Any]]:
        return super().describe_states() + self._states.described()
