"""Writes the state files of a transfer, and counts what was written; where there is much state, a crew divides the work."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import uuid4

from msgspec.structs import replace

from compat.state.flink import keyed_transfer, operator_transfer
from compat.state.flink.backends import keyed_format
from compat.state.flink.crew import Crew, Phase
from compat.state.flink.errors import NotWritten, UnknownOperator
from compat.state.flink.formats import KeyedFormat
from compat.state.flink.handles import KeyGroups, OperatorStream
from compat.state.flink.header_parts import Field, StateKey
from compat.state.flink.keyed_transfer import KeyedSource, write_keyed_state
from compat.state.flink.operator_transfer import of_subtask, write_operator_state
from compat.state.flink.owners import Owner
from compat.state.flink.remapping import writing
from compat.state.flink.rewriting import Changes, Handles, NewOperator
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.states import HeaderReader
from compat.state.flink.tally import Tally
from compat.state.flink.transfer import StateTarget, Transfer, Transferred
from compat.state.key_groups import key_groups_of_subtask

ALONE = Crew()
_FIRST_WITH_SUBTASKS = 3
"""The first format of the metadata whose subtasks can be rewritten: that of Flink 1.11."""


Watch = Callable[[str, int, Callable[[], int]], AbstractContextManager[object]]
"""Shows how far work is until it is left. It is given what is done, to how many bytes, and what tells how many it is at."""


def unwatched(doing: str, size: int, done: Callable[[], int]) -> AbstractContextManager[object]:
    """Shows nothing."""
    return nullcontext()


def write_states(
    savepoint: Savepoint, transfer: Transfer, folder: str, crew: Crew = ALONE, watch: Watch = unwatched
) -> Transferred:
    """Write the state files of the operators whose states change into a folder that is there.

    For several processes the transfer and the savepoint are pickled. Other machines of the crew are given the same savepoint,
    transfer and folder. Raises `UnknownOperator` for an operator that is not there, `NotWritten` for state that cannot be
    rewritten, and other `SavepointError` for what cannot be read.
    """
    with writing(folder), _aside(folder, crew) as aside:
        return _Writing(savepoint, transfer, folder, aside).run(crew, watch)


def count_entries(
    savepoint: Savepoint, operators: Collection[str], crew: Crew = ALONE, watch: Watch = unwatched
) -> Counter[StateKey]:
    """The entries of the managed states of some operators, read one by one; if the crew has several machines, only its leader
    gets all of them, and the rest those that they read. Raises as `write_states` does.
    """
    subtasks = [
        replace(operator, coordinator=None, subtasks=(subtask,))
        for operator in savepoint.operators
        if operator.id in operators
        for subtask in operator.subtasks
    ]
    size = sum(one.size for one in subtasks)
    counting = Phase("counted", _Counting(savepoint), Counter[StateKey], size, last=True)
    found: Counter[StateKey] = Counter()
    read = 0
    with watch("Reading it back", size, lambda: read):
        for subtask, counted in crew.results(counting, subtasks, savepoint.folder):
            found.update(counted)
            read += subtask.size
    return found


@contextmanager
def _aside(folder: str, crew: Crew) -> Iterator[str]:
    """A folder for what stands between old and new keys: one that other machines read stays as long as theirs."""
    if crew.shared:
        yield os.path.join(folder, "aside")
        return
    with TemporaryDirectory(dir=folder) as aside:
        yield aside


class _Counting:
    """Counts the entries of an operator, by their states."""

    def __init__(self, savepoint: Savepoint) -> None:
        self._savepoint = savepoint
        self._headers = HeaderReader(savepoint)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._savepoint,)

    def __call__(self, operator: OperatorState) -> Counter[StateKey]:
        owner = Owner(self._headers, operator, Transfer())
        found: Counter[StateKey] = Counter()
        for source in owner.sources:
            keys = [StateKey(operator.id, name, True) for name in source.names]
            groups = source.groups
            found.update(keys[entry.state] for group in groups.numbers for entry in groups.entries(group))
        for managed in owner.managed:
            for partition in managed.handle.partitions:
                found[StateKey(operator.id, partition.name, False)] += len(partition.offsets)
        return found


Names = dict[str, str]
"""Names of states, with their new names."""


class _Moved(NamedTuple):
    """The states that an operator has afterwards, by those that have them now: keyed state, and operator state."""

    keyed: dict[str, Names]
    managed: dict[str, Names]

    @property
    def owners(self) -> set[str]:
        """The operators that have these states now."""
        return {*self.keyed, *self.managed}

    def of(self, key: StateKey) -> Names:
        """The states of its kind that are those of one operator now."""
        return (self.keyed if key.keyed else self.managed).setdefault(key.operator, {})


class _Share(NamedTuple):
    """What one process writes at once: the state of a subtask; or, where keys become others, what it puts aside before, of
    the subtask with this place among those that have keyed state."""

    operator: str
    subtask: int


class _Shared(NamedTuple):
    """The new handles of a subtask, and the counts of their entries."""

    keyed: KeyGroups | None
    managed: OperatorStream | None
    tally: Tally


class _Writing:
    """Writes the states of a transfer into a folder; what stands between the old and the new keys is put into ``aside``.

    In another process it is made anew: it gets to the same states by the same headers.
    """

    def __init__(self, savepoint: Savepoint, transfer: Transfer, folder: str, aside: str) -> None:
        self._savepoint = savepoint
        self._transfer = transfer
        self._folder = folder
        self._aside = aside
        self._headers = HeaderReader(savepoint)
        self._owners = {one.id: Owner(self._headers, one, transfer, aside) for one in savepoint.operators}

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._savepoint, self._transfer, self._folder, self._aside)

    def run(self, crew: Crew, watch: Watch) -> Transferred:
        self._require()
        tally = Tally()
        owners = {id for moved in self._moved.values() for id in moved.owners}
        size = sum(self._owners[id].operator.size for id in owners)
        keyed: dict[str, dict[int, KeyGroups | None]] = {id: {} for id in self._moved}
        managed: dict[str, dict[int, OperatorStream | None]] = {id: {} for id in self._moved}
        with watch("Writing state", size, partial(_bytes_in, self._folder)):
            for _, aside in crew.results(Phase("aside", self.spill, Tally, size), self._spilled(), self._folder):
                tally.add(aside)
            for share, written in crew.results(
                Phase("written", self.write, _Shared, size), self._shares(), self._folder
            ):
                keyed[share.operator][share.subtask] = written.keyed
                managed[share.operator][share.subtask] = written.managed
                tally.add(written.tally)
        handles = {id: Handles(keyed[id], managed[id]) for id in self._moved}
        changes = Changes(
            ids=self._transfer.ids,
            dropped=self._transfer.dropped,
            handles={id: one for id, one in handles.items() if id in self._owners},
            added=tuple(self._added(id, one) for id, one in handles.items() if id not in self._owners),
            coordinators=self._transfer.coordinators,
        )
        return Transferred(changes, tally, frozenset[str | Field]().union(*self._types.values()))

    def spill(self, share: _Share) -> Tally:
        """Put the entries of a subtask aside, under their new keys."""
        return self._owners[share.operator].spill(share.subtask)

    def write(self, share: _Share) -> _Shared:
        """Write the state of a subtask."""
        tally, moved, operator = Tally(), self._moved[share.operator], self._shape(share.operator)
        keyed = [
            keyed_transfer.Taken(source, names)
            for id, names in moved.keyed.items()
            for source in self._sources(operator, id, tally)
        ]
        managed = [
            operator_transfer.Taken(source, names)
            for id, names in moved.managed.items()
            for source in self._owners[id].managed
        ]
        groups = key_groups_of_subtask(operator.max_parallelism, operator.parallelism, share.subtask)
        mine = list(of_subtask(managed, share.subtask, operator.parallelism))
        return _Shared(
            write_keyed_state(keyed, groups, self._fresh_file(), tally),
            write_operator_state(mine, self._fresh_file(), tally.written),
            tally,
        )

    def _spilled(self) -> list[_Share]:
        """The subtasks whose keys become others."""
        wanted = dict.fromkeys(id for moved in self._moved.values() for id in moved.keyed if id in self._transfer.keys)
        return [_Share(id, number) for id in wanted for number in range(len(self._owners[id].sources))]

    def _shares(self) -> list[_Share]:
        """The subtasks that are written: all where state comes from elsewhere or has other keys, else those running."""
        found = []
        for id, moved in self._moved.items():
            operator = self._shape(id)
            every = id in self._transfer.keys or moved.owners - {id}
            running = (subtask.index for subtask in operator.subtasks if not subtask.finished)
            found += [_Share(id, index) for index in (range(operator.parallelism) if every else running)]
        return found

    def _shape(self, id: str) -> OperatorState:
        """An operator that is there, or one that is added: it has the shape of the first that gives it a state."""
        if id in self._owners:
            return self._owners[id].operator
        moved = self._moved[id]
        like = self._owners[next(iter((*moved.keyed, *moved.managed)))].operator
        return OperatorState(id, None, None, like.parallelism, like.max_parallelism, None, ())

    def _added(self, id: str, handles: Handles) -> NewOperator:
        shape = self._shape(id)
        return NewOperator(self._transfer.added[id], None, shape.parallelism, shape.max_parallelism, handles)

    def _sources(self, operator: OperatorState, id: str, tally: Tally) -> tuple[KeyedSource, ...]:
        other = self._owners[id].operator
        if other.max_parallelism != operator.max_parallelism:
            raise self._refused(
                f"keyed state cannot go from operator {id} to {operator.id}",
                f"their max parallelisms are {other.max_parallelism} and {operator.max_parallelism}: a key is in another key "
                "group there",
            )
        return self._owners[id].keyed(tally)

    @cached_property
    def _types(self) -> dict[str, frozenset[str | Field]]:
        """The names of types that become others, by the operators whose headers have them; all are looked through for them."""
        named = self._transfer.types.named
        return {id: owner.met() for id, owner in self._owners.items() if named and id not in self._transfer.dropped}

    def _changed(self) -> set[str]:
        """The operators whose states are written anew."""
        changed = {id for id, met in self._types.items() if met} | self._transfer.keys.keys()
        changed |= {key.operator for key in self._transfer.converted}
        for key, target in self._transfer.states.items():
            changed |= {key.operator} if target is None else {key.operator, target.operator}
        changed |= self._in_own_formats() - self._transfer.by_flink if self._transfer.canonical else set()
        return changed - self._transfer.dropped

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

    @cached_property
    def _moved(self) -> dict[str, _Moved]:
        """The states that each of the changed operators has afterwards. Raises where two would have one name."""
        found = {id: _Moved({}, {}) for id in self._in_order(self._changed())}
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

    def _fresh_file(self) -> str:
        """A name as Flink gives them, which no file of another savepoint has."""
        return os.path.join(self._folder, str(uuid4()))

    def _refused(self, what: str, why: str) -> NotWritten:
        return NotWritten(what, path=self._savepoint.path, why=why, advice="Change the recipe.")


def _bytes_in(folder: str) -> int:
    """The bytes of the files in a folder, not of those below it."""
    with os.scandir(folder) as found:
        return sum(file.stat().st_size for file in found if file.is_file())
