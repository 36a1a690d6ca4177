"""Compares two snapshots, entry by entry."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from compat.tables.columns import text
from compat.tables.reading import choose, open_snapshot
from compat.tables.snapshots import StateSnapshot, TableEntry, TableState

_Address = tuple[str, str, str]
_KEY_GROUPS = (1 << 15) + 1


class Change(Enum):
    """The kind of change of an entry."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class ChangedEntry(NamedTuple):
    """An entry that differs: keys and values as texts, None if there is none; the window as its texts."""

    change: Change
    key: str | None
    namespace: str | None
    map_key: str | None
    before: str | None
    after: str | None


class Difference(Struct, frozen=True, kw_only=True):
    """The difference of an operator's state: the numbers of its entries, and of those that differ; some of these."""

    state: TableState
    before: int
    after: int
    changes: Mapping[Change, int]
    examples: Sequence[ChangedEntry]

    @property
    def differs(self) -> bool:
        """True if any entry differs."""
        return any(self.changes.values())


class _Key(NamedTuple):
    key: str | None
    namespace: str | None
    map_key: str | None
    due: int | None


class _Side(Struct, frozen=True, kw_only=True):
    snapshot: StateSnapshot
    states: Mapping[_Address, TableState]


def compare(
    old: str, new: str, *, operator: str | None = None, state: str | None = None, examples: int = 10
) -> Sequence[Difference]:
    """The differences of ``new``'s state from that of ``old``: one for each state of either, by operator id and name.

    Values are equal where they read the same, however they are stored. Raises what :func:`compat.tables.read` raises.
    """
    return compare_snapshots(open_snapshot(old), open_snapshot(new), operator=operator, state=state, examples=examples)


def compare_snapshots(
    old: StateSnapshot,
    new: StateSnapshot,
    *,
    operator: str | None = None,
    state: str | None = None,
    examples: int = 10,
) -> Sequence[Difference]:
    """The differences of two open snapshots."""
    chosen = {_address(each) for each in choose([*old.states, *new.states], operator, state)}
    before, after = _side(old, chosen), _side(new, chosen)
    found = {address: _Comparison(one, examples) for address, one in {**before.states, **after.states}.items()}
    for part in _parts(old, new):
        left, right = _entries(before, part), _entries(after, part)
        for address, comparison in found.items():
            comparison.add(left[address], right[address])
    return [comparison.result() for _, comparison in sorted(found.items())]


def _side(snapshot: StateSnapshot, chosen: Collection[_Address]) -> _Side:
    states = {_address(each): each for each in snapshot.states}
    return _Side(snapshot=snapshot, states={address: each for address, each in states.items() if address in chosen})


def _address(state: TableState) -> _Address:
    return state.operator_id, state.name, state.kind


def _parts(old: StateSnapshot, new: StateSnapshot) -> Sequence[range | None]:
    """The ranges of key groups that are held in memory at once: any key group is in one, as is what has none."""
    parts = [part for part in max(old.parts(), new.parts(), key=len) if part is not None]
    if len(parts) < 2 or None in (*old.parts(), *new.parts()):
        return [None]
    first, last = parts[0], parts[-1]
    return [range(-1, first.stop), *parts[1:-1], range(last.start, _KEY_GROUPS)]


def _entries(side: _Side, part: range | None) -> Mapping[_Address, dict[_Key, list[str | None]]]:
    found: defaultdict[_Address, dict[_Key, list[str | None]]] = defaultdict(dict)
    for entry in side.snapshot.entries(list(side.states.values()), part):
        found[_address(entry.state)].setdefault(_key(entry), []).append(text(entry.value))
    return found


def _key(entry: TableEntry) -> _Key:
    is_timer = entry.state.value_type is None
    window = None if entry.namespace is None else text([part for part in entry.namespace if part is not None])
    return _Key(text(entry.key), window, text(entry.map_key), entry.timestamp if is_timer else None)


class _Comparison:
    def __init__(self, state: TableState, examples: int) -> None:
        self._state, self._most = state, examples
        self._before = self._after = 0
        self._changes = dict.fromkeys(Change, 0)
        self._examples: list[ChangedEntry] = []

    def add(self, before: Mapping[_Key, list[str | None]], after: Mapping[_Key, list[str | None]]) -> None:
        self._before += sum(map(len, before.values()))
        self._after += sum(map(len, after.values()))
        for key in dict.fromkeys(chain(before, after)):
            old, new = before.get(key, []), after.get(key, [])
            if len(old) == len(new) == 1:
                self._note(Change.CHANGED, key, zip(old, new, strict=True))
            else:  # elements of a list that belongs to no key: nothing tells which became which
                self._note(Change.REMOVED, key, ((value, None) for value in _without(old, new)))
                self._note(Change.ADDED, key, ((None, value) for value in _without(new, old)))

    def _note(self, change: Change, key: _Key, values: Iterable[tuple[str | None, str | None]]) -> None:
        for old, new in values:
            if change is Change.CHANGED and old == new:
                continue
            self._changes[change] += 1
            if len(self._examples) < self._most:
                self._examples.append(ChangedEntry(change, key.key, key.namespace, key.map_key, old, new))

    def result(self) -> Difference:
        return Difference(
            state=self._state,
            before=self._before,
            after=self._after,
            changes=self._changes,
            examples=self._examples,
        )


def _without(values: Sequence[str | None], others: Sequence[str | None]) -> Iterable[str | None]:
    """The values that are left when each of the others has taken one that equals it."""
    return (Counter(values) - Counter(others)).elements()
