"""Gives states in the log other values: of another type, another kind of state, timed or not, or changed by a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from compat.state.delta.compaction import latest
from compat.state.delta.errors import StoreError
from compat.state.delta.items import Stored
from compat.state.delta.rows import Row, by_group, limits, read_rows, table_of
from compat.state.flink.errors import SavepointError
from compat.state.flink.forms import Unconvertible
from compat.state.flink.python_states import Apply, Array, Item
from compat.state.serializers import key_codec_of
from compat.state.types import TypeInformation

Place = tuple[str, str]
"""An operator's id, and the name of a state of it."""

_MOST_AT_ONCE = 1 << 12


class StateChange(Struct, frozen=True):
    """The change of a state: ``apply`` makes of items as ``old`` has them such as ``new`` has.

    ``key_type`` is that of the keys; errors name the state as it is ``called``. What had no time of last use gets ``now``.
    """

    old: Stored
    new: Stored
    apply: Apply
    key_type: TypeInformation | None
    called: str
    now: int

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """The rows of some keys with the new values. Raises StoreError for values that do not fit."""
        try:
            return [row for made in self._made(rows) for row in made]
        except (Unconvertible, SavepointError) as error:
            raise StoreError(f"{self.called}: {error}.") from None

    def _made(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        given = [(of[0], self._items(of)) for of in self._by_key(rows)]
        made = iter(self._applied([item for _, items in given for item in items]))
        for of, items in given:
            yield self.new.rows(of, [one for _ in items for one in next(made)])

    def _applied(self, items: Sequence[Item]) -> Iterator[Sequence[Item]]:
        for begin in range(0, len(items), _MOST_AT_ONCE):
            yield from self.apply(items[begin : begin + _MOST_AT_ONCE])

    def _items(self, rows: Sequence[Row]) -> list[Item]:
        items = list(self.old.items(rows, self.now))
        if self.old.declared.of_map() is None or self.new.declared.of_map() is not None:
            return items
        arrays = (
            array
            for item in items
            for value in item.arrays
            for array in (Array(item.map_key or b"", value.time), value)
        )
        return [Item(None, tuple(arrays))]

    def _by_key(self, rows: Sequence[Row]) -> list[list[Row]]:
        identity = key_codec_of(self.key_type).identity
        found: dict[tuple[int, bytes, bytes], list[Row]] = {}
        for row in rows:
            key = row.key if self.old.broadcast else identity(row.key)
            found.setdefault((row.key_group, key, row.namespace), []).append(row)
        return list(found.values())


def changed(table: pa.Table, changes: Mapping[Place, StateChange]) -> pa.Table:
    """Entries with the changed states, by key group. Raises StoreError."""
    epoch = limits(table["epoch"])[1] if table.num_rows else 0
    made = []
    for (operator, state), change in changes.items():
        address = {"operator_id": operator, "state": state, "kind": change.old.kind}
        concerned = reduce(pc.and_, (pc.equal(table[column], part) for column, part in address.items()))
        there = latest(table.filter(concerned), frozenset({operator} if _apart(change) else ()))
        made.append(table_of(change.rows(list(read_rows(there.filter(pc.invert(there["tombstone"]))))), epoch))
        table = table.filter(pc.invert(concerned))
    return by_group(pa.concat_tables([table, *made])) if changes else table


def _apart(change: StateChange) -> bool:
    """Whether keys have bytes besides what tells them apart."""
    return not change.old.broadcast and not key_codec_of(change.key_type).canonical
