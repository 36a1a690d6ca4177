"""Splits the keys of entries in canonical savepoints: key group, key, namespace and, for a map, the map key.

Flink: `CompositeKeySerializationUtils`, and `TimerSerializer` for timers.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.contents import prefix_of
from compat.state.flink.forms import ROW_DATA, Unconvertible, form_of
from compat.state.flink.headers import NAMESPACE, QUEUE, VALUES, BackendHeader, StateMeta
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.values import Read, Undecodable, decoder_of

TIME = 8
"""The bytes of a point in time, such as that of a timer or of a last use."""
_TIMER_PARTS = 2


class KeyParts(NamedTuple):
    """The parts of an entry's key: for a timer, first its time; then the key, the namespace, and for a map the map key."""

    time: bytes
    key: bytes
    namespace: bytes
    map_key: bytes


class KeyLayout(Struct, frozen=True):
    """The layout of the keys of a state's entries. ``variable`` says that namespaces have no fixed length."""

    prefix: int
    queue: bool
    key: Read
    namespace: Read
    variable: bool
    ambiguous: bool

    def split(self, data: bytes, path: str) -> KeyParts:
        """The parts of a key, without the lengths after them. Raises a `SavepointError` for damaged bytes."""
        reader = ByteReader(data, path, start=self.prefix)
        time = reader.raw(TIME, "a time") if self.queue else b""
        key, namespace = self._part(reader, self.key), self._part(reader, self.namespace)
        return KeyParts(time, key, namespace, reader.raw(reader.remaining, "a map key"))

    def joined(self, group: int, parts: KeyParts, *, ambiguous: bool) -> bytes:
        """The key of some parts in a key group. ``ambiguous`` if lengths follow key and namespace."""
        key, namespace = parts.key, parts.namespace
        if ambiguous:
            key, namespace = key + _length(key), namespace + _length(namespace)
        return b"".join((group.to_bytes(self.prefix, "big"), parts.time, key, namespace, parts.map_key))

    def _part(self, reader: ByteReader, read: Read) -> bytes:
        begin = reader.position
        read(reader)
        found = reader.data[begin : reader.position]
        if self.ambiguous:
            reader.raw(len(_length(found)), "a length")
        return found


def key_layout(header: BackendHeader, meta: StateMeta, max_parallelism: int) -> KeyLayout:
    """The layout of a state's keys. Raises Unconvertible for parts that cannot be read."""
    if meta.type == QUEUE:
        timer = meta.serializer(VALUES)
        if timer is None or len(timer.nested) != _TIMER_PARTS:
            raise Unconvertible("timers of an unknown serializer")
        key, namespace = timer.nested
    else:
        key, namespace = (_required(one) for one in (header.key_serializer, meta.serializer(NAMESPACE)))
    variable = is_variable(namespace)
    queue = meta.type == QUEUE
    ambiguous = variable and is_variable(key) and not queue
    return KeyLayout(prefix_of(max_parallelism), queue, form_of(key).read, form_of(namespace).read, variable, ambiguous)


def _required(found: SerializerSnapshot | None) -> SerializerSnapshot:
    if found is None:
        raise Unconvertible("keys without a serializer")
    return found


def is_variable(serializer: SerializerSnapshot) -> bool:
    """True if values of a serializer have no fixed length. Raises Unconvertible for an unknown serializer."""
    if serializer.serializer == ROW_DATA:
        return True
    try:
        return decoder_of(serializer).length < 0
    except Undecodable as error:
        raise Unconvertible(f"{error} cannot be read here") from None


def _length(part: bytes) -> bytes:
    """The length that stands behind a part of an ambiguous key, lowest byte first, in as many bytes as it needs."""
    return len(part).to_bytes(max(1, -(-len(part).bit_length() // 8)), "little")
