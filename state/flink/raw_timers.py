"""Timers in raw keyed state: checkpoints keep them there if RocksDB has the state and the heap the timers.

Each key group has all timer services of the operator: a name, the serializers of keys and namespaces, the timers of event
time and those of processing time (``InternalTimerServiceSerializationProxy``, ``InternalTimersSnapshotReaderWriters``).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.contents import Place
from compat.state.flink.errors import UnreadableValue
from compat.state.flink.handles import KeyGroups
from compat.state.flink.keyed_entries import KeyedEntry
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.stream_readers import StreamReader, pieces
from compat.state.flink.values import Decoder, Undecodable, decoder_of

_BEGINNING = bytes.fromhex("f1cd859f")
_VERSION = 2
"""The version of Flink 1.7 and later."""


class TimerService(Struct, frozen=True):
    """A timer service of an operator, as each key group names it."""

    name: str
    key: Decoder
    namespace: Decoder


class RawTimer(Struct, frozen=True):
    """A timer; ``entry`` has its time as its value, and the place of its service among the operator's as its state."""

    event_time: bool
    entry: KeyedEntry


def timer_services(savepoint: Savepoint, handle: KeyGroups) -> tuple[TimerService, ...]:
    """The services whose timers are in raw keyed state.

    Raises Undecodable if it is something else, or its keys cannot be read, and a SavepointError for damaged bytes.
    """
    found: list[TimerService] = []
    for place in raw_places(handle):
        for _ in _read(savepoint, handle, place, found):
            pass
        return tuple(found)
    return ()


def raw_timers(savepoint: Savepoint, handle: KeyGroups) -> Iterator[RawTimer]:
    """The timers, key group by key group. Raises a SavepointError."""
    for place in raw_places(handle):
        try:
            yield from _read(savepoint, handle, place, [])
        except Undecodable as error:
            raise UnreadableValue(str(error), path=savepoint.path, offset=place.start) from None


def raw_places(handle: KeyGroups) -> list[Place]:
    """The key groups of a raw stream, which has no header: one may begin at its very beginning."""
    begun = sorted((offset, handle.key_groups.first + at) for at, offset in enumerate(handle.offsets) if offset >= 0)
    ends = [*(offset for offset, _ in begun), handle.size][1:]
    return [Place(number, offset, end - offset) for (offset, number), end in zip(begun, ends, strict=True)]


def _read(savepoint: Savepoint, handle: KeyGroups, place: Place, services: list[TimerService]) -> Iterator[RawTimer]:
    end = place.start + place.size
    reader = StreamReader(pieces(savepoint, handle, place.start, end), savepoint.path, origin=place.start)
    if place.size < 8 or reader.raw(4, "the beginning of timers") != _BEGINNING:
        raise Undecodable("raw state")
    version = reader.integer()
    if version != _VERSION:
        raise Undecodable(f"timers of version {version}")
    for number in range(_count(reader, "timer services")):
        name = reader.utf()
        key, namespace = read_versioned(reader, 0), read_versioned(reader, 0)
        if not (key.complete and namespace.complete):
            raise Undecodable(f"timers of {key.class_name} in {namespace.class_name}")
        service = TimerService(name, decoder_of(key), decoder_of(namespace))
        services.append(service)
        for event_time in (True, False):
            for _ in range(_count(reader, "timers")):
                owner, where = service.key.read(reader), service.namespace.read(reader)
                yield RawTimer(event_time, KeyedEntry(number, place.number, owner, where, None, reader.long(), ()))
    if not reader.at_end():
        reader.damaged("bytes behind the timers of a key group")


def _count(reader: ByteReader, what: str) -> int:
    number = reader.integer()
    if number < 0:
        reader.damaged(f"{number} {what}", "a count cannot be negative")
    return number
