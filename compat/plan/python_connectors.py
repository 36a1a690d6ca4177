"""The settings of PyFlink's sources and sinks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
)

_RULES = frozenset(rule.value for rule in OffsetRule)


def connector_of(function: Any) -> Connector | None:
    """The settings of a source or sink of PyFlink; None for one that is fully described by its class."""
    if getattr(function, "connector", None) == "filesystem":
        from compat.compiler.datastream.connectors import file_source

        return _file_source(function) if isinstance(function, file_source.FileSource) else None
    if getattr(function, "connector", None) != "kafka":
        return None
    from compat.compiler.datastream.connectors import kafka

    if isinstance(function, kafka.KafkaSource):
        return _kafka_source(function.settings)
    return _kafka_sink(function.settings) if isinstance(function, kafka.KafkaSink) else None


def _file_source(source: Any) -> FileSource:
    return FileSource(paths=tuple(map(str, source.paths)), looks_for_more=not source.bounded)


def _kafka_source(settings: Any) -> KafkaSource:
    stopping = settings.get("stopping_offsets")
    group = settings["properties"].get("group.id")
    return KafkaSource(
        topics=tuple(map(str, settings.get("topics", ()))),
        topic_pattern=settings.get("topic_pattern"),
        partitions=_partitions((str(one.topic), int(one.partition)) for one in settings.get("partitions", ())),
        group_id=None if group is None else str(group),
        starting=_offsets(settings["starting_offsets"]),
        stopping=None if stopping is None else _offsets(stopping),
        bounded=bool(settings.get("bounded", False)),
    )


def _partitions(pairs: Iterable[tuple[str, int]]) -> tuple[KafkaPartition, ...]:
    """Partitions from pairs of topic and number, sorted."""
    return tuple(KafkaPartition(topic=topic, partition=number) for topic, number in sorted(pairs))


def _offsets(initializer: Any) -> KafkaOffsets:
    rule = OffsetRule(initializer.name) if initializer.name in _RULES else OffsetRule.OWN
    given = initializer.arguments.get("offsets", {})
    offsets = sorted(((str(at.topic), int(at.partition)), int(offset)) for at, offset in given.items())
    return KafkaOffsets(
        rule=rule,
        timestamp=initializer.arguments.get("timestamp"),
        offsets=tuple(
            KafkaOffset(partition=KafkaPartition(topic=topic, partition=number), offset=offset)
            for (topic, number), offset in offsets
        ),
        class_name=initializer.name if rule is OffsetRule.OWN else None,
    )


def _kafka_sink(settings: Any) -> KafkaSink:
    return KafkaSink(
        guarantee=DeliveryGuarantee(settings["delivery_guarantee"].name.lower().replace("_", "-")),
        transactional_id_prefix=settings.get("transactional_id_prefix"),
    )
