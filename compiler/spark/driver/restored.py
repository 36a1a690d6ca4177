"""The amount of state in a snapshot, and its fate in a restore, as a report for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from compat.compiler.spark.runtime_api.internal_states import COMMITTABLES, FEEDBACK, STATES, WATERMARK
from compat.state.delta.compaction import contents
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, counted

Address = tuple[str, str, str]
"""A state in a snapshot: its operator, the kind of its rows, and its name."""

_KEYED = (Kind.VALUE, Kind.LIST, Kind.MAP, Kind.EVENT_TIMER, Kind.PROCESSING_TIMER)
_NOTES = (WATERMARK, COMMITTABLES, FEEDBACK, STATES)


@dataclass(slots=True)
class Amounts:
    """The amount of an operator's state: distinct keys, entries, and entries by kind and name of the state."""

    keys: int = 0
    entries: int = 0
    states: Counter[tuple[str, str]] = field(default_factory=Counter)

    def migrated(self, id: str, migrations: Iterable[Address]) -> int:
        """The number of converted entries of the operator with this id."""
        return sum(self.states[kind, state] for operator, kind, state in migrations if operator == id)


class Restored(Struct, frozen=True):
    """What happened to a snapshot's state: the keys and entries that are there, the entries of them that were converted, and
    those that were left behind."""

    keys: int
    entries: int
    migrated: int
    dropped: int


def tally(table: pa.Table) -> dict[str, Amounts]:
    """The entries of a slice of a snapshot by operator, without those of tasks and the snapshot's own notes."""
    counts: dict[str, Amounts] = {}
    for (id, kind, state), number in counted(table.select(["operator_id", "kind", "state"])).items():
        if kind not in (Kind.TASK, Kind.JOB) and state not in _NOTES:
            count = counts.setdefault(id, Amounts())
            count.entries += number
            count.states[kind, state] += number
    keyed = table.filter(
        pc.and_(pc.is_in(table["kind"], pa.array(_KEYED)), pc.invert(pc.is_in(table["state"], pa.array(_NOTES))))
    )
    for row in keyed.group_by(["operator_id"]).aggregate([("key", "count_distinct")]).to_pylist():
        counts[row["operator_id"]].keys += row["key_count_distinct"]
    return counts


def total(tallied: Iterable[Mapping[str, Amounts]]) -> dict[str, Amounts]:
    """The totals of all slices: a key is in only one of them."""
    counts: dict[str, Amounts] = {}
    for each in tallied:
        for id, found in each.items():
            count = counts.setdefault(id, Amounts())
            count.keys += found.keys
            count.entries += found.entries
            count.states.update(found.states)
    return counts


def amounts(log: SnapshotLog) -> dict[str, Amounts]:
    """The entries of a snapshot by operator."""
    return total(map(tally, contents(log)))


def restored(
    found: Mapping[str, Amounts],
    mapping: Mapping[str, str],
    migrations: Collection[Address],
    states: Mapping[tuple[str, str], tuple[str, str] | None] = MappingProxyType({}),
    of_keys: int = 0,
) -> Restored:
    """What happens to a snapshot with these entries whose operators are taken over as ``mapping`` says.

    ``states`` are the states that leave their operators, as in `Moved`; ``of_keys`` is the number of entries that are dropped
    with their keys.
    """
    entries = sum(count.entries for count in found.values())
    dropped = of_keys + sum(
        number
        for id, count in found.items()
        for (_, state), number in count.states.items()
        if (states[id, state] is None if (id, state) in states else id not in mapping)
    )
    return Restored(
        keys=sum(count.keys for id, count in found.items() if id in mapping),
        entries=entries - dropped,
        migrated=sum(count.migrated(id, migrations) for id, count in found.items()),
        dropped=dropped,
    )
