"""One keyed state: the values that this epoch touched, and how they come from the replica and go into the log.

A cell is found by the backend's slot. Where values expire, a cell holds (time of the last use, value).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.state import AggregatingState, ListState, MapState, ReducingState, State, ValueState
from compat.compiler.spark.state.changes import Column
from compat.compiler.spark.state.expiry import Expiry
from compat.compiler.spark.state.groups import key_groups_of
from compat.state.delta.replica import (
    entry_key,
    entry_keys,
    map_entry,
    split_map_entry,
    split_timestamp,
    state_prefix,
    with_timestamp,
)
from compat.state.delta.rows import Kind, Row
from compat.state.serializers import codec_of, key_codec_of

if TYPE_CHECKING:
    from compat.compiler.spark.state.backend import KeyedBackend
    from compat.compiler.spark.state.changes import Changes

_MISSING = object()
_MANY = 64
Address = tuple[int, bytes, bytes, bytes]


class Cells(State):
    """The base of the kinds of state. ``entry`` addresses a slot in the replica."""

    kind = Kind.VALUE

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        self.descriptor = descriptor
        self._backend = backend
        self._prefix = state_prefix(backend.operator_id, self.kind, descriptor.name)
        self._expiry = Expiry.of(descriptor.ttl_config, backend.now)
        self._cache: dict[Any, Any] = {}
        self._dirty: set[Any] = set()

    def entry(self, slot: Any) -> bytes:
        """The key of a slot's entry in the replica, or what those of its entries begin with."""
        _, _, identity, namespace = self._backend.encoded(slot)
        return entry_key(self._prefix, identity, namespace)

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed, and forget what it touched."""
        slots = list(self._dirty)
        addresses = [self._backend.encoded(slot) for slot in slots]
        groups = key_groups_of([address[0] for address in addresses], self._backend.max_parallelism)
        for slot, group, (_, encoded, identity, namespace) in zip(slots, groups, addresses, strict=True):
            self._write(slot, (group, encoded, namespace, entry_key(self._prefix, identity, namespace)), changes)
        self._dirty.clear()
        self._cache.clear()

    def _write(self, slot: Any, address: Address, changes: Changes) -> None:
        raise NotImplementedError

    def _row(self, address: Address, map_key: bytes, value: bytes | None, timestamp: int | None) -> Row:
        group, key, namespace, _ = address
        return Row(
            self._backend.operator_id, self.kind, group, self.descriptor.name, key, namespace, map_key, value, timestamp
        )


class _OneValue(Cells):
    """A state of one value: the value itself, or what was folded so far."""

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        codec = codec_of(descriptor.type_info)
        self._encode, self._decode = codec.encode, codec.decode

    def read(self) -> Any:
        """The value of the present slot, or None."""
        slot = self._backend.slot
        cell = self._cache.get(slot, _MISSING)
        if cell is _MISSING:
            cell = self._cache[slot] = self._load(slot)
        if self._expiry is None or cell is None:
            return cell
        return self._read_expiring(slot, cell)

    def write(self, value: Any) -> None:
        """Set the value of the present slot; None removes it."""
        slot = self._backend.slot
        self._cache[slot] = value if self._expiry is None or value is None else (self._expiry.now(), value)
        self._dirty.add(slot)

    def many(self, slots: set[Any]) -> dict[Any, Any]:
        """The cells of these slots and of others, to be changed in place; for states whose values do not expire."""
        cache = self._cache
        missing = list(slots.difference(cache))
        if missing:
            _, identities = self._backend.encoded_keys(missing)
            get, decode = self._backend.replica.get, self._decode
            stored = map(get, entry_keys(self._prefix, identities))
            for slot, data in zip(missing, stored, strict=True):
                cache[slot] = None if data is None else decode(split_timestamp(data)[1])
        self._dirty |= slots
        return cache

    def snapshot(self, changes: Changes) -> None:
        if self._expiry is None and self._backend.simple and len(self._dirty) >= _MANY:
            self._snapshot_columns(changes)
        super().snapshot(changes)

    def _snapshot_columns(self, changes: Changes) -> None:
        backend, keys = self._backend, list(self._dirty)
        encoded, identities = backend.encoded_keys(keys)
        values = self._encoded(list(map(self._cache.__getitem__, keys)))
        groups = key_groups_of(keys, backend.max_parallelism)
        changes.columns.append(Column(backend.operator_id, self.kind, self.descriptor.name, groups, encoded, values))
        stored = [None if value is None else b"\0" + value for value in values]
        changes.entries.update(zip(entry_keys(self._prefix, identities), stored, strict=True))
        self._dirty.clear()

    def _encoded(self, values: list[Any]) -> list[bytes | None]:
        try:
            if None in values:
                return [None if value is None else self._encode(value) for value in values]
            return list(map(self._encode, values))
        except TypeError as error:
            raise TypeError(f"State {self.descriptor.name!r}: {error}") from error

    def clear(self) -> None:
        if self.peek() is not None:
            self.write(None)

    def peek(self) -> Any:
        """The present cell, expired or not."""
        slot = self._backend.slot
        cell = self._cache.get(slot, _MISSING)
        if cell is _MISSING:
            cell = self._cache[slot] = self._load(slot)
        return cell

    def _load(self, slot: Any) -> Any:
        data = self._backend.replica.get(self.entry(slot))
        if data is None:
            return None
        timestamp, encoded = split_timestamp(data)
        value = self._decode(encoded)
        if self._expiry is None:
            return value
        return (self._expiry.now() if timestamp is None else timestamp, value)

    def _read_expiring(self, slot: Any, cell: Any) -> Any:
        assert self._expiry is not None
        timestamp, value = cell
        if self._expiry.expired(timestamp):
            self._cache[slot] = None
            self._dirty.add(slot)
            return value if self._expiry.shows_expired else None
        if self._expiry.renewed_by_reading:
            self._cache[slot] = (self._expiry.now(), value)
            self._dirty.add(slot)
        return value

    def _write(self, slot: Any, address: Address, changes: Changes) -> None:
        cell = self._cache[slot]
        if cell is None:
            changes.rows.append(self._row(address, b"", None, None))
            changes.entries[address[3]] = None
            return
        timestamp, value = (None, cell) if self._expiry is None else cell
        try:
            encoded = self._encode(value)
        except TypeError as error:
            raise TypeError(f"State {self.descriptor.name!r}: {error}") from error
        changes.rows.append(self._row(address, b"", encoded, timestamp))
        changes.entries[address[3]] = with_timestamp(timestamp, encoded)

    def merge(self, targets: Iterable[Any], into: Any) -> None:
        """Fold the values of slots into that of another, and remove them."""
        merged = None
        for slot in [into, *targets]:
            self._backend.slot = slot
            value = self.read()
            if value is not None:
                merged = value if merged is None else self.fold(merged, value)
            if slot != into:
                self.clear()
        self._backend.slot = into
        if merged is not None:
            self.write(merged)

    def fold(self, left: Any, right: Any) -> Any:
        """Two values as one."""
        raise TypeError(f"State {self.descriptor.name!r} cannot be merged.")


class ValueCells(_OneValue, ValueState[Any]):
    """Flink: ``ValueState``."""

    def value(self) -> Any:
        return self.read()

    def update(self, value: Any) -> None:
        self.write(value)


class ReducingCells(_OneValue, ReducingState[Any]):
    """Flink: ``ReducingState``."""

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        self.fold = descriptor.get_reduce_function().reduce  # type: ignore[method-assign]

    def get(self) -> Any:
        return self.read()

    def add(self, value: Any) -> None:
        present = self.read()
        self.write(value if present is None else self.fold(present, value))

    def add_all(self, values: list[Any]) -> None:
        """Add values in order; at least one."""
        present = self.read()
        self.write(reduce(self.fold, values) if present is None else reduce(self.fold, values, present))


class AggregatingCells(_OneValue, AggregatingState[Any, Any]):
    """Flink: ``AggregatingState``."""

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        self._function = descriptor.get_agg_function()
        self.fold = self._function.merge  # type: ignore[method-assign]

    def get(self) -> Any:
        accumulator = self.read()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Add a value; None removes what there is."""
        self.add_all([value])

    def add_all(self, values: list[Any]) -> None:
        """Add values in order."""
        accumulator, add = self.read(), self._function.add
        for value in values:
            if value is None:
                accumulator = None
                continue
            accumulator = add(value, self._function.create_accumulator() if accumulator is None else accumulator)
        self.write(accumulator)


class _ListCell:
    """A list: what the log has of it (read when needed), what was added since, and whether the former was dropped."""

    __slots__ = ("added", "chunks", "dropped", "stored")

    def __init__(self) -> None:
        self.stored: list[Any] | None = None
        self.chunks: list[bytes] | None = None
        self.added: list[Any] = []
        self.dropped = False


class ListCells(Cells, ListState[Any]):
    """Flink: ``ListState``. The elements added in an epoch are one chunk, so that adding costs what is added."""

    kind = Kind.LIST

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        codec = codec_of(descriptor.type_info)
        self._encode, self._decode = codec.encode, codec.decode

    def get(self) -> Iterator[Any]:
        return iter(self.values())

    def values(self) -> list[Any]:
        """The elements of the present slot that have not expired."""
        cell = self._cell()
        stored = [] if cell.dropped else self._stored(cell, self._backend.slot)
        elements = stored + cell.added
        if self._expiry is None:
            return elements
        expiry = self._expiry
        alive = [element for element in elements if not expiry.expired(element[0])]
        if expiry.renewed_by_reading or (len(alive) < len(elements) and not expiry.shows_expired):
            now = expiry.now()
            self._replace([(now if expiry.renewed_by_reading else time, value) for time, value in alive])
        return [value for _, value in (elements if expiry.shows_expired else alive)]

    def add(self, value: Any) -> None:
        self._cell().added.append(value if self._expiry is None else (self._expiry.now(), value))
        self._dirty.add(self._backend.slot)

    def add_all(self, values: list[Any]) -> None:
        timed = values if self._expiry is None else [(self._expiry.now(), value) for value in values]
        self._cell().added.extend(timed)
        self._dirty.add(self._backend.slot)

    def update(self, values: list[Any]) -> None:
        self._replace([])
        self.add_all(values)

    def clear(self) -> None:
        self._replace([])

    def merge(self, targets: Iterable[Any], into: Any) -> None:
        """Append the elements of slots to those of another, and remove them."""
        merged: list[Any] = []
        for slot in [into, *targets]:
            self._backend.slot = slot
            merged += self.values()
            if slot != into:
                self.clear()
        self._backend.slot = into
        self.update(merged)

    def _replace(self, elements: list[Any]) -> None:
        cell = self._cell()
        cell.dropped = True
        cell.added = elements
        self._dirty.add(self._backend.slot)

    def _cell(self) -> _ListCell:
        slot = self._backend.slot
        cell = self._cache.get(slot)
        if cell is None:
            cell = self._cache[slot] = _ListCell()
        return cell

    def _stored(self, cell: _ListCell, slot: Any) -> list[Any]:
        if cell.stored is None:
            cell.stored, cell.chunks = [], []
            entry = self.entry(slot)
            for key, value in self._backend.replica.scan(entry):
                timestamp, chunk = split_timestamp(value)
                name, chunk = split_map_entry(entry, key, chunk)
                cell.chunks.append(name)
                elements = self._decode(chunk)
                if self._expiry is not None:
                    time = self._expiry.now() if timestamp is None else timestamp
                    elements = [(time, element) for element in elements]
                cell.stored += elements
        return cell.stored

    def _write(self, slot: Any, address: Address, changes: Changes) -> None:
        cell = self._cache[slot]
        entry = address[3]
        self._stored(cell, slot)
        if cell.dropped:
            for name in cell.chunks:
                changes.rows.append(self._row(address, name, None, None))
                changes.entries[map_entry(entry, name, b"")[0]] = None
        number = 0
        if cell.chunks and not cell.dropped:
            number = int.from_bytes(cell.chunks[-1], "big") + 1
        for timestamp, elements in self._chunks(cell.added):
            name = number.to_bytes(8, "big")
            number += 1
            encoded = self._encode(elements)
            changes.rows.append(self._row(address, name, encoded, timestamp))
            changes.entries[entry + b"\0" + name] = with_timestamp(timestamp, encoded)

    def _chunks(self, added: list[Any]) -> Iterator[tuple[int | None, list[Any]]]:
        if self._expiry is None:
            if added:
                yield None, added
            return
        times: dict[int, list[Any]] = {}
        for time, value in added:
            times.setdefault(time, []).append(value)
        yield from times.items()


class _MapCell:
    """A map: entries that were read or written; ``complete`` when all others are known to be absent."""

    __slots__ = ("complete", "dirty", "entries")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.dirty: set[Any] = set()
        self.complete = False


class MapCells(Cells, MapState[Any, Any]):
    """Flink: ``MapState``. Each entry is a row of its own."""

    kind = Kind.MAP

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        self._keys = key_codec_of(descriptor.key_type)
        codec = codec_of(descriptor.value_type)
        self._encode, self._decode = codec.encode, codec.decode

    def get(self, key: Any) -> Any:
        found = self._find(key)
        return None if found is _MISSING else found

    def contains(self, key: Any) -> bool:
        return self._find(key) is not _MISSING

    def put(self, key: Any, value: Any) -> None:
        cell = self._cell()
        cell.entries[key] = value if self._expiry is None else (self._expiry.now(), value)
        cell.dirty.add(key)
        self._dirty.add(self._backend.slot)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        cell = self._cell()
        cell.entries[key] = _MISSING
        cell.dirty.add(key)
        self._dirty.add(self._backend.slot)

    def items(self) -> list[tuple[Any, Any]]:
        cell = self._cell()
        self._complete(cell)
        return [(key, value) for key in list(cell.entries) if (value := self._find(key)) is not _MISSING]

    def keys(self) -> list[Any]:
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        return not self.items()

    def clear(self) -> None:
        cell = self._cell()
        self._complete(cell)
        for key in cell.entries:
            self.remove(key)

    def _cell(self) -> _MapCell:
        slot = self._backend.slot
        cell = self._cache.get(slot)
        if cell is None:
            cell = self._cache[slot] = _MapCell()
        return cell

    def _find(self, key: Any) -> Any:
        cell = self._cell()
        found = cell.entries.get(key, None)
        if found is None and key not in cell.entries:
            found = _MISSING if cell.complete else self._load(self._backend.slot, key)
            cell.entries[key] = found
        if self._expiry is None or found is _MISSING:
            return found
        timestamp, value = found  # type: ignore[misc]
        if self._expiry.expired(timestamp):
            self.remove(key)
            return value if self._expiry.shows_expired else _MISSING
        if self._expiry.renewed_by_reading:
            self.put(key, value)
        return value

    def _load(self, slot: Any, key: Any) -> Any:
        entry, _ = map_entry(self.entry(slot), name := self._keys.encode(key), b"")
        data = self._backend.replica.get(entry)
        return _MISSING if data is None else self._decoded(split_timestamp(data), len(name))

    def _decoded(self, stored: tuple[int | None, bytes], name_length: int) -> Any:
        timestamp, value = stored
        value = value if name_length <= 160 else value[4 + name_length :]
        decoded = None if value == _NONE else self._decode(value[1:])
        if self._expiry is None:
            return decoded
        return (self._expiry.now() if timestamp is None else timestamp, decoded)

    def _complete(self, cell: _MapCell) -> None:
        if cell.complete:
            return
        entry = self.entry(self._backend.slot)
        for key, data in self._backend.replica.scan(entry):
            timestamp, value = split_timestamp(data)
            name, value = split_map_entry(entry, key, value)
            decoded = self._keys.decode(name)
            if decoded not in cell.entries:
                cell.entries[decoded] = self._decoded((timestamp, value), 0)
        cell.complete = True

    def _write(self, slot: Any, address: Address, changes: Changes) -> None:
        cell = self._cache[slot]
        for key in cell.dirty:
            name = self._keys.encode(key)
            found: Any = cell.entries[key]
            if found is _MISSING:
                changes.rows.append(self._row(address, name, None, None))
                changes.entries[map_entry(address[3], name, b"")[0]] = None
                continue
            timestamp, value = (None, found) if self._expiry is None else found
            encoded = _NONE if value is None else b"\1" + self._encode(value)
            changes.rows.append(self._row(address, name, encoded, timestamp))
            entry, stored = map_entry(address[3], name, encoded)
            changes.entries[entry] = with_timestamp(timestamp, stored)


_NONE = b"\0"
"""The value None in a map; other values come behind a byte of 1."""
