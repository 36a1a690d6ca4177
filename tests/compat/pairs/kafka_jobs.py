"""Jobs that copy Kafka topics, before and after a change: what ``record_kafka_restores`` restores against a broker.

Each case has topics of its own, ``orders-NAME``, ``returns-NAME`` and ``out-NAME``. Before OLD starts, the first two
hold the records ``orders 0`` to ``orders 2`` and the like, in turn in their partitions; two more follow while OLD is running,
unless it is stopped at once, and two more before NEW starts.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

SERVERS = "localhost:9092"
"""The broker that the programs name; whoever runs them puts another one there."""

TRANSACTION_TIMEOUT = 120
"""Seconds after which Kafka ends an open transaction of theirs."""

_PROGRAM = """from pyflink.common import Configuration, SimpleStringSchema, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism({parallelism})
env.set_max_parallelism(128)
{checkpoints}
{option}
source = (
    KafkaSource.builder()
    .set_bootstrap_servers("localhost:9092")
    {source}
    .set_value_only_deserializer(SimpleStringSchema())
    .build()
)
sink = (
    {builder}
    .set_bootstrap_servers("localhost:9092")
    .set_record_serializer(
        KafkaRecordSerializationSchema.builder()
        .set_topic("out-{name}")
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    {sink}
    .build()
)
stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").uid("{source_uid}")
stream.sink_to(sink).uid("{sink_uid}")
env.execute()
"""
_NAMING = """from pyflink.java_gateway import get_gateway


def named(builder):
    strategies = get_gateway().jvm.org.apache.flink.connector.kafka.sink.TransactionNamingStrategy
    builder._j_builder.setTransactionNamingStrategy(strategies.{naming})
    return builder


env = """
"""PyFlink has no call for the strategy."""
_IGNORE = 'env.configure(Configuration().set_string("execution.state-recovery.ignore-unclaimed-state", "true"))'


class End(Enum):
    """The end that OLD comes to, and what NEW starts from."""

    STOPPED = "stopped with the savepoint"
    STOPPED_LATER = "stopped with the savepoint, when a checkpoint had committed the offsets of its group"
    WENT_BACK = "stopped with the savepoint; NEW was killed with records in an open transaction, and OLD restored again"
    CANCELLED = "cancelled after the savepoint, with records in an open transaction"
    KILLED = "killed after the savepoint, with records in an open transaction"
    KILLED_READY = "killed after the savepoint, before it had committed what that holds ready"
    OLDER = "stopped with a later savepoint than the one that is restored"


class Meanwhile(Enum):
    """What happens to the topic ``returns`` between OLD and NEW."""

    NOTHING = "nothing"
    DELETED = "returns was deleted"
    CREATED_AGAIN = "returns was deleted, and created again with two records"
    CREATED_LATER = "returns was deleted, and created again with two records when NEW had run for a while"


class Job(Struct, frozen=True):
    """A job by its calls of the builders.

    ``every`` is the time between checkpoints in milliseconds, None for none; ``timeout`` that of transactions in seconds, None
    for the connector's own. ``naming`` is the connector's TransactionNamingStrategy, None for its own.
    """

    source: str
    sink: str
    source_uid: str = "orders"
    sink_uid: str = "out"
    every: int | None = 1000
    ignoring: bool = False
    timeout: int | None = TRANSACTION_TIMEOUT
    parallelism: int = 1
    naming: str | None = None

    def program(self, name: str) -> str:
        """The program for the topics of a case."""
        timeout = (
            "" if self.timeout is None else f'.set_property("transaction.timeout.ms", "{self.timeout * 1000}")\n    '
        )
        program = _PROGRAM if self.naming is None else _PROGRAM.replace("env = ", _NAMING, 1)
        return program.format(
            name=name,
            naming=self.naming,
            builder="KafkaSink.builder()" if self.naming is None else "named(KafkaSink.builder())",
            parallelism=self.parallelism,
            checkpoints="" if self.every is None else f"env.enable_checkpointing({self.every})",
            option=_IGNORE if self.ignoring else "",
            source=self.source.replace("NAME", name),
            sink=timeout + self.sink.replace("NAME", name),
            source_uid=self.source_uid,
            sink_uid=self.sink_uid,
        )


class Case(Struct, frozen=True):
    """A change of a job; ``read`` are the topics that OLD reads, of so many ``partitions``."""

    name: str
    before: Job
    after: Job
    end: End
    read: tuple[str, ...] = ("orders",)
    meanwhile: Meanwhile = Meanwhile.NOTHING
    partitions: int = 1

    @property
    def old(self) -> str:
        """The program of OLD."""
        return self.before.program(self.name)

    @property
    def new(self) -> str:
        """The program of NEW."""
        return self.after.program(self.name)


_RARELY = 600_000
_BOTH = ("orders", "returns")
_ORDERS, _TWO = '.set_topics("orders-NAME")', '.set_topics("orders-NAME", "returns-NAME")'


def _pattern(*topics: str) -> str:
    return f'.set_topic_pattern("{"|".join(f"{topic}-NAME" for topic in topics)}")'


def _start(rule: str) -> str:
    return f".set_starting_offsets(KafkaOffsetsInitializer.{rule})"


def _group(name: str) -> str:
    return f'.set_group_id("{name}-NAME")'


def _until(offset: int) -> str:
    return f'.set_unbounded(KafkaOffsetsInitializer.offsets({{KafkaTopicPartition("orders-NAME", 0): {offset}}}))'


_EARLIEST, _LATEST = _start("earliest()"), _start("latest()")
_COMMITTED = _start("committed_offsets()")
_ANEW = _TWO + _group("g") + _EARLIEST, _ORDERS + _group("g") + _COMMITTED
"""A source that reads fewer topics, from the offsets of its group."""
_WEAK = ".set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)"
_NONE = ".set_delivery_guarantee(DeliveryGuarantee.NONE)"


def _exactly(prefix: str = "copy") -> str:
    return f'.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("{prefix}-NAME")'


def _reading(name: str, old: str, new: str, *read: str, uid: str = "orders", end: End = End.STOPPED) -> Case:
    after = Job(new, _WEAK, source_uid=uid, ignoring=uid != "orders")
    return Case(name, Job(old, _WEAK), after, end, read or ("orders",))


def _deleted(name: str, old: str, new: str, meanwhile: Meanwhile) -> Case:
    return Case(name, Job(old, _WEAK), Job(new, _WEAK), End.STOPPED, _BOTH, meanwhile)


_SCALED = {"up": (1, 2), "down": (2, 1)}
_ENDS = {
    "stopped": End.STOPPED,
    "cancelled": End.CANCELLED,
    "killed": End.KILLED,
    "killed-ready": End.KILLED_READY,
}


def _scaling(name: str, parallelism: tuple[int, int], end: End, naming: str | None = None) -> Case:
    one = _writing(name, _exactly(), _exactly(), end)
    before, after = parallelism
    return replace(
        one,
        before=replace(one.before, parallelism=before, naming=naming),
        after=replace(one.after, parallelism=after, naming=naming),
        partitions=2,
    )


def _naming(name: str, old: str | None, new: str | None, end: End, prefix: str = "copy") -> Case:
    one = _writing(name, _exactly(), _exactly(prefix), end)
    return replace(one, before=replace(one.before, naming=old), after=replace(one.after, naming=new))


def _writing(name: str, old: str, new: str, end: End, *, uid: str = "out", every: int | None = 1000) -> Case:
    source = _ORDERS + _EARLIEST
    often = 1000 if end in (End.STOPPED, End.OLDER, End.WENT_BACK) else _RARELY
    after = Job(source, new, sink_uid=uid, ignoring=uid != "out", every=every)
    return Case(name, Job(source, old, every=often), after, end)


CASES = [
    _reading("source-same", _TWO + _EARLIEST, _TWO + _EARLIEST, *_BOTH),
    _reading("topic-dropped", _TWO + _EARLIEST, _ORDERS + _EARLIEST, *_BOTH),
    _reading("pattern-narrowed", _pattern("orders", "returns") + _EARLIEST, _pattern("orders") + _EARLIEST, *_BOTH),
    _reading("source-moved-at-once", *_ANEW, *_BOTH, uid="fewer"),
    _reading("source-moved-later", *_ANEW, *_BOTH, uid="fewer", end=End.STOPPED_LATER),
    _reading("topic-added", _ORDERS + _EARLIEST, _TWO + _EARLIEST),
    _reading("topic-added-latest", _ORDERS + _EARLIEST, _TWO + _LATEST),
    _reading("topic-added-committed", _ORDERS + _group("g") + _EARLIEST, _TWO + _group("g") + _COMMITTED),
    _reading("pattern-widened-latest", _pattern("orders") + _EARLIEST, _pattern("orders", "returns") + _LATEST),
    _reading("group-changed", _ORDERS + _group("g") + _EARLIEST, _ORDERS + _group("h") + _EARLIEST),
    _reading("start-changed", _ORDERS + _EARLIEST, _ORDERS + _LATEST),
    _reading("end-removed", _ORDERS + _EARLIEST + _until(4), _ORDERS + _EARLIEST),
    _reading("end-added", _ORDERS + _EARLIEST, _ORDERS + _EARLIEST + _until(4)),
    _writing("sink-same-cancelled", _exactly(), _exactly(), End.CANCELLED),
    _writing("sink-same-killed", _exactly(), _exactly(), End.KILLED),
    _writing("sink-same-killed-ready", _exactly(), _exactly(), End.KILLED_READY),
    _writing("prefix-stopped", _exactly(), _exactly("other"), End.STOPPED),
    _writing("prefix-cancelled", _exactly(), _exactly("other"), End.CANCELLED),
    _writing("prefix-went-back", _exactly(), _exactly("other"), End.WENT_BACK, every=_RARELY),
    _writing("prefix-killed", _exactly(), _exactly("other"), End.KILLED),
    _writing("prefix-killed-ready", _exactly(), _exactly("other"), End.KILLED_READY),
    _writing("sink-dropped-stopped", _exactly(), _exactly(), End.STOPPED, uid="moved"),
    _writing("sink-dropped-killed", _exactly(), _exactly(), End.KILLED, uid="moved"),
    _writing("sink-dropped-killed-ready", _exactly(), _exactly(), End.KILLED_READY, uid="moved"),
    _writing("prefix-and-sink-dropped-killed", _exactly(), _exactly("other"), End.KILLED, uid="moved"),
    _writing("weaker-stopped", _exactly(), _WEAK, End.STOPPED),
    _writing("weaker-cancelled", _exactly(), _WEAK, End.CANCELLED),
    _writing("weaker-killed", _exactly(), _WEAK, End.KILLED),
    _writing("weaker-killed-ready", _exactly(), _WEAK, End.KILLED_READY),
    _writing("none-killed-ready", _exactly(), _NONE, End.KILLED_READY),
    _writing("stronger", _WEAK, _exactly(), End.STOPPED),
    _writing("stronger-without-checkpoints", _WEAK, _exactly(), End.STOPPED, every=None),
    Case(
        "stronger-by-default",
        Job(_ORDERS + _EARLIEST, _WEAK, timeout=None),
        Job(_ORDERS + _EARLIEST, _exactly(), timeout=None),
        End.STOPPED,
    ),
    _writing("older-savepoint", _exactly(), _exactly(), End.OLDER),
    _writing("older-savepoint-weak", _WEAK, _WEAK, End.OLDER),
    _writing("weak-to-none", _WEAK, _NONE, End.STOPPED),
    _writing("none-to-weak", _NONE, _WEAK, End.STOPPED),
    _writing("none-to-exactly", _NONE, _exactly(), End.STOPPED),
    _writing("none-to-exactly-killed", _NONE, _exactly(), End.KILLED),
    _writing("none-stopped", _exactly(), _NONE, End.STOPPED),
    _deleted("topic-deleted", _TWO + _EARLIEST, _ORDERS + _EARLIEST, Meanwhile.DELETED),
    _deleted("topic-deleted-and-named", _TWO + _EARLIEST, _TWO + _EARLIEST, Meanwhile.DELETED),
    _deleted("topic-deleted-of-pattern", *[_pattern("orders", "returns") + _EARLIEST] * 2, Meanwhile.DELETED),
    _deleted("topic-created-again", _TWO + _EARLIEST, _ORDERS + _EARLIEST, Meanwhile.CREATED_AGAIN),
    _deleted("topic-created-later", _TWO + _EARLIEST, _ORDERS + _EARLIEST, Meanwhile.CREATED_LATER),
    *(
        replace(
            _reading(f"source-scaled-{way}", _ORDERS + _EARLIEST, _ORDERS + _EARLIEST),
            before=Job(_ORDERS + _EARLIEST, _WEAK, parallelism=before),
            after=Job(_ORDERS + _EARLIEST, _WEAK, parallelism=after),
            partitions=2,
        )
        for way, (before, after) in _SCALED.items()
    ),
    *(
        _scaling(f"sink-scaled-{way}-{ended}", parallelism, end)
        for way, parallelism in _SCALED.items()
        for ended, end in _ENDS.items()
    ),
]

_POOLING, _INCREMENTING = "POOLING", "INCREMENTING"
NAMED = [
    *(_naming(f"pooling-{ended}", _POOLING, _POOLING, end) for ended, end in _ENDS.items()),
    *(_naming(f"to-pooling-{ended}", None, _POOLING, end) for ended, end in _ENDS.items()),
    _naming("to-pooling-prefix-killed", None, _POOLING, End.KILLED, "other"),
    _naming("from-pooling-stopped", _POOLING, None, End.STOPPED),
    _naming("from-pooling-killed", _POOLING, _INCREMENTING, End.KILLED),
    _naming("pooling-prefix-killed", _POOLING, _POOLING, End.KILLED, "other"),
    _naming("pooling-prefix-killed-ready", _POOLING, _POOLING, End.KILLED_READY, "other"),
    *(
        _scaling(f"pooling-scaled-{way}-{ended}", parallelism, end, _POOLING)
        for way, parallelism in _SCALED.items()
        for ended, end in _ENDS.items()
    ),
]
"""Cases whose naming strategy only Java and SQL can say."""
ALL = [*CASES, *NAMED]
