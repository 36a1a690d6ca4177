"""The keyed state of one operator in one subtask. Flink: ``AbstractKeyedStateBackend``, ``KeyedStateStore``.

Values live decoded in dicts, and are written to the log when an epoch ends that changed them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from compat.compiler.datastream.functions import KeyedStateStore
from compat.compiler.spark.state.cells import (
    AggregatingCells,
    Cells,
    ListCells,
    MapCells,
    ReducingCells,
    value_cells,
)
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.columns import column_encoder
from compat.compiler.spark.state.memory import Memory
from compat.compiler.spark.state.slots import VOID, ByIdentity, InNamespace, Slots, plain_key, split_slot
from compat.state.compatibility import Answer, resolve_state
from compat.state.delta.entries import entry_column, repeated
from compat.state.delta.rows import BYTES
from compat.state.descriptors import (
    StateDescriptor,
)
from compat.state.key_groups import key_group_of_key
from compat.state.serializers import KeyCodec


class StateMigrationError(Exception):
    """A state whose declaration does not fit what the snapshot holds. Flink: ``StateMigrationException``."""


class KeyedBackend(KeyedStateStore):
    """All keyed states of an operator. ``slot`` is where the present key (and namespace) is found in the cells.

    ``simple`` is true as long as no slot was in a namespace. An epoch begins with :meth:`begin` and ends with :meth:`snapshot`;
    at its begin ``memory`` has the contents that earlier epochs left.
    """

    memory: Memory
    clock: Callable[[], int]

    def __init__(
        self,
        operator_id: str,
        key_codec: KeyCodec,
        max_parallelism: int,
        key_type: Any = None,
    ) -> None:
        self.operator_id = operator_id
        self.key_codec = key_codec
        self.key_type = key_type
        self._key_columns = column_encoder(key_type)
        self.max_parallelism = max_parallelism
        self.key: Any = None
        self.namespace = VOID
        self.slot: Any = None
        self.restored: dict[str, Any] = {}
        self._cells: dict[str, Cells] = {}
        self.slots = Slots(key_codec)
        self.simple = True
        self._encoded: dict[Any, tuple[bytes, bytes]] = {}

    def begin(self, memory: Memory, clock: Callable[[], int]) -> None:
        """Begin an epoch; if its memory is another than the last one, the contents of cells are dropped."""
        if getattr(self, "memory", memory) is not memory:
            self.memory = memory
            for cells in self._cells.values():
                cells.forget()
        self.memory, self.clock = memory, clock
        self.simple = True
        self._encoded.clear()

    def now(self) -> int:
        """The time of the present epoch's clock."""
        return self.clock()

    def set_key(self, key: Any) -> None:
        """Select a key, in no namespace, for all further calls."""
        self.key = key
        self.namespace = VOID
        self.slot = self.slots.of(key)

    def set_slot(self, slot: Any) -> None:
        """Select a key by its slot."""
        self.key = plain_key(slot)
        self.namespace = VOID
        self.slot = slot

    def set_namespace(self, namespace: bytes) -> None:
        """Select a namespace (a window) of the present key for all further calls."""
        self.namespace = namespace
        key, _ = split_slot(self.slot)
        if namespace:
            self.simple = False
            self.slot = InNamespace((key, namespace))
        else:
            self.slot = key

    def encoded(self, slot: Any) -> tuple[Any, bytes, bytes, bytes]:
        """The key of a slot, the key as bytes, its identity, and the namespace."""
        key, namespace = split_slot(slot)
        found = self._encoded.get(key)
        plain = plain_key(key)
        if found is None:
            data = self.key_codec.encode(plain)
            found = self._encoded[key] = (data, self.key_codec.identity(data))
        return plain, found[0], found[1], namespace

    def key_column(self, keys: list[Any]) -> pa.Array:
        """Many keys as a column of bytes."""
        column = self._key_columns(keys) if self._key_columns is not None and self.key_codec.canonical else None
        return pa.array(list(map(self.key_codec.encode, keys)), BYTES) if column is None else column

    def identity_column(self, keys: pa.Array) -> pa.Array:
        """The identities of keys, which are given as their bytes."""
        codec = self.key_codec
        return keys if codec.canonical else pa.array(list(map(codec.identity, keys.to_pylist())), BYTES)

    def columns_of(self, slots: list[Any]) -> tuple[pa.Array, pa.Array]:
        """The keys of many slots, as their bytes, and the namespaces."""
        if {InNamespace, ByIdentity}.isdisjoint(map(type, slots)):
            return self.key_column(slots), repeated(VOID, len(slots))
        pairs = list(map(split_slot, slots))
        return self.key_column([plain_key(key) for key, _ in pairs]), pa.array([space for _, space in pairs], BYTES)

    def entry_column(self, prefix: bytes, slots: list[Any]) -> pa.Array:
        """The keys of the entries of many slots."""
        keys, namespaces = self.columns_of(slots)
        return entry_column(prefix, self.identity_column(keys), namespaces)

    def key_group(self, key: Any) -> int:
        """The key group of a key."""
        return key_group_of_key(key, self.max_parallelism)

    def get_state(self, state_descriptor: StateDescriptor) -> Any:
        return self.cells(state_descriptor)

    get_list_state = get_map_state = get_reducing_state = get_aggregating_state = get_state

    def cells(self, descriptor: StateDescriptor) -> Any:
        """The state of a descriptor. Raises StateMigrationError if the snapshot's state of that name is another."""
        found = self._cells.get(descriptor.name)
        if found is None:
            self._check(descriptor)
            found = self._cells[descriptor.name] = _CELLS[descriptor.kind](self, descriptor)
        elif found.descriptor.kind != descriptor.kind:
            raise StateMigrationError(
                f"State {descriptor.name!r} was registered as {found.descriptor.kind} and is now asked for as "
                f"{descriptor.kind}: give one of the two another name."
            )
        return found

    def described(self) -> list[dict[str, Any]]:
        """The states as plain data: name, kind, types, lifetime."""
        key_type = "PICKLED_BYTE_ARRAY" if self.key_type is None else self.key_type.to_json()
        return [
            {**cells.descriptor.to_json(), "scope": "keyed", "key_type": key_type} for cells in self._cells.values()
        ]

    def snapshot(self, changes: Changes) -> None:
        """Add the epoch's changes."""
        for cells in self._cells.values():
            cells.snapshot(changes)

    def _check(self, descriptor: StateDescriptor) -> None:
        before = self.restored.get(descriptor.name)
        if before is None:
            return
        found = resolve_state(before, now := descriptor.to_json())
        if before["kind"] != now["kind"]:
            raise StateMigrationError(
                f"Incompatible key/value state types. Was [{before['kind']}], registered with [{now['kind']}]: state "
                f"{descriptor.name!r} of operator {self.operator_id} in the snapshot is of another kind."
            )
        if not found.readable:
            raise StateMigrationError(
                f"The new state serializer must not be incompatible with the old one: state {descriptor.name!r} of "
                f"operator {self.operator_id} holds {before['type']} in the snapshot, and the program declares {now['type']}."
            )
        if found.answer is Answer.AFTER_MIGRATION:
            raise StateMigrationError(
                f"State {descriptor.name!r} of operator {self.operator_id} was not migrated when the snapshot was restored, "
                "because nothing said then that the program declares it: ask for it in open()."
            )


_CELLS: dict[str, Any] = {
    "VALUE": value_cells,
    "LIST": ListCells,
    "MAP": MapCells,
    "REDUCING": ReducingCells,
    "AGGREGATING": AggregatingCells,
}
