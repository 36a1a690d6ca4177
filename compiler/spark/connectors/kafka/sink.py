"""A sink into Kafka topics. Flink: ``KafkaSink``, ``KafkaWriter``, ``KafkaCommitter``.

At least once, and without a guarantee: tasks produce, and the epoch waits until the brokers have everything. Exactly once:
tasks write files, and the committer sends their records in one transaction for each epoch. In it the committer also commits the
epoch's number as the offset of the sink's own consumer group. After a crash that number shows whether the epoch was sent, so no
transaction stays open over a commit.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from compat.compiler.datastream.common.serialization import SerializationSchema
from compat.compiler.datastream.connectors.base import DeliveryGuarantee
from compat.compiler.spark.connectors.kafka.clients import Pool, consumer_settings, problem_of, producer_settings
from compat.compiler.spark.runtime_api.sinks import Committer, ProvingCommitter, SinkWriter, WriterContext
from compat.state.stores.paths import Place, place_of

_FOLDER = "_kafka"
_ROWS = 50_000
"""Rows of a batch in a file."""
_APPEARS = 2.0
"""Seconds that a topic may need to appear."""
_PATIENCE = 60.0
"""Seconds that the brokers may take to begin a transaction, or to tell of the last one."""


class Publication(Struct, frozen=True, kw_only=True):
    """The output that a program wants to write. Without a ``topic``, records are rows of a topic and the value for it."""

    properties: Mapping[str, str]
    topic: str | None
    value: SerializationSchema
    key: SerializationSchema | None = None
    exactly_once: bool = False
    prefix: str = ""
    timestamps: bool = True

    @staticmethod
    def of(sink: Any) -> Publication:
        """The publication of a ``KafkaSink``, or of a ``FlinkKafkaProducer``."""
        settings = sink.settings
        if "serializer" in settings:
            return Publication(
                properties=settings["properties"],
                topic=settings["topic"],
                value=settings["serializer"],
                exactly_once=settings["semantic"].name == "EXACTLY_ONCE",
                timestamps=settings.get("write_timestamp_to_kafka", False),
            )
        schema = settings["record_serializer"]
        return Publication(
            properties=settings["properties"],
            topic=schema.topic,
            value=schema.value_serializer,
            key=schema.key_serializer,
            exactly_once=settings["delivery_guarantee"] is DeliveryGuarantee.EXACTLY_ONCE,
            prefix=settings.get("transactional_id_prefix") or "",
        )

    def message(self, record: Any, timestamp: int | None) -> tuple[str, bytes | None, bytes | None, int | None]:
        """Topic, key, value and time of a record; no time if the brokers set it."""
        topic = self.topic
        if topic is None:
            topic, record = record
        key = None if self.key is None else self.key.serialize(record)
        given = timestamp if self.timestamps and timestamp is not None and timestamp >= 0 else None
        return topic, key, self.value.serialize(record), given


def unsupported(sink: Any) -> str | None:
    """Why a sink cannot be run; None for one that can."""
    wanted = Publication.of(sink)
    for schema in (wanted.value, wanted.key):
        if schema is None:
            continue
        if type(schema).serialize is SerializationSchema.serialize or schema.settings.get("record_class"):
            return f"{type(schema).__name__} does not say how records become bytes: use one that has serialize()"
    return problem_of(wanted.properties, reads=False)


def writer_of(sink: Any, context: WriterContext) -> SinkWriter:
    """The writer of a sink, by its guarantee."""
    wanted = Publication.of(sink)
    return PendingWriter(wanted, context) if wanted.exactly_once else ProducingWriter(wanted)


def committer_of(sink: Any) -> Committer | None:
    """The committer of an exactly-once sink; None for the others."""
    wanted = Publication.of(sink)
    return TransactionCommitter(wanted) if wanted.exactly_once else None


class ProducingWriter:
    """Produces at once. What a failed epoch produced stays: at least once."""

    def __init__(self, wanted: Publication) -> None:
        from confluent_kafka import Producer

        self._message = wanted.message
        settings = producer_settings(wanted.properties)
        if "delivery.timeout.ms" not in settings and "message.timeout.ms" not in settings:
            settings["delivery.timeout.ms"] = "120000"
        self._producers = Pool(Producer, settings)
        self._producer: Any = None
        self._failed: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""
        if self._producer is None:
            self._producer = self._producers.take()
        _produce(self._producer, *self._message(value, timestamp), self._note)

    def prepare_commit(self) -> list[Any]:
        """Wait until the brokers have everything; there is nothing to publish. Raises ConnectionError."""
        if self._producer is not None:
            self._producer.flush()
            if self._failed:
                raise ConnectionError(f"{len(self._failed)} records did not reach Kafka: {self._failed[0].str()}.")
            self._producers.give_back(self._producer)
            self._producer = None
        return []

    def _note(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failed.append(error)


def _produce(producer: Any, topic: str, key: Any, data: Any, at: int | None, note: Any = None) -> None:
    """Hand a record to a producer, waiting while its queue is full."""
    while True:
        try:
            if at is None:
                producer.produce(topic, data, key, on_delivery=note)
            else:
                producer.produce(topic, data, key, on_delivery=note, timestamp=at)
            return
        except BufferError:
            producer.poll(0.1)


class PendingWriter:
    """Writes the records to be produced into a file beside the job's state."""

    def __init__(self, wanted: Publication, context: WriterContext) -> None:
        self._message = wanted.message
        name = f"{context.epoch}-{context.subtask}-{context.attempt}.arrow"
        self._place = place_of(context.folder) / _FOLDER / context.operator_id / name
        self._columns: tuple[list[Any], ...] = ([], [], [], [])
        self._topics: dict[str, None] = {}
        self._file: Any = None
        self._writer: Any = None

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""
        for column, cell in zip(self._columns, self._message(value, timestamp), strict=True):
            column.append(cell)
        if len(self._columns[0]) >= _ROWS:
            self._flush()

    def prepare_commit(self) -> list[Any]:
        """Close the file; gives its path, the topics of its records and its size."""
        self._flush()
        if self._file is None:
            return []
        self._writer.close()
        self._file.flush()
        size = os.fstat(self._file.fileno()).st_size
        if self._place.local:
            os.fsync(self._file.fileno())
        else:
            self._place.upload(self._file)
        self._file.close()
        self._file = self._writer = None
        return [(str(self._place), tuple(self._topics), size)]

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._columns[0]:
            return
        types = (pa.string(), pa.binary(), pa.binary(), pa.int64())
        arrays = [pa.array(cells, kind) for cells, kind in zip(self._columns, types, strict=True)]
        batch = pa.record_batch(arrays, names=["topic", "key", "value", "timestamp"])
        if self._file is None:
            if self._place.local:
                os.makedirs(self._place.parent, exist_ok=True)
                self._file = open(self._place, "wb")  # noqa: SIM115
            else:
                self._file = tempfile.TemporaryFile(prefix="compat-part-")  # noqa: SIM115
            self._writer = pa.ipc.new_stream(self._file, batch.schema)
        self._writer.write_batch(batch)
        self._topics |= dict.fromkeys(self._columns[0])
        for column in self._columns:
            column.clear()


class TransactionCommitter(ProvingCommitter):
    """Produces the files of an epoch in one transaction, unless Kafka says that the epoch is in."""

    def __init__(self, wanted: Publication) -> None:
        self._wanted = wanted

    def sweep(self, job_id: str, epoch: int, pending: Collection[str]) -> None:
        """Nothing: the next epoch removes what is older."""

    def files(self, committables: list[Any]) -> Iterable[tuple[str, int]]:
        return ((path, size) for path, _, size in committables)

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """One transaction for all files of the epoch; the files are removed afterwards. Raises ConnectionError."""
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        job, epoch = transaction
        name = f"{self._wanted.prefix}-{job}" if self._wanted.prefix else job
        properties = self._wanted.properties
        topics = dict.fromkeys(topic for _, topics, _ in committables for topic in topics)
        # A group's offset needs a partition that exists.
        marker = TopicPartition(next(iter(topics)), 0, epoch)
        markers = {**consumer_settings(properties), "group.id": name, "isolation.level": "read_committed"}
        producers = Pool(_transactional, {**producer_settings(properties), "transactional.id": name})
        try:
            with (
                producers.borrowed() as producer,
                Pool(Consumer, markers).borrowed() as group,
            ):
                if group.committed([TopicPartition(marker.topic, 0)], timeout=_PATIENCE)[0].offset < epoch:
                    for topic in topics:
                        _expect(producer, topic)
                    self._publish(producer, group, marker, [path for path, *_ in committables])
        except KafkaException as error:
            raise ConnectionError(f"Kafka does not take the transaction {name!r}: {error.args[0].str()}") from error
        for path, *_ in committables:
            _remove_up_to(place_of(path).parent, epoch)

    def _publish(self, producer: Any, group: Any, marker: Any, paths: list[str]) -> None:
        producer.begin_transaction()
        try:
            for path in paths:
                for message in _messages(path):
                    _produce(producer, *message)
            producer.send_offsets_to_transaction([marker], group.consumer_group_metadata(), _PATIENCE)
            producer.commit_transaction()
        except BaseException:
            _abort(producer)
            raise


def _transactional(settings: dict[str, Any]) -> Any:
    """A producer whose transactions of before are over: committed or aborted."""
    from confluent_kafka import Producer

    producer = Producer(settings)
    producer.init_transactions(_PATIENCE)
    return producer


def _expect(producer: Any, topic: str) -> None:
    """Wait for a topic, which brokers may make when they are asked for it. Raises ConnectionError if they do not."""
    end = time.monotonic() + _APPEARS
    while (error := producer.list_topics(topic, timeout=_PATIENCE).topics[topic].error) is not None:
        if time.monotonic() > end:
            raise ConnectionError(f"the topic {topic!r} cannot be written to: {error.str()}")
        time.sleep(0.1)


def _abort(producer: Any) -> None:
    """Best effort: the next one with the same name ends what is left open."""
    from confluent_kafka import KafkaException

    try:
        producer.abort_transaction(_PATIENCE)
    except KafkaException:
        return


def _messages(path: str) -> Iterator[tuple[Any, ...]]:
    """The messages that a task wrote. Raises FileNotFoundError if somebody removed it."""
    import pyarrow as pa

    with place_of(path).open() as file, pa.ipc.open_stream(file) as batches:
        for batch in batches:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _remove_up_to(folder: Place, epoch: int) -> None:
    """Remove the files of an epoch that is published, and what attempts of it and of earlier ones left beside them."""
    for entry in folder.list():
        if entry.name.endswith(".arrow") and int(entry.name.split("-", 1)[0]) <= epoch:
            (folder / entry.name).delete()
