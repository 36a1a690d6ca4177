"""Moves states of a savepoint: to another operator, another name, types with other names, or drops them.

    transfer = Transfer(states={StateKey("cbc3…", "total", True): StateTarget("cbc3…", "sum")})
    transferred = write_states(savepoint, transfer, folder)                   # the state files that are new
    made = with_references(read_draft(savepoint), transferred.changes)        # the metadata that names them

Keys and values stay byte for byte. The state of an operator that keeps its states is not read; only its headers are, if types
have other names. State is read and written key group by key group, entry by entry, so that it may be larger than the memory.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from tempfile import TemporaryDirectory, mkdtemp
from typing import NamedTuple
from uuid import uuid4

from msgspec import Struct

from compat.state.flink import keyed_transfer, operator_transfer
from compat.state.flink.backends import keyed_format
from compat.state.flink.entry_conversion import Conversion
from compat.state.flink.errors import NotWritten, UnknownOperator
from compat.state.flink.formats import KeyedFormat
from compat.state.flink.handles import KeyGroups, OperatorStream
from compat.state.flink.header_parts import Field, HeaderParts, StateKey, TypeNames
from compat.state.flink.keyed_transfer import KeyedSource, keyed_source, write_keyed_state
from compat.state.flink.operator_transfer import OperatorSource, of_subtask, operator_source, write_operator_state
from compat.state.flink.rekeying import KeyChange, regrouped
from compat.state.flink.remapping import writing
from compat.state.flink.rewriting import Changes, Handles, NewId, NewOperator
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.snapshots import classes_in
from compat.state.flink.states import HeaderReader
from compat.state.flink.tally import Tally
from compat.state.key_groups import key_groups_of_subtask

_FIRST_WITH_SUBTASKS = 3
"""The first format of the metadata whose subtasks can be rewritten: that of Flink 1.11."""


class StateTarget(NamedTuple):
    """The operator that is to have a state, by the id that it has in the savepoint or is added with, and the state's name."""

    operator: str
    name: str


class Transfer(Struct, frozen=True, kw_only=True):
    """The changes to a savepoint. Operators have the ids of the savepoint; all changes are made at once.

    ``states`` has None for a dropped state; states that it does not name stay. ``added`` are new operators that get states, by
    their ids. ``converted`` are states whose values are converted for another serializer, ``keys`` operators whose keys are
    converted or dropped, ``coordinators`` the new state of operators' coordinators. With ``canonical``, operators with keyed
    state in a backend's own format are written anew, too; all written state is canonical.
    """

    ids: Mapping[str, NewId] = {}
    dropped: frozenset[str] = frozenset()
    states: Mapping[StateKey, StateTarget | None] = {}
    added: Mapping[str, NewId] = {}
    types: TypeNames = TypeNames()
    converted: Mapping[StateKey, Conversion] = {}
    keys: Mapping[str, KeyChange] = {}
    coordinators: Mapping[str, bytes] = {}
    canonical: bool = False

    def becomes(self, key: StateKey) -> StateKey | None:
        """The new place of a state; None if it is dropped."""
        stays = None if key.operator in self.dropped else StateTarget(key.operator, key.name)
        target = self.states.get(key, stays)
        if target is None:
            return None
        return StateKey(self.ids.get(target.operator, NewId(target.operator)).id, target.name, key.keyed)


class Transferred(Struct, frozen=True):
    """The changes of the metadata, the counts of each state's entries, and the names of the renamed types that occurred."""

    changes: Changes
    tally: Tally
    types: frozenset[str | Field]

    @property
    def entries(self) -> Mapping[StateKey, int]:
        """The entries of each state that were written."""
        return self.tally.written


def write_states(savepoint: Savepoint, transfer: Transfer, folder: str) -> Transferred:
    """Write the state files of the operators whose states change into a folder that is there.

    Raises `UnknownOperator` for a missing operator, `NotWritten` for state that cannot be rewritten, and other `SavepointError`
    for state that cannot be read.
    """
    with writing(folder), TemporaryDirectory(dir=folder) as aside:
        return _Writing(savepoint, transfer, folder, aside).run()


def count_entries(savepoint: Savepoint, operators: Collection[str]) -> Counter[StateKey]:
    """The entries of the managed states of some operators, read one by one. Raises as `write_states` does."""
    headers = HeaderReader(savepoint)
    found: Counter[StateKey] = Counter()
    for operator in savepoint.operators:
        if operator.id in operators:
            owner = _Owner(headers, operator, Transfer(), "", Tally())
            for source in owner.keyed:
                keys = [StateKey(operator.id, name, True) for name in source.names]
                groups = source.groups
                found.update(keys[entry.state] for group in groups.numbers for entry in groups.entries(group))
            for managed in owner.managed:
                for partition in managed.handle.partitions:
                    found[StateKey(operator.id, partition.name, False)] += len(partition.offsets)
    return found


class _Owner:
    """An operator of the savepoint, with the states that its subtasks have; they are read when they are asked for."""

    def __init__(
        self,
        headers: HeaderReader,
        operator: OperatorState,
        transfer: Transfer,
        folder: str,
        tally: Tally,
    ) -> None:
        self._headers = headers
        self._tally = tally
        self._types = transfer.types
        self._keys = transfer.keys.get(operator.id)
        self._folder = folder
        self._conversions: dict[bool, dict[str, Conversion]] = {True: {}, False: {}}
        for key, one in transfer.converted.items():
            if key.operator == operator.id:
                self._conversions[key.keyed][key.name] = one
        self.operator = operator

    @cached_property
    def keyed(self) -> tuple[KeyedSource, ...]:
        conversion = None if self._keys is None else self._keys.conversion
        keys = None if conversion is None else conversion.serializer
        found = [
            keyed_source(self._headers, self.operator, subtask, self._types, self._conversions[True], keys)
            for subtask in self.operator.subtasks
        ]
        sources = tuple(one for one in found if one is not None)
        if self._keys is None or not sources:
            return sources
        if any(subtask.raw_keyed is not None for subtask in self.operator.subtasks):
            raise NotWritten(
                f"the keys of operator {self.operator.id} cannot become others",
                path=self._headers.savepoint.path,
                why="it has raw keyed state, such as timers on the heap, whose keys would stay",
                advice="Drop the operator, or keep its keys.",
            )
        return (regrouped(sources, self._keys, mkdtemp(dir=self._folder), self._tally),)

    @cached_property
    def managed(self) -> tuple[OperatorSource, ...]:
        found = (
            operator_source(self._headers, self.operator, subtask, self._types, self._conversions[False])
            for subtask in self.operator.subtasks
        )
        return tuple(one for one in found if one is not None)

    def states(self) -> list[StateKey]:
        """All its managed states, each once."""
        id = self.operator.id
        keyed = dict.fromkeys(name for source in self.keyed for name in source.names)
        managed = dict.fromkeys(name for source in self.managed for name in source.names)
        return [*(StateKey(id, name, True) for name in keyed), *(StateKey(id, name, False) for name in managed)]

    def met(self) -> frozenset[str | Field]:
        """The names of types that are in its headers and become others."""
        parts = [*(source.parts for source in self.keyed), *(source.parts for source in self.managed)]
        found = frozenset[str | Field]().union(*(one.met for one in parts))
        return found | {name for one in parts for name in self._named_in_converted(one)}

    def _named_in_converted(self, parts: HeaderParts) -> Iterator[str]:
        """The classes that become others as values are read and written: the header has not their serializers any more."""
        for meta in (*parts.header.states, *parts.header.broadcast_states):
            if meta.name in self._conversions[True] or meta.name in self._conversions[False]:
                classes = {name for _, serializer in meta.serializers for name in classes_in(serializer)}
                yield from classes & self._types.classes.keys()


Names = dict[str, str]
"""Names of states, with their new names."""


class _Moved(NamedTuple):
    """The states that an operator has afterwards, by those that have them now: keyed state, and operator state."""

    keyed: dict[str, Names]
    managed: dict[str, Names]

    def of(self, key: StateKey) -> Names:
        return (self.keyed if key.keyed else self.managed).setdefault(key.operator, {})


class _Writing:
    def __init__(self, savepoint: Savepoint, transfer: Transfer, folder: str, aside: str) -> None:
        self._savepoint = savepoint
        self._transfer = transfer
        self._folder = folder
        self._headers = HeaderReader(savepoint)
        self._tally = Tally()
        self._owners = {
            operator.id: _Owner(self._headers, operator, transfer, aside, self._tally)
            for operator in savepoint.operators
        }

    def run(self) -> Transferred:
        self._require()
        types = {id: owner.met() for id, owner in self._named_owners()}
        changed = {id for id, met in types.items() if met} | self._transfer.keys.keys()
        changed |= {key.operator for key in self._transfer.converted}
        for key, target in self._transfer.states.items():
            changed |= {key.operator} if target is None else {key.operator, target.operator}
        changed |= self._in_own_formats() if self._transfer.canonical else set()
        handles, added = {}, []
        for id, moved in self._moved(changed - self._transfer.dropped).items():
            if id in self._owners:
                handles[id] = self._handles(self._owners[id].operator, moved)
            else:
                added.append(self._new(id, moved))
        changes = Changes(
            ids=self._transfer.ids,
            dropped=self._transfer.dropped,
            handles=handles,
            added=tuple(added),
            coordinators=self._transfer.coordinators,
        )
        met = frozenset[str | Field]().union(*types.values())
        return Transferred(changes, self._tally, met)

    def _in_own_formats(self) -> set[str]:
        """The operators whose keyed state is not in the canonical format."""
        formats = {one.id: keyed_format(self._savepoint, one, self._headers) for one in self._savepoint.operators}
        return {id for id, format in formats.items() if format not in (None, KeyedFormat.CANONICAL)}

    def _require(self) -> None:
        """Raise unless the operators that are named are there, and their metadata has a form that is written."""
        there = self._owners.keys()
        for key in self._transfer.converted:
            if key.operator not in there:
                raise UnknownOperator(f"no operator has the id of {key}", path=self._savepoint.path)
        for key, target in self._transfer.states.items():
            known = key.operator in there and (target is None or target.operator in there | self._transfer.added.keys())
            if not known:
                raise UnknownOperator(f"no operator has the id of {key} or {target}", path=self._savepoint.path)
        transfer = self._transfer
        touched = transfer.states or transfer.converted or transfer.keys or transfer.types.named or transfer.canonical
        if touched and self._savepoint.format_version < _FIRST_WITH_SUBTASKS:
            raise self._refused(
                "states of a savepoint of Flink before 1.11 cannot be written anew", "its metadata has an older form"
            )

    def _named_owners(self) -> Iterator[tuple[str, _Owner]]:
        """The operators whose headers are looked through for names of types: all, where any type is named."""
        if self._transfer.types.named:
            yield from ((id, owner) for id, owner in self._owners.items() if id not in self._transfer.dropped)

    def _moved(self, changed: Iterable[str]) -> dict[str, _Moved]:
        """The states that each of the changed operators has afterwards. Raises where two would have one name."""
        found = {id: _Moved({}, {}) for id in self._in_order(changed)}
        concerned = found.keys() | {key.operator for key in self._transfer.states}
        owners: dict[tuple[StateTarget, bool], StateKey] = {}
        for id, owner in self._owners.items():
            for key in owner.states() if id in concerned else ():
                stays = None if id in self._transfer.dropped else StateTarget(id, key.name)
                target = self._transfer.states.get(key, stays)
                if target is None:
                    continue
                other = owners.setdefault((target, key.keyed), key)
                if other != key:
                    raise self._refused(
                        f"two states of one operator would both be called `{target.name}`",
                        f"`{other.name}` of operator {other.operator} and `{key.name}` of {key.operator}",
                    )
                found[target.operator].of(key)[key.name] = target.name
        return found

    def _in_order(self, changed: Iterable[str]) -> list[str]:
        """Operators as the savepoint has them, and behind them those that are added."""
        chosen = set(changed)
        return [id for id in (*self._owners, *self._transfer.added) if id in chosen]

    def _new(self, id: str, moved: _Moved) -> NewOperator:
        """An operator that is added; it has the shape of the first that gives it a state."""
        like = self._owners[next(iter((*moved.keyed, *moved.managed)))].operator
        shaped = OperatorState(id, None, None, like.parallelism, like.max_parallelism, None, ())
        return NewOperator(
            self._transfer.added[id], None, like.parallelism, like.max_parallelism, self._handles(shaped, moved)
        )

    def _handles(self, operator: OperatorState, moved: _Moved) -> Handles:
        keyed = [
            keyed_transfer.Taken(source, names)
            for id, names in moved.keyed.items()
            for source in self._sources(operator, id)
        ]
        managed = [
            operator_transfer.Taken(source, names)
            for id, names in moved.managed.items()
            for source in self._owners[id].managed
        ]
        indices = self._indices(operator, moved)
        return Handles(
            {index: self._write_keyed(operator, keyed, index) for index in indices},
            {index: self._write_managed(operator, managed, index) for index in indices},
        )

    def _sources(self, operator: OperatorState, id: str) -> tuple[KeyedSource, ...]:
        other = self._owners[id].operator
        if other.max_parallelism != operator.max_parallelism:
            raise self._refused(
                f"keyed state cannot go from operator {id} to {operator.id}",
                f"their max parallelisms are {other.max_parallelism} and {operator.max_parallelism}: a key is in another key "
                "group there",
            )
        return self._owners[id].keyed

    def _indices(self, operator: OperatorState, moved: _Moved) -> Sequence[int]:
        """The subtasks that are written: all where state comes from elsewhere or has other keys, else those running."""
        if operator.id in self._transfer.keys or {*moved.keyed, *moved.managed} - {operator.id}:
            return range(operator.parallelism)
        return [subtask.index for subtask in operator.subtasks if not subtask.finished]

    def _write_keyed(self, operator: OperatorState, taken: list[keyed_transfer.Taken], index: int) -> KeyGroups | None:
        groups = key_groups_of_subtask(operator.max_parallelism, operator.parallelism, index)
        return write_keyed_state(taken, groups, self._fresh_file(), self._tally)

    def _write_managed(
        self, operator: OperatorState, taken: list[operator_transfer.Taken], index: int
    ) -> OperatorStream | None:
        mine = list(of_subtask(taken, index, operator.parallelism))
        return write_operator_state(mine, self._fresh_file(), self._tally.written)

    def _fresh_file(self) -> str:
        """A name as Flink gives them, which no file of another savepoint has."""
        return os.path.join(self._folder, str(uuid4()))

    def _refused(self, what: str, why: str) -> NotWritten:
        return NotWritten(what, path=self._savepoint.path, why=why, advice="Change the recipe.")
