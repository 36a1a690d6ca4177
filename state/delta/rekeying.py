"""Gives keyed state other keys, in the key groups where jobs look for them, as is done to Flink's savepoints.

There are two passes. First each slice gives its rows under their new keys, each with its old key. Then the new key groups are
put together, and rows under the same key are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from compat.state.delta.compaction import latest
from compat.state.delta.errors import StoreError
from compat.state.delta.items import Coders, Stored
from compat.state.delta.rows import NO_KEY_GROUP, DataFile, Kind, Row, read_rows, table_of, write_table
from compat.state.delta.slices import Slice, read_slice
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.forms import Unconvertible, form_of
from compat.state.flink.headers import KIND, VALUES, StateMeta
from compat.state.flink.longer_windows import is_a_window
from compat.state.flink.merging import Merge
from compat.state.flink.python_states import Item, arrays_of, value_of
from compat.state.flink.python_values import as_declared, decoded
from compat.state.flink.rekeying import KeyChange
from compat.state.flink.snapshot_writing import key_snapshot, state_form
from compat.state.flink.snapshots import SerializerSnapshot, out_of_header, read_versioned
from compat.state.flink.transcoding import Held
from compat.state.flink.value_writing import as_stored, writer_of
from compat.state.key_groups import key_group_of_key
from compat.state.serializers import key_codec_of
from compat.state.serializers.codecs import join, split
from compat.state.serializers.pickles import RAISED_BY_PICKLES, dump, load
from compat.state.types import TypeInformation

_KEYED = (Kind.VALUE, Kind.LIST, Kind.MAP, Kind.EVENT_TIMER, Kind.PROCESSING_TIMER)
_TIMERS = (Kind.EVENT_TIMER, Kind.PROCESSING_TIMER)


class Rekeying(Struct, frozen=True):
    """The change of the keys of an operator, with its ``stored`` states by their names.

    ``old`` and ``new`` are the types of its keys; ``gone`` are states that are dropped whatever their keys are. Errors use the
    operator's name ``called``.
    """

    old: TypeInformation
    new: TypeInformation
    max_parallelism: int
    change: KeyChange
    stored: Mapping[str, Stored]
    gone: frozenset[str]
    called: str
    now: int

    @property
    def what(self) -> str:
        """What changes, in words."""
        return "keys" if self.change.windows is None else "keys or windows"

    def anew(self, keys: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        """The keys that stay: each with its new key group, and its new form. Raises Unconvertible."""
        snapshot, read = _snapshot(self.old), _Keys(self.old)
        written = list(map(read.written, keys))
        dropped = self.change.dropped
        going = [False] * len(keys) if dropped is None else dropped.chooser(snapshot)(written)
        left = [key for key, goes in zip(keys, going, strict=True) if not goes]
        stay = [data for data, goes in zip(written, going, strict=True) if not goes]
        conversion = self.change.conversion
        made = stay if conversion is None else conversion.keys(snapshot)(stay)
        keys_now = _Keys(self.new)
        return {key: keys_now.placed(data, self.max_parallelism) for key, data in zip(left, made, strict=True)}

    def merged(self, rows: Sequence[Row]) -> Iterator[Row]:
        """The rows of `with_origin` as those of a job, with rows under one key merged. Raises Unconvertible."""
        identity = key_codec_of(self.new).identity

        def place(row: Row) -> tuple[Any, ...]:
            return row.kind, row.state, row.key_group, identity(row.key), row.namespace

        for _, members in groupby(sorted(rows, key=place), place):
            yield from self._of_key(list(members))

    def in_window(self, row: Row) -> Row:
        """A row in the longer window that has its own in it. Raises Unconvertible if none has."""
        windows = self.change.windows
        if windows is None or not row.namespace:
            return row
        if not is_a_window(row.namespace):
            raise Unconvertible("there are windows of another sort than time")
        moment = row.timestamp
        if moment is not None and row.kind in _TIMERS:
            moment = windows.moved(row.namespace, moment)
        return row._replace(namespace=windows.around(row.namespace), timestamp=moment)

    def _of_key(self, rows: list[Row]) -> Iterator[Row]:
        """The rows of a state, or the timers, that one key has now."""
        by_entry: dict[object, dict[bytes, list[Row]]] = {}
        for origin, row in map(_without_origin, rows):
            same = row._replace(key=rows[0].key)
            by_entry.setdefault(self._entry(row), {}).setdefault(origin, []).append(same)
        for owners in by_entry.values():
            several = list(owners.values())
            once = len(several) == 1 or rows[0].kind in _TIMERS
            yield from several[0] if once else self._merged(several)

    def _entry(self, row: Row) -> object:
        """What tells the entries of a key apart: timers by their time, those of maps by their keys."""
        stored = self.stored.get(row.state)
        of_map = None if stored is None else stored.declared.of_map()
        if row.kind == Kind.MAP and of_map is not None:
            return key_codec_of(of_map.key_type).identity(row.map_key)
        return row.timestamp if row.kind in _TIMERS else row.map_key if row.kind == Kind.MAP else b""

    def _merged(self, owners: Sequence[Sequence[Row]]) -> list[Row]:
        of = owners[0][0]
        merge, stored = self.change.merges.get(of.state), self.stored.get(of.state)
        if merge is None or stored is None:
            raise Unconvertible(
                f"two {self.what} become one, and both have a value of {of.state!r}: say how they `merge`"
            )
        coders, held = Coders(stored.declared), Held("MAP" if of.kind == Kind.MAP else "LIST", timed=True)
        items = [coders.written(item) for rows in owners for item in stored.items(rows, self.now)]
        (data,) = _merger(merge, of.state, held)([[value_of(item, held) for item in items]])
        made = coders.read(Item(items[0].map_key, arrays_of(data, held)))
        return replace(stored, timed=of.timestamp is not None).rows(of, [made])


def _merger(merge: Merge, name: str, held: Held) -> Callable[[list[list[bytes]]], list[bytes]]:
    form = state_form(held.kind, timed=held.timed).serializer
    assert form is not None
    values = read_versioned(ByteReader(out_of_header(form), "a state"), 0)
    return merge.merger(StateMeta(name, "KEY_VALUE", ((KIND, held.kind),), ((VALUES, values),)))


class _Keys:
    """Keys of a type as rows have them, and as Flink's serializer for PyFlink writes them: the only field of a row."""

    def __init__(self, type: TypeInformation) -> None:
        self._keys = key_codec_of(type)
        self._form = form_of(_snapshot(type))
        self._write, self._stored, self._declared = (
            writer_of(self._form),
            as_stored(type, dump),
            as_declared(type, load),
        )

    def written(self, key: bytes) -> bytes:
        """A key as Flink writes it. Raises Unconvertible for one that it would not keep as it is."""
        try:
            value = self._keys.decode(key)
            data = self._write([self._stored(value)])
            same = self._keys.identify(self._value(data)) == self._keys.identify(value)
        except RAISED_BY_PICKLES as error:
            raise Unconvertible(f"a key cannot be made anew: {type(error).__name__}: {error}") from None
        if not same:
            raise Unconvertible(f"Flink does not keep the key {value!r} as it is")
        return data

    def placed(self, data: bytes, max_parallelism: int) -> tuple[int, bytes]:
        """The key group of a key that Flink wrote, and its bytes in rows. Raises Unconvertible."""
        try:
            value = self._value(data)
            return key_group_of_key(value, max_parallelism), self._keys.encode(value)
        except RAISED_BY_PICKLES as error:
            raise Unconvertible(f"a key cannot be made anew: {type(error).__name__}: {error}") from None

    def _value(self, data: bytes) -> Any:
        return self._declared(decoded(self._form.read, data)[0])


def _snapshot(type: TypeInformation) -> SerializerSnapshot:
    return read_versioned(ByteReader(key_snapshot(type), "keys"), 0)


# ---- the first pass ----


class Rekeyed(Struct, frozen=True):
    """The rows of a slice under their new keys, in files of a folder; and the entries of dropped keys."""

    files: list[DataFile]
    dropped: int


class Rekey(Struct, frozen=True):
    """Writes the keyed rows of slices under their new keys, each with its old one, into a folder. Operators are OLD's."""

    folder: str
    keys: Mapping[str, Rekeying]

    def __call__(self, one: Slice) -> Rekeyed:
        if one.groups.stop <= 0:
            return Rekeyed([], 0)
        table, rows, dropped = read_slice(one), [], 0
        for operator, rekeying in self.keys.items():
            pickled = frozenset[str]() if key_codec_of(rekeying.old).canonical else frozenset({operator})
            there = latest(table.filter(of_keys(table, [operator])), pickled)
            kept = pc.invert(
                pc.or_(there["tombstone"], pc.is_in(there["state"], pa.array(sorted(rekeying.gone), pa.string())))
            )
            there = there.filter(kept)
            made = list(_told(rekeying, _with_origin, list(read_rows(there))))
            dropped += there.num_rows - len(made)
            rows += made
        if not rows:
            return Rekeyed([], dropped)
        return Rekeyed([write_table(self.folder, latest(table_of(rows, 1)))], dropped)


def of_keys(table: pa.Table, operators: Iterable[str]) -> pa.ChunkedArray:
    """The mask of the rows that are keyed state or timers of some operators."""
    owned = pc.and_(
        pc.is_in(table["operator_id"], pa.array(list(operators), pa.string())),
        pc.is_in(table["kind"], pa.array(_KEYED)),
    )
    return pc.and_(owned, pc.not_equal(table["key_group"], NO_KEY_GROUP))


def merged(table: pa.Table, keys: Mapping[str, Rekeying]) -> pa.Table:
    """The rows of the first pass, merged as those of a job. Raises StoreError."""
    rows: dict[str, list[Row]] = {}
    for row in read_rows(table):
        rows.setdefault(row.operator_id, []).append(row)
    made = [row for operator, of in rows.items() for row in _told(keys[operator], Rekeying.merged, of)]
    return latest(table_of(made, 1))


def _with_origin(rekeying: Rekeying, rows: Sequence[Row]) -> Iterator[Row]:
    becomes, identity = rekeying.anew(list({row.key for row in rows})), key_codec_of(rekeying.old).identity
    for row in rows:
        if row.key in becomes:
            group, key = becomes[row.key]
            origin = join([identity(row.key), row.namespace])
            yield rekeying.in_window(row)._replace(key_group=group, key=key, map_key=join([origin, row.map_key]))


def _without_origin(row: Row) -> tuple[bytes, Row]:
    origin, map_key = split(row.map_key)
    return origin or b"", row._replace(map_key=map_key or b"")


def _told(
    rekeying: Rekeying, change: Callable[[Rekeying, Sequence[Row]], Iterable[Row]], rows: Sequence[Row]
) -> list[Row]:
    """What a change makes of rows, with what does not fit told as what cannot be restored."""
    try:
        return list(change(rekeying, rows))
    except (Unconvertible, SavepointError) as error:
        raise StoreError(f"The {rekeying.what} of {rekeying.called} cannot be converted: {error}.") from None
