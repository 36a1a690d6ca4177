"""Rewrites the positions of a Kafka source: other topics, partitions or offsets.

Flink: `KafkaPartitionSplitSerializer` for the readers' splits, and `KafkaSourceEnumStateSerializer` for the partitions that the
enumerator has found. If only the readers knew a partition's new name, the enumerator would find it once more, and it would be
read from its beginning.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.entry_conversion import Layouts, Rewrite
from compat.state.flink.file_splits import enumerator_of
from compat.state.flink.forms import Convert, Unconvertible
from compat.state.flink.header_parts import StateForm
from compat.state.flink.headers import StateMeta
from compat.state.flink.lists import Versioned
from compat.state.flink.savepoint import OperatorState
from compat.state.flink.writing import write_utf

Place = tuple[str, int]
"""A partition: its topic and its number."""

TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""The valid names of Kafka topics."""

STARTS = {"latest": -1, "earliest": -2, "committed": -3}
"""The offsets that Kafka is asked for when the partition is first read, as `KafkaPartitionSplit` keeps them."""

_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_SPLIT, _ASSIGNED, _COORDINATOR = 0, 0, 1
_SMALLEST = 6
_OF_TOPICS, _WITH_STATUS, _WITH_SPLITS = 1, 2, 3


class PartitionMoves(Struct, frozen=True):
    """The moves of partitions: to other topics, by topic; to other partitions; and the next offsets."""

    topics: Mapping[str, str] = {}
    partitions: Mapping[Place, Place] = {}
    offsets: Mapping[Place, int] = {}

    def of(self, place: Place) -> Place:
        """The new partition for an old one."""
        return self.partitions.get(place, (self.topics.get(place[0], place[0]), place[1]))

    @property
    def named(self) -> tuple[Place, ...]:
        """The partitions that are named one by one."""
        return (*self.partitions, *self.offsets)

    @property
    def form(self) -> StateForm:
        """An empty form: a header keeps the splits as bytes."""
        return StateForm()

    def rewriter(self, meta: StateMeta, serializer: bytes, layout: Layouts) -> Rewrite:
        """Raises Unconvertible: positions are no state of keys."""
        raise Unconvertible("the positions of a source belong to no keys")

    def converter(self, meta: StateMeta, serializer: bytes) -> Convert:
        """The function that rewrites the elements of the readers' state."""
        return lambda values: [self._element(value) for value in values]

    def _element(self, data: bytes) -> bytes:
        """An element of a `SimpleVersionedListState`: bytes behind their length, in these a split behind version and length."""
        reader = ByteReader(ByteReader(data, "an element").sized("a split"), "a split")
        version = reader.integer()
        split = self.split(reader.sized("a split"), offset=True)
        if version != _SPLIT or reader.remaining:
            raise Unconvertible("no split of Kafka's source")
        inner = _INT.pack(version) + _sized(split)
        return _sized(inner)

    def split(self, data: bytes, *, offset: bool) -> bytes:
        """A split of Kafka's source; with its new offset, if it gets one."""
        reader = ByteReader(data, "a split")
        place, start = _place(reader), reader.long()
        end = reader.raw(_LONG.size, "an end")
        topic, number = self.of(place)
        begin = self.offsets.get(place, start) if offset else start
        return write_utf(topic) + _INT.pack(number) + _LONG.pack(begin) + end + _rest(reader)

    def coordinator(self, operator: OperatorState) -> bytes | None:
        """The rewritten state of a source's coordinator; None if it has none.

        Raises Unconvertible for what no such enumerator wrote, and for offsets that it has no place for; SavepointError.
        """
        kept = _enumerator(operator)
        if kept is None:
            return None
        written = b"".join(map(self._known, kept.partitions))
        made = _INT.pack(len(kept.partitions)) + kept.head + written + kept.found
        return _INT.pack(_COORDINATOR) + _INT.pack(kept.version) + _sized(made)

    def _known(self, one: _Known) -> bytes:
        """A partition that an enumerator knows; until a reader has it, its offset is here, if anywhere."""
        waits = one.status not in (None, _ASSIGNED)
        status = b"" if one.status is None else _INT.pack(one.status)
        if one.split is not None:
            return _sized(self.split(one.split, offset=waits)) + status
        if waits and one.place in self.offsets:
            raise Unconvertible(
                f"nothing was read of {name_of(one.place)} yet, and this version of the connector keeps no offset for it"
            )
        topic, number = self.of(one.place)
        return write_utf(topic) + _INT.pack(number) + status


class _Known(NamedTuple):
    """A partition that an enumerator has found: its split and whether a reader has it, as far as the version tells."""

    place: Place
    split: bytes | None = None
    status: int | None = None


class _Enumerator(NamedTuple):
    """What an enumerator keeps: its version, what stands before its partitions and behind them."""

    version: int
    head: bytes
    partitions: list[_Known]
    found: bytes


def _enumerator(operator: OperatorState) -> _Enumerator | None:
    """Versions 1 to 3 of `KafkaSourceEnumStateSerializer`. Raises Unconvertible, SavepointError."""
    body = enumerator_of(operator, version=None)
    if body is None or operator.coordinator is None:
        return None
    version = ByteReader(operator.coordinator.data[_INT.size :], "a coordinator").integer()
    read = _READ.get(version)
    if read is None:
        raise Unconvertible(f"what its enumerator keeps is of version {version}, which is not known here")
    number = body.count("partitions", _SMALLEST)
    head = body.raw(_INT.size, "the version of splits") if version == _WITH_SPLITS else b""
    if any(head):
        raise Unconvertible("splits of a version that is not known here")
    partitions = [read(body) for _ in range(number)]
    found = b"" if version == _OF_TOPICS else body.raw(1, "whether all were found")
    if body.remaining:
        raise Unconvertible("no enumerator of Kafka's source")
    return _Enumerator(version, head, partitions, found)


def _with_split(reader: ByteReader) -> _Known:
    data = reader.sized("a split")
    return _Known(_place(ByteReader(data, "a split")), data, reader.integer())


_READ: Mapping[int, Callable[[ByteReader], _Known]] = {
    _OF_TOPICS: lambda reader: _Known(_place(reader)),
    _WITH_STATUS: lambda reader: _Known(_place(reader), None, reader.integer()),
    _WITH_SPLITS: _with_split,
}


def read_by(splits: Iterable[Versioned]) -> list[Place]:
    """The partitions of the readers. Raises SavepointError, and Unconvertible for splits that are not Kafka's."""
    found = []
    for split in splits:
        reader = ByteReader(split.data, "a split")
        found.append(_place(reader))
        reader.long(), reader.long()
        if split.version != _SPLIT or reader.remaining:
            raise Unconvertible("no split of Kafka's source")
    return found


def known_to(operator: OperatorState) -> list[Place]:
    """The partitions that the enumerator of a source has found. Raises SavepointError, Unconvertible."""
    kept = _enumerator(operator)
    return [] if kept is None else [one.place for one in kept.partitions]


def name_of(place: Place) -> str:
    """The name of a partition's split in Flink."""
    return f"{place[0]}-{place[1]}"


def _place(reader: ByteReader) -> Place:
    topic, number = reader.utf(), reader.integer()
    if not TOPIC.fullmatch(topic) or number < 0:
        raise Unconvertible("no partition of Kafka's")
    return topic, number


def _rest(reader: ByteReader) -> bytes:
    if reader.remaining:
        raise Unconvertible("no split of Kafka's source")
    return b""


def _sized(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data
