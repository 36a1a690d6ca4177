"""The whole state of a savepoint, entry by entry, typed.

    savepoint = read_metadata("savepoint-1a2b3c")
    for state in stored_states(savepoint):                 # what there is: names, kinds, types; state files open for headers
        print(state.operator_name, state.name, state.kind, state.value_type, state.problem)
    for entry in entries(savepoint, lambda state: state.name == "total"):
        print(entry.state.operator_id, entry.key_group, entry.key, entry.value)

Values come from the serializers that the savepoint records: no JVM, no class of the program, and nothing is unpickled. For
Flink, a state of PyFlink's process mode is a list or a map of byte arrays; only the program's declared types say what these
hold. Entries come one by one, key group by key group, so a savepoint may be larger than the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from compat.state.flink.errors import SavepointError
from compat.state.flink.handles import Incremental, Keyed, KeyGroups, OperatorStream
from compat.state.flink.headers import KIND, QUEUE, BackendHeader, StateMeta
from compat.state.flink.heap_groups import UnknownState, heap_groups
from compat.state.flink.keyed_entries import (
    KeyedLayout,
    Undecoded,
    is_framed,
    layouts_of,
    read_keyed,
    read_tables,
)
from compat.state.flink.operator_entries import read_broadcast, read_list
from compat.state.flink.raw_timers import raw_timers, timer_services
from compat.state.flink.savepoint import OperatorState, Savepoint, SubtaskState
from compat.state.flink.states import HeaderReader
from compat.state.flink.values import Undecodable, decoder_of
from compat.state.names import EVENT_TIMERS, PROCESSING_TIMERS, PYTHON_PREFIX
from compat.state.types import TypeInformation, Types

__all__ = ["EntryKind", "StateEntry", "StoredState", "Undecoded", "entries", "stored_states"]


class EntryKind(StrEnum):
    """The kind of state that an entry belongs to."""

    VALUE = "value"
    LIST = "list"
    REDUCING = "reducing"
    AGGREGATING = "aggregating"
    MAP = "map"
    EVENT_TIMER = "event-timer"
    PROCESSING_TIMER = "processing-timer"
    SPLIT = "split"
    UNION = "union"
    BROADCAST = "broadcast"

    @property
    def keyed(self) -> bool:
        """Whether its entries belong to keys."""
        return self not in (EntryKind.SPLIT, EntryKind.UNION, EntryKind.BROADCAST)

    @property
    def timers(self) -> bool:
        """Whether its entries are timers."""
        return self in (EntryKind.EVENT_TIMER, EntryKind.PROCESSING_TIMER)


class StoredState(Struct, frozen=True):
    """One state of an operator.

    ``name`` is Flink's. A type is None if the state has no such part (no namespace, no map key), or if only a class of the
    program could read it: then entries have ``Undecoded`` there. ``value_type`` is that of a list's elements, a map's values, a
    timer's time. ``ttl`` says that values have a time of last use. If the state cannot be read, ``problem`` says why it has no
    entries here; otherwise it is None.
    """

    operator_id: str
    operator_name: str | None
    operator_uid: str | None
    name: str
    kind: EntryKind
    key_type: TypeInformation | None = None
    namespace_type: TypeInformation | None = None
    map_key_type: TypeInformation | None = None
    value_type: TypeInformation | None = None
    ttl: bool = False
    problem: str | None = None

    @property
    def declared_name(self) -> str:
        """The name in the program, without the prefix of PyFlink's process mode."""
        return self.name.removeprefix(PYTHON_PREFIX)


class StateEntry(Struct, frozen=True):
    """One entry: a value, a whole list, an entry of a map, a timer, an element of an operator state.

    ``key_group`` is Flink's, None for operator state; ``subtask`` the one that wrote the entry. ``value`` of a keyed list is
    the list of its elements, of a timer its time in milliseconds. ``last_used`` are times in milliseconds, if there is a time
    to live: one for each element of a list, one for any other value.
    """

    state: StoredState
    subtask: int
    key_group: int | None
    key: Any
    namespace: Any
    map_key: Any
    value: Any
    last_used: tuple[int, ...] = ()


Wanted = Callable[[StoredState], bool]


def stored_states(savepoint: Savepoint, headers: HeaderReader | None = None) -> tuple[StoredState, ...]:
    """All states of a savepoint, each once. Raises nothing: the reason why one is unreadable is its ``problem``."""
    headers = headers or HeaderReader(savepoint)
    found: dict[tuple[str, str, bool], StoredState] = {}
    for operator in savepoint.operators:
        for subtask in operator.subtasks:
            for state in _of_subtask(savepoint, operator, subtask, headers):
                key = (state.operator_id, state.name, state.kind.keyed)
                before = found.get(key)
                # A problem of one subtask is one of the state: half of a state is useless.
                if before is None or (before.problem is None and state.problem is not None):
                    found[key] = state
    return tuple(found.values())


def entries(savepoint: Savepoint, wanted: Wanted | None = None) -> Iterator[StateEntry]:
    """The entries of the wanted states; of all that can be read without it. States with a ``problem`` have none.

    A broadcast state is given once, as every subtask holds all of it. Raises a `SavepointError` for damaged bytes and missing
    files, with the entries before the place given.
    """
    headers = HeaderReader(savepoint)
    states = {
        (state.operator_id, state.name, state.kind.keyed): state
        for state in stored_states(savepoint, headers)
        if state.problem is None and (wanted is None or wanted(state))
    }
    for operator in savepoint.operators:
        shared: set[str] = set()
        for subtask in operator.subtasks:
            if isinstance(subtask.managed_keyed, KeyGroups | Incremental):
                yield from _keyed_entries(savepoint, operator, subtask, subtask.managed_keyed, headers, states)
            if isinstance(subtask.raw_keyed, KeyGroups):
                yield from _raw_entries(savepoint, operator, subtask, subtask.raw_keyed, states)
            if subtask.managed_operator is not None:
                yield from _operator_entries(
                    savepoint, operator, subtask, subtask.managed_operator, headers, states, shared
                )


States = dict[tuple[str, str, bool], StoredState]


def _keyed_entries(
    savepoint: Savepoint,
    operator: OperatorState,
    subtask: SubtaskState,
    handle: KeyGroups | Incremental,
    headers: HeaderReader,
    states: States,
) -> Iterator[StateEntry]:
    header = headers.keyed(handle)
    if header is None:
        return
    mine = [states.get((operator.id, meta.name, True)) for meta in header.states]
    wanted = frozenset(number for number, state in enumerate(mine) if state is not None)
    if not wanted:
        return
    read = (
        read_keyed(savepoint, handle, header, operator.max_parallelism, wanted)
        if isinstance(handle, KeyGroups)
        else (read_tables(savepoint, handle, header, operator.max_parallelism, wanted))
    )
    for one in read:
        state = mine[one.state]
        assert state is not None
        yield StateEntry(state, subtask.index, one.key_group, one.key, one.namespace, one.map_key, one.value, one.times)


def _raw_entries(
    savepoint: Savepoint, operator: OperatorState, subtask: SubtaskState, handle: KeyGroups, states: States
) -> Iterator[StateEntry]:
    """The timers that are raw keyed state, if any of them are wanted."""
    if not any(id == operator.id and state.kind.timers for (id, _, _), state in states.items()):
        return
    services = timer_services(savepoint, handle)
    for timer in raw_timers(savepoint, handle):
        one = timer.entry
        state = states.get((operator.id, _timer_state(services[one.state].name, event_time=timer.event_time), True))
        if state is not None:
            yield StateEntry(state, subtask.index, one.key_group, one.key, one.namespace, None, one.value)


def _operator_entries(
    savepoint: Savepoint,
    operator: OperatorState,
    subtask: SubtaskState,
    handle: OperatorStream,
    headers: HeaderReader,
    states: States,
    shared: set[str],
) -> Iterator[StateEntry]:
    header = headers.operator(handle)
    if header is None:
        return
    metas = {meta.name: meta for meta in (*header.states, *header.broadcast_states)}
    for partition in handle.partitions:
        state = states.get((operator.id, partition.name, False))
        if state is None or partition.name not in metas or partition.name in shared:
            continue
        meta = metas[partition.name]
        if state.kind is EntryKind.BROADCAST:
            shared.add(partition.name)
            for key, value in read_broadcast(savepoint, handle, header, meta, partition):
                yield StateEntry(state, subtask.index, None, None, None, key, value)
        else:
            for value in read_list(savepoint, handle, header, meta, partition):
                yield StateEntry(state, subtask.index, None, None, None, None, value)


_MODES = {"SPLIT_DISTRIBUTE": EntryKind.SPLIT, "UNION": EntryKind.UNION, "BROADCAST": EntryKind.BROADCAST}


def _of_subtask(
    savepoint: Savepoint, operator: OperatorState, subtask: SubtaskState, headers: HeaderReader
) -> Iterator[StoredState]:
    if subtask.managed_keyed is not None:
        yield from _keyed_states(savepoint, operator, subtask.managed_keyed, headers)
    if subtask.raw_keyed is not None:
        yield from _raw_states(savepoint, operator, subtask.raw_keyed)
    if subtask.managed_operator is not None:
        yield from _operator_states(operator, subtask.managed_operator, headers)
    if subtask.raw_operator is not None:
        yield _problem(operator, "raw operator state", EntryKind.SPLIT, "raw state, which only its operator can read")


def _raw_states(savepoint: Savepoint, operator: OperatorState, handle: Keyed) -> Iterator[StoredState]:
    problem = "raw state, which only its operator can read"
    try:
        services = timer_services(savepoint, handle) if isinstance(handle, KeyGroups) else None
    except SavepointError as error:
        problem, services = str(error), None
    except Undecodable as error:
        problem, services = f"{error}, which only its operator can read", None
    if services is None:
        yield _problem(operator, "raw keyed state", EntryKind.VALUE, problem)
        return
    for service in services:
        for event_time in (True, False):
            yield StoredState(
                operator.id,
                operator.name,
                operator.uid,
                _timer_state(service.name, event_time=event_time),
                EntryKind.EVENT_TIMER if event_time else EntryKind.PROCESSING_TIMER,
                key_type=service.key.type,
                namespace_type=service.namespace.type,
                value_type=Types.LONG(),
            )


def _timer_state(service: str, *, event_time: bool) -> str:
    """The name of the state that the timers of a service are elsewhere."""
    return f"{EVENT_TIMERS if event_time else PROCESSING_TIMERS}{service}"


def _problem(operator: OperatorState, name: str, kind: EntryKind, problem: str) -> StoredState:
    return StoredState(operator.id, operator.name, operator.uid, name, kind, problem=problem)


def _keyed_states(
    savepoint: Savepoint, operator: OperatorState, handle: Keyed, headers: HeaderReader
) -> Iterator[StoredState]:
    try:
        header = headers.keyed(handle)
    except SavepointError as error:
        yield _problem(operator, "keyed state", EntryKind.VALUE, str(error))
        return
    problem = None if isinstance(handle, KeyGroups | Incremental) else _CHANGES
    if header is None:
        yield _problem(operator, "keyed state", EntryKind.VALUE, problem or "it has no header")
        return
    if header.unreadable is not None:
        problem = problem or f"its header cannot be read to its end: {header.unreadable.what}"
    unknown = _beyond(savepoint, operator, handle, header) if problem is None else {}
    for number, (meta, layout) in enumerate(zip(header.states, layouts_of(header), strict=True)):
        found = problem or unknown.get(number)
        if problem is None and isinstance(handle, Incremental) and meta.type == "KEY_VALUE_V2":
            found = _ASYNCHRONOUS
        yield _keyed_state(operator, meta, layout, found)


def _beyond(savepoint: Savepoint, operator: OperatorState, handle: Keyed, header: BackendHeader) -> Mapping[int, str]:
    """Why some states are not read, by their numbers: in the heap's own form they stand behind one that cannot be."""
    if not isinstance(handle, KeyGroups) or is_framed(savepoint, handle):
        return {}
    groups = heap_groups(savepoint, handle, header, operator.max_parallelism)
    unknown = next((one for one in groups.states if isinstance(one, UnknownState)), None)
    if unknown is None:
        return {}
    why = f"the heap's layout has no lengths, and {unknown.why} in `{unknown.name}`"
    try:
        read = groups.before_unknown()
    except SavepointError as error:
        why, read = str(error), frozenset()
    return {number: why for number in range(len(header.states)) if number not in read}


_CHANGES = "it is a log of changes; take a canonical savepoint of the job (flink savepoint --type canonical)"
_ASYNCHRONOUS = "it is state of the second API in files of its backend, whose keys nobody has looked at here"


def _kind(meta: StateMeta) -> EntryKind:
    if meta.type == QUEUE:
        return EntryKind.EVENT_TIMER if meta.name.startswith(EVENT_TIMERS) else EntryKind.PROCESSING_TIMER
    found = (meta.option(KIND) or "VALUE").lower()
    return EntryKind(found) if found in set(EntryKind) else EntryKind.VALUE


def _keyed_state(
    operator: OperatorState, meta: StateMeta, layout: KeyedLayout | Undecodable, problem: str | None
) -> StoredState:
    kind = _kind(meta)
    if isinstance(layout, Undecodable):
        return StoredState(operator.id, operator.name, operator.uid, meta.name, kind, problem=problem)
    return StoredState(
        operator.id,
        operator.name,
        operator.uid,
        meta.name,
        kind,
        key_type=layout.key.type,
        namespace_type=layout.namespace.type,
        map_key_type=layout.map_key.type if layout.map_key is not None else None,
        value_type=Types.LONG() if kind.timers else layout.value.type,
        ttl=layout.ttl,
        problem=problem,
    )


def _operator_states(operator: OperatorState, handle: OperatorStream, headers: HeaderReader) -> Iterator[StoredState]:
    problem = None
    header: BackendHeader | None = None
    try:
        header = headers.operator(handle)
    except SavepointError as error:
        problem = str(error)
    if header is None and problem is None:
        return
    metas = {meta.name: meta for meta in (*header.states, *header.broadcast_states)} if header is not None else {}
    for partition in handle.partitions:
        meta = metas.get(partition.name)
        kind = _MODES[partition.mode]
        if meta is None:
            why = problem or (header.unreadable.what if header is not None and header.unreadable else "")
            yield _problem(operator, partition.name, kind, f"its header cannot be read: {why}")
            continue
        yield _operator_state(operator, meta, kind)


def _operator_state(operator: OperatorState, meta: StateMeta, kind: EntryKind) -> StoredState:
    key_type = value_type = problem = None
    try:
        value = meta.serializer("VALUE_SERIALIZER")
        if value is None:
            raise Undecodable("a state without a serializer")
        value_type = decoder_of(value).type
        key = meta.serializer("KEY_SERIALIZER")
        if kind is EntryKind.BROADCAST and key is not None:
            key_type = decoder_of(key).type
    except Undecodable as error:
        problem = f"{error} cannot be read here"
    return StoredState(
        operator.id,
        operator.name,
        operator.uid,
        meta.name,
        kind,
        map_key_type=key_type,
        value_type=value_type,
        problem=problem,
    )
