"""The states of operators: the headers of all subtasks' streams, opened and put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from compat.state.flink.errors import SavepointError, TruncatedSavepoint, UnknownOperator
from compat.state.flink.handles import (
    Changelog,
    EmptySegment,
    Incremental,
    InlineBytes,
    Keyed,
    KeyGroups,
    OperatorStream,
    RelativeFile,
    Segment,
    Stream,
)
from compat.state.flink.headers import MODE, BackendHeader, StateMeta, read_keyed_header, read_operator_header
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.streams import read_window

FIRST_READ = 1 << 16
LONGEST_HEADER = 1 << 22
"""The maximum bytes of a header. Headers are a few KiB; jobs with hundreds of states stay below a megabyte."""

_ONLY_CHANGES = "keyed state that is nothing but a log of changes, which names no states ahead"
_READERS: dict[str, Callable[..., BackendHeader]] = {
    "keyed": read_keyed_header,
    "operator": read_operator_header,
}


class OperatorStates(Struct, frozen=True):
    """The states of one operator, each once although every subtask has it.

    `keyed` holds key-value states and timers, `lists` the split and union states, `broadcast` the broadcast
    states. `unreadable` says, for each header that could not be read to its end, why; states may then be
    missing here.
    """

    key_serializer: SerializerSnapshot | None
    keyed: tuple[StateMeta, ...]
    lists: tuple[StateMeta, ...]
    broadcast: tuple[StateMeta, ...]
    unreadable: tuple[str, ...]


@dataclass(slots=True)
class HeaderReader:
    """Reads headers of one savepoint, each distinct one once.

    The subtasks of an operator write the same header. A comparison of the bytes recognises this, so that many subtasks take
    only the time of reading, not of parsing. `described` lets callers convert each header only once, too: it has their results
    by the header's `id`, beside the header, so that it stays alive.
    """

    savepoint: Savepoint
    described: dict[int, tuple[BackendHeader, dict[str, Any]]] = field(default_factory=dict)
    _latest: dict[str, tuple[bytes, BackendHeader]] = field(default_factory=dict)
    _by_place: dict[tuple[str, str, int], BackendHeader] = field(default_factory=dict)

    def keyed(self, handle: Keyed) -> BackendHeader | None:
        """The header of a keyed handle; None if it has none. Raises a `SavepointError`."""
        if isinstance(handle, KeyGroups):
            return self._read("keyed", handle.stream)
        if isinstance(handle, Incremental):
            return self._read("keyed", handle.meta)
        return None

    def operator(self, handle: OperatorStream) -> BackendHeader | None:
        """The header of an operator state handle; None if it has no bytes. Raises a `SavepointError`."""
        return self._read("operator", handle.stream)

    def written(self, handle: KeyGroups | Incremental | OperatorStream) -> bytes:
        """The bytes of a handle's header; of one that cannot be read to its end, as many as headers have at most."""
        header = self.operator(handle) if isinstance(handle, OperatorStream) else self.keyed(handle)
        stream = handle.meta if isinstance(handle, Incremental) else handle.stream
        length = LONGEST_HEADER if header is None or header.length is None else header.length
        return read_window(self.savepoint, stream, 0, min(stream.size, length))

    def _read(self, kind: str, stream: Stream) -> BackendHeader | None:
        while isinstance(stream, KeyGroups):
            stream = stream.stream
        if isinstance(stream, EmptySegment):
            return None
        if isinstance(stream, InlineBytes):
            return self._parse(kind, stream.data, stream.name, whole=True)
        name = stream.relative_path if isinstance(stream, RelativeFile) else stream.uri
        place = (kind, name, stream.start if isinstance(stream, Segment) else 0)
        if place not in self._by_place:
            self._by_place[place] = self._read_file(kind, stream, name)
        return self._by_place[place]

    def _read_file(self, kind: str, stream: Stream, name: str) -> BackendHeader:
        length = FIRST_READ
        while length < LONGEST_HEADER:
            data = read_window(self.savepoint, stream, 0, length)
            try:
                return self._parse(kind, data, name, whole=len(data) < length)
            except TruncatedSavepoint:
                length *= 8
        return self._parse(kind, read_window(self.savepoint, stream, 0, LONGEST_HEADER), name, whole=True)

    def _parse(self, kind: str, data: bytes, name: str, *, whole: bool) -> BackendHeader:
        known, header = self._latest.get(kind, (b"", None))
        if header is not None and data.startswith(known):
            return header
        header = _READERS[kind](data, name, whole=whole)
        if header.length:
            self._latest[kind] = (data[: header.length], header)
        return header


def read_states(
    savepoint: Savepoint, operator: OperatorState | str, headers: HeaderReader | None = None
) -> OperatorStates:
    """Read which states an operator has, from the headers of all its subtasks.

    `operator` is one of `savepoint.operators`, or an id, uid or name; `headers` is a reader to share with other
    operators. Raises `UnknownOperator`. The result names other states that cannot be read, so that the readable ones are not
    lost.
    """
    found = find_operator(savepoint, operator) if isinstance(operator, str) else operator
    headers = headers or HeaderReader(savepoint)
    merged = _Merged()
    for subtask in found.subtasks:
        if subtask.managed_keyed is not None:
            handles = tuple(with_headers(subtask.managed_keyed))
            if not handles:
                merged.unreadable[_ONLY_CHANGES] = None
            for handle in handles:
                merged.add_keyed(handle, headers)
        if subtask.managed_operator is not None:
            merged.add_operator(subtask.managed_operator, headers)
    return merged.finish()


def find_operator(savepoint: Savepoint, wanted: str) -> OperatorState:
    """The operator with this id, uid or name, in that order. Raises `UnknownOperator`, also if two fit."""
    for attribute in ("id", "uid", "name"):
        found = [o for o in savepoint.operators if getattr(o, attribute) == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownOperator(
                f"{len(found)} operators have the {attribute} `{wanted}`",
                path=savepoint.path,
                advice="Name one by its id.",
            )
    raise UnknownOperator(f"no operator with the id, uid or name `{wanted}`", path=savepoint.path)


def with_headers(handle: Keyed) -> Iterator[Keyed]:
    """The handles in `handle` that have a header: itself, or what a changelog has materialized."""
    if isinstance(handle, Changelog):
        for inner in handle.materialized:
            yield from with_headers(inner)
    elif isinstance(handle, KeyGroups | Incremental):
        yield handle


@dataclass(slots=True)
class _Merged:
    key_serializer: SerializerSnapshot | None = None
    keyed: dict[str, StateMeta] = field(default_factory=dict)
    lists: dict[str, StateMeta] = field(default_factory=dict)
    broadcast: dict[str, StateMeta] = field(default_factory=dict)
    unreadable: dict[str, None] = field(default_factory=dict)

    def add_keyed(self, handle: Keyed, headers: HeaderReader) -> None:
        header = self._try(lambda: headers.keyed(handle))
        if header is None:
            return
        self.key_serializer = self.key_serializer or header.key_serializer
        for state in header.states:
            self.keyed.setdefault(state.name, state)

    def add_operator(self, handle: OperatorStream, headers: HeaderReader) -> None:
        header = self._try(lambda: headers.operator(handle))
        for state in header.states if header else ():
            self.lists.setdefault(state.name, state)
        for state in header.broadcast_states if header else ():
            self.broadcast.setdefault(state.name, state)
        # The metadata names operator states too: those are known even if the header is not.
        for partition in handle.partitions:
            into, kind = (self.broadcast, "BROADCAST") if partition.mode == "BROADCAST" else (self.lists, "OPERATOR")
            options = ((MODE, partition.mode),)
            into.setdefault(partition.name, StateMeta(partition.name, kind, options, ()))

    def finish(self) -> OperatorStates:
        return OperatorStates(
            self.key_serializer,
            tuple(self.keyed.values()),
            tuple(self.lists.values()),
            tuple(self.broadcast.values()),
            tuple(self.unreadable),
        )

    def _try(self, read: Callable[[], BackendHeader | None]) -> BackendHeader | None:
        try:
            header = read()
        except SavepointError as error:
            self.unreadable[error.what + (f" ({error.why})" if error.why else "")] = None
            return None
        if header is not None and header.unreadable is not None:
            self.unreadable[header.unreadable.what] = None
        return header
