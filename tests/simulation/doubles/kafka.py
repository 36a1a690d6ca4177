"""In the place of ``confluent_kafka``'s clients: brokers in memory, with the transactions of Kafka's protocol.

What a transaction produced is in the log at once, and counts for readers of what is committed once the transaction is: they
read up to the first record of one that is open. A producer that begins under the id of another one ends that one's
transaction, and fences it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka.admin import OffsetSpec
from msgspec import Struct

Partition = tuple[str, int]


@dataclass(slots=True)
class _Transaction:
    """``committed`` is None while it is open."""

    committed: bool | None = None
    offsets: dict[tuple[str, Partition], int] = field(default_factory=dict)


class _Message(Struct, frozen=True):
    """A record, or what a reader is told in the place of one. A mark, which ends a transaction, has an offset and no value."""

    at: int
    data: bytes | None
    transaction: _Transaction | None = None
    problem: KafkaError | None = None

    def error(self) -> KafkaError | None:
        return self.problem

    def value(self) -> bytes | None:
        return self.data

    def offset(self) -> int:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return 0, -1


class Brokers:
    """Topics with the same number of partitions each. ``point`` is told of every request that a client makes."""

    def __init__(self, topics: Sequence[str], partitions: int, point: Callable[[str], None]) -> None:
        self.partitions, self.point = partitions, point
        self._logs: dict[Partition, list[_Message]] = {
            (topic, number): [] for topic in topics for number in range(partitions)
        }
        self._groups: dict[tuple[str, Partition], int] = {}
        self._owners: dict[str, Producer] = {}
        self._next = 0

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        """In the place of the class ``Producer``."""
        return Producer(self, settings)

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """In the place of the class ``Consumer``."""
        return Consumer(self, settings)

    def admin(self, settings: Mapping[str, Any]) -> Admin:
        """In the place of the class ``AdminClient``."""
        return Admin(self)

    def append(
        self, topic: str, data: bytes | None, transaction: _Transaction | None, number: int | None = None
    ) -> Partition:
        """Put a record into a partition, or into each in turn."""
        if number is None:
            number, self._next = self._next % self.partitions, self._next + 1
        log = self._logs[topic, number]
        log.append(_Message(len(log), data, transaction))
        return topic, number

    def write(self, topic: str, values: Sequence[bytes], *, committed: bool) -> None:
        """Somebody's transaction, which is over."""
        for value in values:
            self.append(topic, value, _Transaction(committed))

    def end(self, partition: Partition, *, committed: bool) -> int:
        """The offset behind the last record, or behind the last that readers of what is committed may read."""
        log = self._logs[partition]
        still = (each.at for each in log if each.transaction is not None and each.transaction.committed is None)
        return min(still, default=len(log)) if committed else len(log)

    def committed(self, topic: str) -> list[bytes]:
        """The values that count."""
        return [
            message.data
            for (name, number), log in self._logs.items()
            if name == topic
            for message in log[: self.end((name, number), committed=True)]
            if _counts(message) and message.data is not None
        ]


def _counts(message: _Message) -> bool:
    return message.data is not None and (message.transaction is None or message.transaction.committed is True)


class _Client:
    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        """The topics, with the numbers of their partitions."""
        self._brokers.point("list topics")
        names = dict.fromkeys(name for name, _ in self._brokers._logs)
        partitions = dict.fromkeys(range(self._brokers.partitions))
        found = {name: SimpleNamespace(topic=name, partitions=partitions, error=None) for name in names}
        return SimpleNamespace(topics=found)


class Admin(_Client):
    """In the place of ``AdminClient``."""

    def list_offsets(self, wanted: Mapping[Any, Any], isolation_level: Any, request_timeout: float) -> dict[Any, Any]:
        """The first offsets, or those behind the last."""
        self._brokers.point("list offsets")
        found = {}
        for place, spec in wanted.items():
            first = isinstance(spec, type(OffsetSpec.earliest()))
            committed = isolation_level is IsolationLevel.READ_COMMITTED
            end = self._brokers.end((place.topic, place.partition), committed=committed)
            found[place] = Future[Any]()
            found[place].set_result(SimpleNamespace(offset=0 if first else end))
        return found


class Consumer(_Client):
    """In the place of ``Consumer``, which reads what it was assigned to."""

    def __init__(self, brokers: Brokers, settings: Mapping[str, Any]) -> None:
        super().__init__(brokers)
        self._group = settings["group.id"]
        self._committed = settings.get("isolation.level") == "read_committed"
        self._assigned: Partition | None = None
        self._position = 0

    def assign(self, places: Sequence[Any]) -> None:
        """Read a partition from an offset on."""
        (place,) = places
        self._assigned, self._position = (place.topic, place.partition), place.offset

    def unassign(self) -> None:
        """Read nothing more."""
        self._assigned = None

    def consume(self, count: int, timeout: float) -> list[_Message]:
        """The next messages, and at the end that it is there."""
        self._brokers.point("consume")
        assert self._assigned is not None
        end = self._brokers.end(self._assigned, committed=self._committed)
        found = []
        while self._position < end and len(found) < count:
            message = self._brokers._logs[self._assigned][self._position]
            self._position += 1
            if _counts(message) or (message.data is not None and not self._committed):
                found.append(message)
        if self._position >= end:
            found.append(_Message(self._position, None, problem=KafkaError(KafkaError._PARTITION_EOF)))
        return found

    def committed(self, places: Sequence[Any], timeout: float) -> list[Any]:
        """Where the group stands."""
        self._brokers.point("committed")
        groups = self._brokers._groups
        return [
            SimpleNamespace(
                topic=place.topic,
                partition=place.partition,
                offset=groups.get((self._group, (place.topic, place.partition)), -1001),
            )
            for place in places
        ]

    def commit(self, offsets: Sequence[Any], asynchronous: bool) -> None:
        """Say where the group stands."""
        for place in offsets:
            self._brokers._groups[self._group, (place.topic, place.partition)] = place.offset

    def consumer_group_metadata(self) -> str:
        """What tells a producer of the group."""
        return str(self._group)

    def close(self) -> None:
        """Nothing is held open."""


class Producer(_Client):
    """In the place of ``Producer``, with transactions."""

    def __init__(self, brokers: Brokers, settings: Mapping[str, Any]) -> None:
        super().__init__(brokers)
        self._id = str(settings.get("transactional.id", ""))
        self._open: _Transaction | None = None
        self._touched: list[Partition] = []

    def init_transactions(self, timeout: float) -> None:
        """Become the producer of the id: what another left open is aborted."""
        self._brokers.point("init transactions")
        before = self._brokers._owners.get(self._id)
        if before is not None:
            before._close(committed=False)
        self._brokers._owners[self._id] = self

    def _owned(self) -> None:
        if self._brokers._owners.get(self._id) is not self:
            raise KafkaException(KafkaError(KafkaError._FENCED))

    def begin_transaction(self) -> None:
        """Begin."""
        if self._open is not None:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self._open = _Transaction()

    def produce(self, topic: str, value: bytes, key: bytes | None = None, **options: Any) -> None:
        """A record."""
        assert self._open is not None
        self._brokers.point("produce")
        self._owned()
        self._touched.append(self._brokers.append(topic, value, self._open))

    def send_offsets_to_transaction(self, places: Sequence[Any], group: str, timeout: float) -> None:
        """Where the group stands once the transaction is committed."""
        assert self._open is not None
        self._brokers.point("send offsets")
        self._owned()
        for place in places:
            self._open.offsets[group, (place.topic, place.partition)] = place.offset

    def commit_transaction(self) -> None:
        """Commit; an error behind it does not tell whether it was."""
        self._brokers.point("before commit")
        self._owned()
        self._close(committed=True)
        self._brokers.point("after commit")

    def abort_transaction(self, timeout: float) -> None:
        """Abort."""
        self._brokers.point("abort")
        self._owned()
        self._close(committed=False)

    def flush(self, timeout: float = -1) -> int:
        """All of it is with the brokers already."""
        return 0

    def _close(self, *, committed: bool) -> None:
        if self._open is None:
            return
        self._open.committed = committed
        if committed:
            self._brokers._groups |= self._open.offsets
        for topic, number in dict.fromkeys(self._touched):
            self._brokers.append(topic, None, self._open, number)
        self._open, self._touched = None, []
