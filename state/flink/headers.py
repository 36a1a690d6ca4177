"""Reads backend headers: the description of a state file's states, before any state.

All keyed backends write the same header (`KeyedBackendSerializationProxy`); operator state has another one
(`OperatorBackendSerializationProxy`). A header that cannot be read to its end gives the
states before that place, and says what stopped it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from compat.state.flink.binary import ByteReader, Part, Place
from compat.state.flink.errors import SavepointError, TruncatedSavepoint
from compat.state.flink.snapshots import SerializerSnapshot, read_snapshot

VALUES = "VALUE_SERIALIZER"
"""The name of the serializer of a state's values."""

KEYS = "KEY_SERIALIZER"
"""The name of the serializer of a broadcast state's keys."""

NAMESPACE = "NAMESPACE_SERIALIZER"
"""The name of the serializer of a keyed state's namespaces, such as windows."""

KIND = "KEYED_STATE_TYPE"
"""The option with the kind of a keyed state, such as ``LIST``."""

PARTS = {"LIST": 1, "MAP": 2}
"""The kinds of keyed states whose serializers have parts, with the number of parts."""

MODE = "OPERATOR_STATE_DISTRIBUTION_MODE"
"""The option with the distribution mode of an operator state, such as ``UNION``."""

QUEUE = "PRIORITY_QUEUE"
"""The type of states that are timers."""

STATE_TYPES = ("KEY_VALUE", "OPERATOR", "BROADCAST", QUEUE, "KEY_VALUE_V2")

_KEYED_VERSIONS = (6,)
_OPERATOR_VERSIONS = (5, 6)
FIRST_COMPRESSED_OPERATOR_VERSION = 6

Serializers = tuple[tuple[str, SerializerSnapshot], ...]


class StateMeta(Struct, frozen=True):
    """One state: `type` is one of `STATE_TYPES`, `options` and `serializers` are by Flink's own keys."""

    name: str
    type: str
    options: tuple[tuple[str, str], ...]
    serializers: Serializers

    def serializer(self, key: str) -> SerializerSnapshot | None:
        """The serializer under a key such as `VALUE_SERIALIZER`, None if there is none."""
        return dict(self.serializers).get(key)

    def option(self, key: str) -> str | None:
        """The option under a key such as `KEYED_STATE_TYPE`, None if there is none."""
        return dict(self.options).get(key)


class Unreadable(Struct, frozen=True):
    """The point where the reading of a header ended early: `offset` is the byte in the stream."""

    what: str
    offset: int


class BackendHeader(Struct, frozen=True):
    """The header of a backend's stream.

    `states` are keyed states or operator list states. `key_serializer` is None for operator state. `length`
    is the header's own length in bytes, None if `unreadable` says why the end was not reached.
    """

    version: int
    compressed: bool
    key_serializer: SerializerSnapshot | None
    states: tuple[StateMeta, ...]
    broadcast_states: tuple[StateMeta, ...]
    length: int | None
    unreadable: Unreadable | None


@dataclass(slots=True)
class _Progress:
    """The part of a header read so far, kept so that a header which ends early still gives its states."""

    version: int = 0
    compressed: bool = False
    key_serializer: SerializerSnapshot | None = None
    states: list[StateMeta] = field(default_factory=list)
    broadcast_states: list[StateMeta] = field(default_factory=list)

    def finish(self, reader: ByteReader, unreadable: Unreadable | None) -> BackendHeader:
        return BackendHeader(
            self.version,
            self.compressed,
            self.key_serializer,
            tuple(self.states),
            tuple(self.broadcast_states),
            None if unreadable else reader.position,
            unreadable,
        )


class _Stopped(Exception):
    """A snapshot of unknown layout; nothing behind it can be read."""


def read_keyed_header(
    data: bytes, path: str, *, whole: bool = True, places: list[Place] | None = None
) -> BackendHeader:
    """Read the header of a keyed backend from the start of its stream; where its parts stand goes to `places`.

    `whole` is false if `data` is only the beginning of the stream; running out of it then raises
    `TruncatedSavepoint`, so that the caller can come back with more. Otherwise nothing is raised.
    """
    reader = ByteReader(data, path, places=places)
    progress = _Progress()
    return _guarded(reader, progress, whole, lambda: _read_keyed(reader, progress))


def read_operator_header(
    data: bytes, path: str, *, whole: bool = True, places: list[Place] | None = None
) -> BackendHeader:
    """Read the header of operator state from the start of its stream; see `read_keyed_header`."""
    reader = ByteReader(data, path, places=places)
    progress = _Progress()
    return _guarded(reader, progress, whole, lambda: _read_operator(reader, progress))


def _guarded(reader: ByteReader, progress: _Progress, whole: bool, read: Callable[[], None]) -> BackendHeader:
    try:
        read()
    except _Stopped as stopped:
        return progress.finish(reader, Unreadable(str(stopped), reader.position))
    except TruncatedSavepoint as error:
        if not whole:
            raise
        return progress.finish(reader, _because(error, reader))
    except SavepointError as error:
        return progress.finish(reader, _because(error, reader))
    return progress.finish(reader, None)


def _because(error: SavepointError, reader: ByteReader) -> Unreadable:
    why = f" ({error.why})" if error.why else ""
    return Unreadable(error.what + why, reader.position if error.offset is None else error.offset)


def _read_keyed(reader: ByteReader, progress: _Progress) -> None:
    progress.version = _read_version(reader, _KEYED_VERSIONS)
    progress.compressed = reader.boolean()
    begin = reader.position
    progress.key_serializer = read_snapshot(reader)
    reader.note(Part.KEY_SERIALIZER, begin)
    _stop_if_incomplete(progress.key_serializer, "the key serializer")
    _read_states(reader, progress.states)


def _read_operator(reader: ByteReader, progress: _Progress) -> None:
    progress.version = _read_version(reader, _OPERATOR_VERSIONS)
    if progress.version >= FIRST_COMPRESSED_OPERATOR_VERSION:
        progress.compressed = reader.boolean()
    _read_states(reader, progress.states)
    _read_states(reader, progress.broadcast_states)


def _read_version(reader: ByteReader, known: tuple[int, ...]) -> int:
    version = reader.integer()
    if version not in known:
        reader.damaged(f"backend header version {version}", "Flink before 1.8, or bytes of another kind")
    return version


def _read_states(reader: ByteReader, into: list[StateMeta]) -> None:
    for _ in range(reader.short()):
        into.append(_read_state(reader))
        for key, snapshot in into[-1].serializers:
            _stop_if_incomplete(snapshot, f"{key} of state `{into[-1].name}`")


def _read_state(reader: ByteReader) -> StateMeta:
    """The layout of `StateMetaInfoSnapshotReadersWriters`; ends behind a serializer that is not complete."""
    begin = reader.position
    name = reader.utf()
    reader.note(Part.STATE_NAME, begin)
    ordinal = reader.integer()
    if not 0 <= ordinal < len(STATE_TYPES):
        reader.damaged(f"state type {ordinal} of state `{name}`", f"known are 0 to {len(STATE_TYPES) - 1}")
    number = reader.count("options", 4)
    options = tuple(_read_option(reader) for _ in range(number))
    number = reader.count("serializers", 12)
    serializers: list[tuple[str, SerializerSnapshot]] = []
    for _ in range(number):
        key, at = reader.utf(), reader.position
        serializers.append((key, read_snapshot(reader)))
        reader.note(Part.SERIALIZER, at, key)
        if not serializers[-1][1].complete:
            break
    reader.note(Part.STATE, begin)
    return StateMeta(name, STATE_TYPES[ordinal], options, tuple(serializers))


def _read_option(reader: ByteReader) -> tuple[str, str]:
    name, begin = reader.utf(), reader.position
    value = reader.utf()
    reader.note(Part.OPTION, begin, name)
    return name, value


def _stop_if_incomplete(snapshot: SerializerSnapshot, place: str) -> None:
    if not snapshot.complete:
        unknown = _innermost(snapshot)
        raise _Stopped(f"{place} holds `{unknown.class_name}`, {unknown.unknown}: what follows is unknown")


def _innermost(snapshot: SerializerSnapshot) -> SerializerSnapshot:
    while snapshot.unknown is None and snapshot.nested:
        snapshot = snapshot.nested[-1]
    return snapshot
