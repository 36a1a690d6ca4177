"""The settings of sources and sinks, taken from the objects that the operators' factories hold.

Connectors publish few of them, so private fields are read. For a version with other fields, only the serializers of its
state are known.
"""

from __future__ import annotations

import jpype

from compat.loader.jvm.bridge import FLINK, Java, class_name, member, text_or_none
from compat.loader.jvm.bytecode import Walk
from compat.loader.jvm.usercode import classes_of
from compat.state.model.connectors import (
    Connector,
    DeliveryGuarantee,
    FileSource,
    KafkaOffset,
    KafkaOffsets,
    KafkaPartition,
    KafkaSink,
    KafkaSource,
    OffsetRule,
    OtherSink,
    OtherSource,
    TransactionNaming,
    VersionedForm,
)

_KAFKA = FLINK + "connector.kafka."
_FILE_SOURCE = FLINK + "connector.file.src.FileSource"
_SOURCE_FACTORY = FLINK + "streaming.api.operators.SourceOperatorFactory"
_SINK_FACTORIES = ("SinkWriterOperatorFactory", "CommitterOperatorFactory")
_SINKS = FLINK + "streaming.runtime.operators.sink."
_READER_HANDLED = {-1: OffsetRule.LATEST, -2: OffsetRule.EARLIEST, -3: OffsetRule.COMMITTED}
_WRITES = ("serialize", "deserialize")
_RULES = {
    "LatestOffsetsInitializer": OffsetRule.LATEST,
    "TimestampOffsetsInitializer": OffsetRule.TIMESTAMP,
    "SpecifiedOffsetsInitializer": OffsetRule.OFFSETS,
}


def connector_of(factory: Java) -> Connector | None:
    """The source or sink in an operator's factory; None for any other operator."""
    name = class_name(factory) or ""
    try:
        if name == _SOURCE_FACTORY:
            return _source(member(factory, "source"))
        if name in {_SINKS + one for one in _SINK_FACTORIES}:
            return _sink(member(factory, "sink"))
    except (AttributeError, TypeError, ValueError, jpype.JException):
        return None  # a user's own connector may throw here, as Flink never asks this early
    return None


def _source(source: Java) -> Connector:
    if class_name(source) == _KAFKA + "source.KafkaSource":
        return _kafka_source(source)
    if class_name(source) == _FILE_SOURCE:
        return FileSource(
            paths=tuple(str(path) for path in member(source, "inputPaths")), looks_for_more=not _is_bounded(source)
        )
    splits, enumerator = source.getSplitSerializer(), source.getEnumeratorCheckpointSerializer()
    return OtherSource(
        class_name=str(source.getClass().getName()),
        split_serializer=class_name(splits) or "",
        enumerator_serializer=class_name(enumerator) or "",
        forms=_forms(splits, enumerator),
    )


def _is_bounded(source: Java) -> bool:
    return str(source.getBoundedness()) == "BOUNDED"


def _kafka_source(source: Java) -> KafkaSource:
    subscriber = member(source, "subscriber")
    kind = str(subscriber.getClass().getSimpleName())
    ends = member(source, "stoppingOffsetsInitializer")
    endless = ends is None or str(ends.getClass().getSimpleName()) == "NoStoppingOffsetsInitializer"
    return KafkaSource(
        topics=tuple(map(str, member(subscriber, "topics"))) if kind == "TopicListSubscriber" else (),
        topic_pattern=str(member(subscriber, "topicPattern").pattern()) if kind == "TopicPatternSubscriber" else None,
        partitions=tuple(sorted(map(_partition, member(subscriber, "subscribedPartitions")), key=str))
        if kind == "PartitionSetSubscriber"
        else (),
        group_id=text_or_none(member(source, "props").getProperty("group.id")),
        starting=_offsets(member(source, "startingOffsetsInitializer")),
        stopping=None if endless else _offsets(ends),
        bounded=_is_bounded(source),
    )


def _partition(partition: Java) -> KafkaPartition:
    return KafkaPartition(topic=str(partition.topic()), partition=int(partition.partition()))


def _offsets(initializer: Java) -> KafkaOffsets:
    kind = str(initializer.getClass().getSimpleName())
    if kind == "ReaderHandledOffsetsInitializer":
        return KafkaOffsets(rule=_READER_HANDLED[int(member(initializer, "startingOffset"))])
    rule = _RULES.get(kind, OffsetRule.OWN)
    offsets = member(initializer, "initialOffsets") if rule is OffsetRule.OFFSETS else None
    return KafkaOffsets(
        rule=rule,
        timestamp=int(member(initializer, "startingTimestamp")) if rule is OffsetRule.TIMESTAMP else None,
        offsets=()
        if offsets is None
        else tuple(
            sorted(
                (
                    KafkaOffset(partition=_partition(entry.getKey()), offset=int(entry.getValue()))
                    for entry in offsets.entrySet()
                ),
                key=lambda one: str(one.partition),
            )
        ),
        class_name=class_name(initializer) if rule is OffsetRule.OWN else None,
    )


def _sink(sink: Java) -> Connector:
    if class_name(sink) == _KAFKA + "sink.KafkaSink":
        return KafkaSink(
            guarantee=DeliveryGuarantee[str(member(sink, "deliveryGuarantee").name())],
            transactional_id_prefix=text_or_none(member(sink, "transactionalIdPrefix")),
            naming=_naming(sink),
        )
    writer, committable = _serializer(sink, "getWriterStateSerializer"), _serializer(sink, "getCommittableSerializer")
    return OtherSink(
        class_name=str(sink.getClass().getName()),
        writer_serializer=class_name(writer),
        committable_serializer=class_name(committable),
        forms=_forms(writer, committable),
    )


def _naming(sink: Java) -> TransactionNaming:
    """How the sink names transactions; connectors before 4.0 have no field for it."""
    try:
        return TransactionNaming[str(member(sink, "transactionNamingStrategy").name())]
    except AttributeError:
        return TransactionNaming.BEFORE_4


def _serializer(sink: Java, method: str) -> Java:
    """A serializer that not every sink has."""
    return getattr(sink, method)() if hasattr(sink, method) else None


def _forms(*serializers: Java) -> tuple[VersionedForm, ...]:
    """The forms of versioned serializers; of one that does not tell its version there is none."""
    return tuple(form for one in serializers if one is not None and (form := _form(one)) is not None)


def _form(serializer: Java) -> VersionedForm | None:
    try:
        version = int(serializer.getVersion())
    except (AttributeError, jpype.JException):
        return None
    name = class_name(serializer) or ""
    loader, slashed = serializer.getClass().getClassLoader(), name.replace(".", "/")
    digest = None
    if loader is not None and classes_of(loader).here(slashed):
        digest = Walk(classes_of(loader).seen_from(slashed), slashed).methods(slashed, _WRITES).digest()
    return VersionedForm(class_name=name, version=version, digest=digest)
