"""One keyed state: the values in memory, and how they come from the replica and go into the log.

The backend's slot finds a cell. If values expire, a cell holds (time of the last use, value). Immutable values stay in memory
as objects. Values that a program could change unnoticed stay as the logged bytes, and are decoded again in each epoch that asks
for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import chain, repeat
from types import NoneType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from compat.compiler.datastream.state import AggregatingState, ListState, MapState, ReducingState, State, ValueState
from compat.compiler.spark.state.changes import Column
from compat.compiler.spark.state.columns import column_encoder
from compat.compiler.spark.state.expiry import Expiry
from compat.compiler.spark.state.groups import key_group_array, key_groups_of
from compat.compiler.spark.state.memory import PLACE, sampled
from compat.compiler.spark.state.slots import plain_keys
from compat.state.delta.entries import values_without_time
from compat.state.delta.replica import (
    entry_key,
    map_entry,
    split_map_entry,
    split_timestamp,
    state_prefix,
    with_timestamp,
)
from compat.state.delta.rows import BYTES, Kind, Row
from compat.state.serializers import codec_of, exactness_of, key_codec_of

if TYPE_CHECKING:
    from compat.compiler.spark.state.backend import KeyedBackend
    from compat.compiler.spark.state.changes import Changes

_MISSING = object()
_MANY = 64
Address = tuple[int, bytes, bytes, bytes]
_Held = list[Any]
"""A value, or None, the mark of the epoch that wrote it last, and the slot that it is of."""


class Cells(State):
    """The base of the kinds of state. ``entry`` gives the address of a slot in the replica."""

    kind = Kind.VALUE

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        self.descriptor = descriptor
        self._backend = backend
        self._prefix = state_prefix(backend.operator_id, self.kind, descriptor.name)
        self._expiry = Expiry.of(descriptor.ttl_config, backend.now)
        self._cache: dict[Any, Any] = {}
        self._dirty: set[Any] = set()
        backend.memory.hold(self)

    def entry(self, slot: Any) -> bytes:
        """The key of a slot's entry in the replica, or the prefix of its entries' keys."""
        _, _, identity, namespace = self._backend.encoded(slot)
        return entry_key(self._prefix, identity, namespace)

    def snapshot(self, changes: Changes) -> None:
        """Add the epoch's changes."""
        self._write_all(list(self._dirty), changes)
        self._dirty.clear()

    def _write_all(self, slots: list[Any], changes: Changes) -> None:
        """Add the changes of these slots, one by one."""
        addresses = [self._backend.encoded(slot) for slot in slots]
        groups = key_groups_of([address[0] for address in addresses], self._backend.max_parallelism)
        for slot, group, (_, encoded, identity, namespace) in zip(slots, groups, addresses, strict=True):
            self._write(slot, (group, encoded, namespace, entry_key(self._prefix, identity, namespace)), changes)

    def forget(self) -> None:
        """Drop the contents in memory: another memory has taken its place."""
        self._cache.clear()
        self._dirty.clear()
        self._backend.memory.hold(self)

    def __len__(self) -> int:
        return 0

    def unsaved(self) -> Iterable[tuple[bytes, bytes | None]]:
        """Give nothing: the memory has these entries."""
        return ()

    def saved(self) -> None:
        """Do nothing: the memory keeps track of what is saved."""

    def size(self) -> int:
        """The bytes of the cells."""
        return sampled(self._cache)

    def shrink(self) -> None:
        """Drop all cells: an epoch has ended, and the memory has what the replica lacks."""
        self._cache.clear()

    def _write(self, slot: Any, address: Address, changes: Changes) -> None:
        raise NotImplementedError

    def _row(self, address: Address, map_key: bytes, value: bytes | None, timestamp: int | None) -> Row:
        group, key, namespace, _ = address
        return Row(
            self._backend.operator_id, self.kind, group, self.descriptor.name, key, namespace, map_key, value, timestamp
        )


class _OneValue(Cells):
    """A state of one value: the value itself, or what was folded so far.

    Memory has each value beside its slot and the mark of the epoch that wrote it (``_epoch`` is the present one): ``_cache``
    has the recently used ones, ``_older`` those before. Between epochs, values that a program could change are in ``_frozen``
    as bytes. With many keys, each look into the cache is an access to main memory. A record needs one; the end of an epoch
    needs none, as ``_written`` has the written values in their order. ``_unsaved`` are the slots whose present values the
    replica lacks, epoch by epoch. ``_fresh`` are the slots that had no value when the epoch began, ``_lent`` those whose values
    may be changed in the cache.
    """

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        codec = codec_of(descriptor.type_info)
        self._encode, self._decode = codec.encode, codec.decode
        self._exact = exactness_of(descriptor.type_info)
        self._columns = column_encoder(descriptor.type_info)
        self._epoch = object()
        self._written: list[_Held] = []
        self._older: dict[Any, _Held] = {}
        self._frozen: dict[Any, bytes] = {}
        self._unsaved: list[list[Any]] = []
        self._fresh: list[_Held] = []
        self._lent: set[Any] = set()
        self._all_here = self._is_all_here()

    def _is_all_here(self) -> bool:
        """True if the replica has nothing that is not in memory."""
        return next(iter(self._backend.memory.stored(self._prefix)), None) is None

    def read(self) -> Any:
        """The value of the present slot, or None."""
        cell = self.peek()
        if self._expiry is None or cell is None:
            return cell
        return self._read_expiring(self._backend.slot, cell)

    def write(self, value: Any) -> None:
        """Set the value of the present slot; None removes it."""
        self._set(self._backend.slot, value if self._expiry is None or value is None else (self._expiry.now(), value))

    def _set(self, slot: Any, cell: Any) -> None:
        held = self._cache.get(slot)
        if held is None:
            held = self._cache[slot] = [None, None, slot]
        held[0] = cell
        if held[1] is not self._epoch:
            held[1] = self._epoch
            self._written.append(held)

    def many(self, slots: set[Any]) -> dict[Any, _Held]:
        """What is held of slots that are all written now, with the value first; for states whose values do not expire."""
        cache, written = self._cache, self._written
        found = dict(zip(slots, map(cache.get, slots), strict=True))
        for slot, held in found.items():
            if held is None:
                held = found[slot] = self._found(slot)
            if held[1] is not self._epoch:
                held[1] = self._epoch
                written.append(held)
        return found

    def snapshot(self, changes: Changes) -> None:
        cache = self._cache
        if self._fresh:
            self._drop_absent()
        if self._written:
            written, self._written = self._written, []
            cells, slots = [held[0] for held in written], [held[2] for held in written]
            self._epoch = object()
            self._unsaved.append(slots)
            if self._lent:
                self._lent.difference_update(slots)
            if self._older:
                for slot in slots:
                    self._older.pop(slot, None)
            if self._expiry is None and self._backend.simple and len(slots) >= _MANY:
                self._snapshot_columns(slots, cells, changes)
            else:
                self._write_all(slots, changes)
        for slot in self._lent:
            cache.pop(slot, None)
        self._lent.clear()

    def _drop_absent(self) -> None:
        """Forget the slots that had no value when the epoch began, and have none now."""
        absent = [held for held in self._fresh if held[0] is None]
        for held in absent:
            del self._cache[held[2]]
            held[1] = None
        if absent:
            self._written = [held for held in self._written if held[1] is not None]
        self._fresh.clear()

    def _snapshot_columns(self, slots: list[Any], cells: list[Any], changes: Changes) -> None:
        column = self._column(slots, cells)
        if column is None and NoneType in set(map(type, cells)):
            gone = [slot for slot, cell in zip(slots, cells, strict=True) if cell is None]
            for slot in gone:
                self._frozen.pop(slot, None)
            self._log(gone, pa.nulls(len(gone), BYTES), changes)
            slots = [slot for slot, cell in zip(slots, cells, strict=True) if cell is not None]
            cells = [cell for cell in cells if cell is not None]
            column = self._column(slots, cells) if slots else None
        if slots:
            self._log(slots, self._values(slots, cells) if column is None else column, changes)

    def _log(self, slots: list[Any], values: pa.Array, changes: Changes) -> None:
        backend = self._backend
        plain = plain_keys(slots)
        groups = pa.array(key_group_array(plain, backend.max_parallelism))
        keys = backend.key_column(plain)
        changes.columns.append(Column(backend.operator_id, self.kind, self.descriptor.name, groups, keys, values))

    def _column(self, slots: list[Any], cells: list[Any]) -> pa.Array | None:
        """The values of slots as their bytes, where all can be encoded at once: none of these can be changed."""
        column = None if self._columns is None else self._columns(cells)
        if column is not None and self._frozen:
            for slot in slots:
                self._frozen.pop(slot, None)
        return column

    def _values(self, slots: list[Any], cells: list[Any]) -> pa.Array:
        """The same one by one; those that may be changed are frozen."""
        values, exact = self._encoded(cells), self._exact
        for slot, cell, value in zip(slots, cells, values, strict=True):
            if exact(cell):
                self._frozen.pop(slot, None)
            else:
                self._freeze(slot, b"\0" + value)
        return pa.array(values, BYTES)

    def _freeze(self, slot: Any, data: bytes) -> None:
        """Have a value in memory as its entry."""
        self._frozen[slot] = data
        self._lent.add(slot)

    def _encoded(self, values: list[Any]) -> list[bytes]:
        try:
            return list(map(self._encode, values))
        except TypeError as error:
            raise TypeError(f"State {self.descriptor.name!r}: {error}") from error

    def clear(self) -> None:
        if self.peek() is not None:
            self.write(None)

    def peek(self) -> Any:
        """The present cell, expired or not."""
        slot = self._backend.slot
        held = self._cache.get(slot)
        return (self._found(slot) if held is None else held)[0]

    def _found(self, slot: Any) -> _Held:
        """What is held of a slot that is not in the cache, which has it from now on."""
        held: _Held | None = self._older.pop(slot, None) if self._older else None
        if held is None:
            held = [None, None, slot]
            data = self._frozen.get(slot) if self._frozen else None
            if data is None and not self._all_here:
                data = self._backend.memory.value(self.entry(slot))
            if data is None:
                self._fresh.append(held)
            else:
                held[0] = self._cell_of(slot, data)
        self._cache[slot] = held
        return held

    def _cell_of(self, slot: Any, data: bytes) -> Any:
        """The cell of a slot whose entry is known."""
        timestamp, encoded = split_timestamp(data)
        value = self._decode(encoded)
        if not self._exact(value):
            self._lent.add(slot)
        if self._expiry is None:
            return value
        return (self._expiry.now() if timestamp is None else timestamp, value)

    def _read_expiring(self, slot: Any, cell: Any) -> Any:
        assert self._expiry is not None
        timestamp, value = cell
        if self._expiry.expired(timestamp):
            self._set(slot, None)
            return value if self._expiry.shows_expired else None
        if self._expiry.renewed_by_reading:
            self._set(slot, (self._expiry.now(), value))
        return value

    def _write(self, slot: Any, address: Address, changes: Changes) -> None:
        cell = self._cache[slot][0]
        self._frozen.pop(slot, None)
        if cell is None:
            changes.rows.append(self._row(address, b"", None, None))
            return
        timestamp, value = (None, cell) if self._expiry is None else cell
        (encoded,) = self._encoded([value])
        changes.rows.append(self._row(address, b"", encoded, timestamp))
        if not self._exact(value):
            self._freeze(slot, with_timestamp(timestamp, encoded))

    def forget(self) -> None:
        super().forget()
        parts: tuple[Any, ...] = (
            self._written,
            self._older,
            self._frozen,
            self._unsaved,
            self._fresh,
            self._lent,
        )
        for part in parts:
            part.clear()
        self._all_here = self._is_all_here()

    def __len__(self) -> int:
        """At most so many: those of several epochs are not compared."""
        return min(sum(map(len, self._unsaved)), len(self._cache) + len(self._older) + len(self._frozen))

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica does not have."""
        cache, older, frozen = self._cache, self._older, self._frozen
        slots, cells, gone = [], [], []
        # In the order in which they came: so they lie in memory.
        for slot in dict.fromkeys(chain.from_iterable(self._unsaved)):
            if slot in frozen:
                yield self.entry(slot), frozen[slot]
                continue
            cell = (cache.get(slot) or older[slot])[0]
            if cell is None:
                gone.append(slot)
            else:
                slots.append(slot)
                cells.append(cell)
        yield from zip(self._entries(slots), self._stored(cells), strict=True)
        yield from zip(self._entries(gone), repeat(None), strict=False)

    def _entries(self, slots: list[Any]) -> list[bytes]:
        keys: list[bytes] = self._backend.entry_column(self._prefix, slots).to_pylist()
        return keys

    def _stored(self, cells: list[Any]) -> list[bytes]:
        """Cells as the replica has them."""
        encode, expiry = self._encode, self._expiry
        if expiry is not None:
            return [with_timestamp(time, encode(value)) for time, value in cells]
        column = None if self._columns is None else self._columns(cells)
        if column is None:
            return [b"\0" + encode(cell) for cell in cells]
        stored: list[bytes] = values_without_time(column).to_pylist()
        return stored

    def saved(self) -> None:
        for slot in chain.from_iterable(self._unsaved):
            for part in (self._cache, self._older):
                if slot in part and part[slot][0] is None:
                    del part[slot]
        self._unsaved.clear()

    def size(self) -> int:
        parts: tuple[dict[Any, Any], ...] = (self._cache, self._older, self._frozen)
        return sum(len(part) * PLACE + sampled(part) for part in parts)

    def shrink(self) -> None:
        """Let go of what was not used since this was called last."""
        self._older = dict(self._cache)
        self._cache.clear()
        self._frozen.clear()
        self._all_here = False

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
    """The cells of a ``ValueState``."""

    def value(self) -> Any:
        return self.read()

    def update(self, value: Any) -> None:
        self.write(value)


class LastingValueCells(ValueCells):
    """The cells of a ``ValueState`` without expiry. Its two methods are called for each record: they do without others.

    They are methods of the class, because Python finds those faster than functions that an instance has.
    """

    def value(self) -> Any:
        slot = self._backend.slot
        held = self._cache.get(slot)
        return (self._found(slot) if held is None else held)[0]

    def update(self, value: Any) -> None:
        slot = self._backend.slot
        held = self._cache.get(slot)
        if held is None:
            held = self._cache[slot] = [None, None, slot]
        held[0] = value
        if held[1] is not self._epoch:
            held[1] = self._epoch
            self._written.append(held)


def value_cells(backend: KeyedBackend, descriptor: Any) -> ValueCells:
    """The cells of values, with or without expiry."""
    return (LastingValueCells if descriptor.ttl_config is None else ValueCells)(backend, descriptor)


class ReducingCells(_OneValue, ReducingState[Any]):
    """The cells of a ``ReducingState``."""

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
    """The cells of an ``AggregatingState``."""

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        self._function = descriptor.get_agg_function()
        self.fold = self._function.merge  # type: ignore[method-assign]

    def get(self) -> Any:
        accumulator = self.read()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Add a value; None removes the present one."""
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


class _Kept(Cells):
    """The states of many entries: ``_cache`` has the cells that this epoch touched, ``_kept`` those of epochs before it.

    A cell is kept while it is ``exact``: nothing in it can be changed but by the state's methods.
    """

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        self._kept: dict[Any, Any] = {}

    def _cell(self) -> Any:
        """The cell of the present slot."""
        slot = self._backend.slot
        cell = self._cache.get(slot)
        if cell is None:
            cell = self._cache[slot] = self._kept.pop(slot, None) or self._new()
        return cell

    def _new(self) -> Any:
        raise NotImplementedError

    def snapshot(self, changes: Changes) -> None:
        super().snapshot(changes)
        for slot, cell in self._cache.items():
            if cell.exact:
                cell.settle()
                self._kept[slot] = cell
        self._cache.clear()

    def forget(self) -> None:
        super().forget()
        self._kept.clear()

    def size(self) -> int:
        return len(self._kept) * PLACE + sampled(self._kept)

    def shrink(self) -> None:
        self._kept.clear()


class _ListCell:
    """A list: what the log has of it (read when needed), what was added since, and whether the former was dropped."""

    __slots__ = ("added", "chunks", "dropped", "exact", "stored")

    def __init__(self) -> None:
        self.exact = True
        self.stored: list[Any] | None = None
        self.chunks: list[bytes] | None = None
        self.added: list[Any] = []
        self.dropped = False

    def settle(self) -> None:
        """The log has what was added."""


class ListCells(_Kept, ListState[Any]):
    """The cells of a ``ListState``. The elements added in an epoch are one chunk, so that adding costs only what is added."""

    kind = Kind.LIST

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        codec = codec_of(descriptor.type_info)
        self._encode, self._decode = codec.encode, codec.decode
        self._exact = exactness_of(getattr(descriptor.type_info, "element_type", None))

    def get(self) -> Iterator[Any]:
        return iter(self.values())

    def values(self) -> list[Any]:
        """The elements of the present slot that have not expired."""
        cell = self._cell()
        stored = [] if cell.dropped else self._stored(cell, self._backend.slot)
        elements: list[Any] = stored + cell.added
        if self._expiry is None:
            return elements
        expiry = self._expiry
        alive = [element for element in elements if not expiry.expired(element[0])]
        if expiry.renewed_by_reading or (len(alive) < len(elements) and not expiry.shows_expired):
            now = expiry.now()
            self._replace([(now if expiry.renewed_by_reading else time, value) for time, value in alive])
        return [value for _, value in (elements if expiry.shows_expired else alive)]

    def add(self, value: Any) -> None:
        slot = self._backend.slot
        (self._cache.get(slot) or self._cell()).added.append(
            value if self._expiry is None else (self._expiry.now(), value)
        )
        self._dirty.add(slot)

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

    def _new(self) -> _ListCell:
        return _ListCell()

    def _stored(self, cell: _ListCell, slot: Any) -> list[Any]:
        if cell.stored is None:
            cell.stored, cell.chunks = [], []
            entry = self.entry(slot)
            for key, value in self._backend.memory.items(entry):
                timestamp, chunk = split_timestamp(value)
                name, chunk = split_map_entry(entry, key, chunk)
                cell.chunks.append(name)
                elements = self._decode(chunk)
                cell.exact = cell.exact and all(map(self._exact, elements))
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
            names, cell.chunks, cell.stored, cell.dropped = cell.chunks, [], [], False
            for name in names:
                changes.rows.append(self._row(address, name, None, None))
                changes.put(entry, map_entry(entry, name, b"")[0], None)
        else:
            names = []
        number = int.from_bytes(cell.chunks[-1], "big") + 1 if cell.chunks else 0
        for timestamp, elements in self._chunks(cell.added):
            name = number.to_bytes(8, "big")
            number += 1
            cell.chunks.append(name)
            cell.exact = cell.exact and all(map(self._exact, elements))
            encoded = self._encode(elements)
            changes.rows.append(self._row(address, name, encoded, timestamp))
            changes.put(entry, entry + b"\0" + name, with_timestamp(timestamp, encoded))
        cell.stored += cell.added
        cell.added = []

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
    """A map: entries that were read or written; ``complete`` when all others are known to be absent.

    ``absent`` are the keys of entries that stand for none.
    """

    __slots__ = ("absent", "complete", "dirty", "entries", "exact")

    def __init__(self) -> None:
        self.exact = True
        self.absent: set[Any] = set()
        self.entries: dict[Any, Any] = {}
        self.dirty: set[Any] = set()
        self.complete = False

    def settle(self) -> None:
        """The log has what is dirty."""
        for key in self.absent:
            if self.entries.get(key) is _MISSING:
                del self.entries[key]
        self.absent.clear()
        self.dirty.clear()


class MapCells(_Kept, MapState[Any, Any]):
    """The cells of a ``MapState``. Each entry is a row of its own."""

    kind = Kind.MAP

    def __init__(self, backend: KeyedBackend, descriptor: Any) -> None:
        super().__init__(backend, descriptor)
        self._keys = key_codec_of(descriptor.key_type)
        codec = codec_of(descriptor.value_type)
        self._encode, self._decode = codec.encode, codec.decode
        self._exact_key, self._exact = exactness_of(descriptor.key_type), exactness_of(descriptor.value_type)

    def get(self, key: Any) -> Any:
        if self._expiry is None and (cell := self._cache.get(self._backend.slot)) is not None:
            found = cell.entries.get(key)
            if found is not None and found is not _MISSING:
                return found
        found = self._find(key)
        return None if found is _MISSING else found

    def contains(self, key: Any) -> bool:
        return self._find(key) is not _MISSING

    def put(self, key: Any, value: Any) -> None:
        slot = self._backend.slot
        cell = self._cache.get(slot) or self._cell()
        cell.entries[key] = value if self._expiry is None else (self._expiry.now(), value)
        cell.dirty.add(key)
        self._dirty.add(slot)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        cell = self._cell()
        cell.entries[key] = _MISSING
        cell.absent.add(key)
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

    def _new(self) -> _MapCell:
        return _MapCell()

    def _find(self, key: Any) -> Any:
        cell = self._cell()
        found = cell.entries.get(key, None)
        if found is None and key not in cell.entries:
            found = _MISSING if cell.complete else self._load(cell, key)
            cell.entries[key] = found
            if found is _MISSING:
                cell.absent.add(key)
        if self._expiry is None or found is _MISSING:
            return found
        timestamp, value = found
        if self._expiry.expired(timestamp):
            self.remove(key)
            return value if self._expiry.shows_expired else _MISSING
        if self._expiry.renewed_by_reading:
            self.put(key, value)
        return value

    def _load(self, cell: _MapCell, key: Any) -> Any:
        place, name = self.entry(self._backend.slot), self._keys.encode(key)
        data = self._backend.memory.find(place, map_entry(place, name, b"")[0])
        if data is None:
            return _MISSING
        cell.exact = cell.exact and self._exact_key(key)
        return self._decoded(cell, split_timestamp(data), len(name))

    def _decoded(self, cell: _MapCell, stored: tuple[int | None, bytes], name_length: int) -> Any:
        timestamp, value = stored
        value = value if name_length <= 160 else value[4 + name_length :]
        decoded = None if value == _NONE else self._decode(value[1:])
        cell.exact = cell.exact and (decoded is None or self._exact(decoded))
        if self._expiry is None:
            return decoded
        return (self._expiry.now() if timestamp is None else timestamp, decoded)

    def _complete(self, cell: _MapCell) -> None:
        if cell.complete:
            return
        entry = self.entry(self._backend.slot)
        for key, data in self._backend.memory.items(entry):
            timestamp, value = split_timestamp(data)
            name, value = split_map_entry(entry, key, value)
            decoded = self._keys.decode(name)
            if decoded not in cell.entries:
                cell.entries[decoded] = self._decoded(cell, (timestamp, value), 0)
        cell.complete = True

    def _write(self, slot: Any, address: Address, changes: Changes) -> None:
        cell = self._cache[slot]
        for key in cell.dirty:
            name = self._keys.encode(key)
            found: Any = cell.entries[key]
            if found is _MISSING:
                changes.rows.append(self._row(address, name, None, None))
                changes.put(address[3], map_entry(address[3], name, b"")[0], None)
                continue
            timestamp, value = (None, found) if self._expiry is None else found
            cell.exact = cell.exact and self._exact_key(key) and (value is None or self._exact(value))
            encoded = _NONE if value is None else b"\1" + self._encode(value)
            changes.rows.append(self._row(address, name, encoded, timestamp))
            entry, stored = map_entry(address[3], name, encoded)
            changes.put(address[3], entry, with_timestamp(timestamp, stored))


_NONE = b"\0"
"""The value None in a map; other values come behind a byte of 1."""
