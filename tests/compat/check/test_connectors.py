"""Sources and sinks that became another connector's."""

from __future__ import annotations

from typing import Any

import pytest

from compat.check.connectors import other_form
from compat.savepoint.connectors import NumbersLeft, OtherLeft
from compat.state.model.connectors import (
    DeliveryGuarantee,
    FileSource,
    KafkaOffsets,
    KafkaSink,
    KafkaSource,
    OffsetRule,
    OtherSink,
    OtherSource,
)
from tests.compat.builders import operator

KAFKA = KafkaSource(topics=("t",), starting=KafkaOffsets(rule=OffsetRule.EARLIEST))
KAFKA_SINK = KafkaSink(guarantee=DeliveryGuarantee.NONE)
FILES = OtherSource(class_name="a.FileSource", split_serializer="a.FileSplits", enumerator_serializer="a.Pending")
RENAMED = OtherSource(class_name="b.OwnFileSource", split_serializer="a.FileSplits", enumerator_serializer="a.Pending")
READ_ONCE = FileSource(paths=("in",), looks_for_more=False)
LOOKING = FileSource(paths=("in",), looks_for_more=True)
_OF_FILES = "org.apache.flink.connector.file.src."
OLDER_PLAN = OtherSource(
    class_name=f"{_OF_FILES}FileSource", split_serializer="a.Splits", enumerator_serializer="a.Pending"
)
OF_DELTA = OtherSource(
    class_name="io.DeltaSource",
    split_serializer="io.DeltaSplits",
    enumerator_serializer=f"{_OF_FILES}PendingSplitsCheckpointSerializer",
)
OF_NUMBERS, UNTOLD = NumbersLeft().source(), OtherLeft().source()
FILE_SINK = OtherSink(class_name="a.FileSink", writer_serializer="a.Buckets", committable_serializer="a.Files")
NEXT_SINK = OtherSink(class_name="a.NextSink", writer_serializer="a.Buckets", committable_serializer="a.Parts")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"connector": KAFKA}, {"connector": FILES}, ("KafkaSource", "FileSource")),
        ({"connector": FILES}, {"connector": KAFKA}, ("FileSource", "KafkaSource")),
        ({"connector": FILES}, {"connector": RENAMED}, None),
        ({"connector": KAFKA}, {"connector": KAFKA}, None),
        ({"connector": FILES}, {}, None),
        ({"connector": READ_ONCE}, {"connector": LOOKING}, None),
        ({"connector": OLDER_PLAN}, {"connector": READ_ONCE}, None),
        ({"connector": READ_ONCE}, {"detail": {"class": "HybridSource"}}, ("FileSource", "HybridSource")),
        ({"connector": READ_ONCE}, {"connector": OF_DELTA}, None),
        ({"connector": OF_DELTA}, {"connector": RENAMED}, ("DeltaSource", "OwnFileSource")),
        ({"connector": OF_NUMBERS}, {"connector": READ_ONCE}, ("NumberSequenceSource", "FileSource")),
        ({"connector": OF_NUMBERS}, {"detail": {"class": "NumberSequenceSource"}}, None),
        ({"connector": OF_NUMBERS}, {"detail": {"class": "DataGeneratorSource"}}, None),
        ({"connector": OF_NUMBERS}, {"detail": {"class": "HybridSource"}}, ("NumberSequenceSource", "HybridSource")),
        ({"connector": UNTOLD}, {"connector": READ_ONCE}, ("source of another kind", "FileSource")),
        ({"connector": UNTOLD}, {"connector": RENAMED}, None),
        ({"connector": UNTOLD}, {"detail": {"class": "HybridSource"}}, None),
        ({"detail": {"class": "FileSource"}}, {"connector": KAFKA}, ("FileSource", "KafkaSource")),
        ({"detail": {"class": "FileSource"}}, {"detail": {"class": "FileSource"}}, None),
    ],
)
def test_sources(old: dict[str, Any], new: dict[str, Any], told: tuple[str, str] | None) -> None:
    assert other_form(operator("in", kind="source", **old), operator("in", kind="source", **new)) == told


@pytest.mark.parametrize(
    ("kind", "old", "new", "told"),
    [
        ("sink_writer", FILE_SINK, NEXT_SINK, None),
        ("sink_committer", FILE_SINK, NEXT_SINK, ("FileSink", "NextSink")),
        ("sink_writer", FILE_SINK, KAFKA_SINK, ("FileSink", "KafkaSink")),
        ("sink_writer", KAFKA_SINK, KAFKA_SINK, None),
    ],
)
def test_sinks(kind: str, old: Any, new: Any, told: tuple[str, str] | None) -> None:
    assert other_form(operator("out", kind=kind, connector=old), operator("out", kind=kind, connector=new)) == told
