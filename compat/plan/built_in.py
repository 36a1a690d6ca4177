"""The states of Java sources and sinks that a Python program uses, by their classes.

Each entry names the class of Flink or of a connector that it comes from. A class that is not listed may keep any state.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.operators import Operator
from compat.state import names as framework
from compat.state.model.states import Known, More, State, StateKind, StateScope


def _list(name: str, scope: StateScope = StateScope.OPERATOR) -> State:
    return State(name=name, kind=StateKind.LIST, scope=scope, built_in=True, known=Known.BUILT_IN)


_WRITER = replace(_list(framework.SINK_WRITER), type="byte[]")
_TWO_PHASES = (_list(framework.TRANSACTIONS), _list(framework.TRANSACTION_HINTS, StateScope.UNION))
_OLD_KIND: dict[str, tuple[State, ...]] = {
    # FlinkKafkaConsumerBase; FlinkKinesisConsumer; MessageAcknowledgingSourceBase
    "FlinkKafkaConsumer": (_list(framework.KAFKA_OFFSETS, StateScope.UNION),),
    "FlinkKinesisConsumer": (_list(framework.KINESIS_SHARDS, StateScope.UNION),),
    "RMQSource": (_list(framework.ACKNOWLEDGED),),
    # TwoPhaseCommitSinkFunction and FlinkKafkaProducer; StreamingFileSinkHelper
    "FlinkKafkaProducer": _TWO_PHASES,
    "StreamingFileSink": (_list(framework.BUCKETS), _list(framework.PART_COUNTER, StateScope.UNION)),
    # GenericJdbcSinkFunction and the sinks of RabbitMQ and Cassandra write their buffers at a checkpoint, and keep no state;
    # with its own log (GenericWriteAheadSink) the last one keeps some.
    "JdbcSink": (),
    "RMQSink": (),
    "_CassandraFunction": (),
}
_WITHOUT_STATE = frozenset(
    {
        *("PulsarSink", "ElasticsearchSink"),  # PulsarWriter, ElasticsearchWriter: no SupportsWriterState
    }
)
"""Sinks of the second kind whose writers have no state."""

_STATEFUL_WRITERS = frozenset({"FileSink", "KafkaSink", "DeltaSink", "KinesisStreamsSink", "KinesisFirehoseSink"})
"""Sinks whose writers have state: FileWriter, KafkaWriter, AsyncSinkWriter."""


def states_of(operator: Operator) -> tuple[State, ...]:
    """The states of a sink's writer, or of a source or sink of the old kind."""
    names = _classes(operator.function)
    if isinstance(operator, ops.SinkWriter):
        return (_WRITER,) if not _STATEFUL_WRITERS.isdisjoint(names) else ()
    if getattr(operator.function, "settings", {}).get("write_ahead_log"):
        return (_list(framework.PENDING_CHECKPOINTS),)
    return next((_OLD_KIND[name] for name in names if name in _OLD_KIND), ())


def more_of(operator: Operator) -> More | None:
    """Why a source or sink may keep more states: its Java class is unknown here."""
    function = operator.function
    if function is None:
        return None
    if isinstance(operator, ops.LegacySource | ops.LegacySink):
        known = any(name in _OLD_KIND for name in _classes(function))
    elif isinstance(operator, ops.SinkWriter):
        known = any(name in _STATEFUL_WRITERS | _WITHOUT_STATE for name in _classes(function))
    else:
        return None
    return None if known else More(why=f"{_java_name(function)} is a class in Java of which nothing is known here")


def _classes(function: Any) -> list[str]:
    return [cls.__name__ for cls in type(function).__mro__]


def _java_name(function: Any) -> str:
    told = function.get_java_function() if hasattr(function, "get_java_function") else None
    return told if isinstance(told, str) else type(function).__name__
