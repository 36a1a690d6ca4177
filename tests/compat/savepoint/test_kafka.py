"""Kafka's source and sink in a savepoint: what the bytes tell that each version of the connector wrote."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from compat.check.decision import check
from compat.check.findings import Finding, Level
from compat.savepoint import facts
from compat.savepoint.connectors import kafka_splits, kafka_writers
from compat.savepoint.recorded import recorded
from compat.state import names as framework
from compat.state.flink import HeaderReader, Versioned, parse_metadata, read_metadata, read_versioned
from compat.state.model.connectors import (
    Connector,
    DeliveryGuarantee,
    KafkaOffsets,
    KafkaSink,
    KafkaSource,
    OffsetRule,
    TransactionNaming,
)
from compat.state.model.states import State, StateKind, StateScope
from tests.compat.builders import operator, program
from tests.compat.pairs.record_kafka import RECORDS, VERSIONS
from tests.compat.savepoint.conftest import saved
from tests.state.flink import writer as w

WRITTEN = {version: record["written"] for version, record in json.loads(RECORDS.read_text(encoding="utf-8")).items()}
VERSION = pytest.mark.parametrize("version", VERSIONS)
LATEST = KafkaOffsets(rule=OffsetRule.LATEST)
BYTES = w.snapshot("org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer$Snapshot")


def metadata(state: str, *elements: str) -> bytes:
    """A savepoint with one operator, whose subtasks hold an element each."""
    header = w.operator_header([w.state_meta(state, 1, VALUE_SERIALIZER=BYTES)])
    subtasks = [
        w.subtask(
            index,
            managed_operator=w.operator_stream(
                w.inline(header + w.sized(bytes.fromhex(element))), w.partition(state, 0, [len(header)])
            ),
        )
        for index, element in enumerate(elements)
    ]
    return w.metadata(w.operator(*subtasks, uid="kafka"))


def told(kind: str, connector: Connector | None, state: str, *elements: str) -> list[Finding]:
    """The findings about connectors, of a job with one operator against a savepoint with its state."""
    kept = State(name=state, kind=StateKind.LIST, scope=StateScope.OPERATOR, built_in=True)
    one = operator("kafka", uid="kafka", id=w.OPERATOR_ID.hex(), kind=kind, connector=connector, states=(kept,))
    new = program("new.py", one)
    savepoint = parse_metadata(metadata(state, *elements), "/nowhere/_metadata")
    findings = check(facts.program(recorded(savepoint), "savepoint", new), new).findings
    return [finding for finding in findings if finding.rule[3] in "28"]


def of_source(connector: Connector | None, *elements: str) -> list[Finding]:
    return told("source", connector, framework.SOURCE_READER, *elements)


def split(topic: str) -> str:
    """A split without an end, of partition 0 of a topic."""
    data = w.utf(topic) + w.integer(0) + w.long(42, -(2**63))
    return (w.integer(0) + w.sized(data)).hex()


def test_a_split_is_written_as_the_connector_writes_it() -> None:
    assert {written["a split"] for written in WRITTEN.values()} == {split("orders")}


@VERSION
def test_a_topic_that_is_not_named_any_more_is_still_read(version: str) -> None:
    new = KafkaSource(topics=("payments",), starting=LATEST)
    (gone, added) = of_source(new, WRITTEN[version]["a split"])
    assert (gone.rule, gone.level) == ("CMP801", Level.ERROR)
    assert "'orders'" in gone.title
    assert added.rule == "CMP802"
    assert "'payments'" in added.title


@pytest.mark.parametrize(
    "new",
    [
        KafkaSource(topics=("orders",), starting=LATEST, group_id="counts"),
        KafkaSource(topic_pattern="ord.*", starting=LATEST),
    ],
)
def test_the_source_that_wrote_it_has_no_finding(new: KafkaSource) -> None:
    assert of_source(new, split("orders"), split("orders")) == []


def test_partitions_that_ended_stay_ended_and_others_get_no_end() -> None:
    ended = WRITTEN["5.0.0-2.2"]["a split with an end"]
    (stops,) = of_source(KafkaSource(topics=("orders",), starting=LATEST), ended)
    assert (stops.rule, stops.level) == ("CMP804", Level.ERROR)
    bounded = KafkaSource(topics=("orders",), starting=LATEST, stopping=LATEST, bounded=True)
    assert of_source(bounded, ended) == []
    (endless,) = of_source(bounded, split("orders"))
    assert (endless.rule, endless.level) == ("CMP804", Level.WARNING)


@VERSION
def test_a_sink_that_is_named_otherwise(version: str) -> None:
    state = WRITTEN[version]["a writer's state"]
    naming = None if version.startswith("3.") else TransactionNaming.POOLING
    once = KafkaSink(guarantee=DeliveryGuarantee.EXACTLY_ONCE, transactional_id_prefix="counts", naming=naming)
    exactly_once = replace(once, transactional_id_prefix="counts-2")
    (found,) = told("sink_writer", exactly_once, framework.SINK_WRITER, state)
    assert found.rule == "CMP805"
    assert "'counts'" in found.title
    assert told("sink_writer", once, framework.SINK_WRITER, state) == []


@VERSION
def test_the_naming_of_transactions_is_told_by_every_form(version: str) -> None:
    state, named = WRITTEN[version]["a writer's state"], set()
    for naming in TransactionNaming:
        new = KafkaSink(guarantee=DeliveryGuarantee.EXACTLY_ONCE, transactional_id_prefix="counts", naming=naming)
        named |= {naming} if told("sink_writer", new, framework.SINK_WRITER, state) else set()
    assert named == {TransactionNaming.POOLING if version.startswith("3.") else TransactionNaming.INCREMENTING}


def test_an_unknown_owner_of_transactions_is_nothing_that_kafka_wrote() -> None:
    known, unknown = ((w.utf("a") + w.integer(0, 1, ordinal, 0)) for ordinal in (1, 2))
    (read,) = {kafka_writers([Versioned(2, known)])}
    assert read is not None
    assert read.naming is TransactionNaming.POOLING
    assert kafka_writers([Versioned(2, unknown)]) is None


@VERSION
def test_the_guarantee_is_told_by_the_form_of_4_0_alone(version: str) -> None:
    weaker = KafkaSink(guarantee=DeliveryGuarantee.AT_LEAST_ONCE, transactional_id_prefix="counts")
    found = told("sink_writer", weaker, framework.SINK_WRITER, WRITTEN[version]["a writer's state"])
    assert [one.rule for one in found] == ([] if version.startswith("3.") else ["CMP806"])


def test_splits_of_another_source_are_not_kafkas() -> None:
    savepoint = read_metadata(saved("small_uid_p2_canonical")["path"])
    headers = HeaderReader(savepoint)
    splits = [
        one
        for operator in savepoint.operators
        for one in read_versioned(savepoint, operator, framework.SOURCE_READER, headers)
    ]
    assert splits
    assert kafka_splits(splits) is None


@pytest.mark.parametrize(
    "element",
    [
        Versioned(1, bytes.fromhex(split("orders"))[8:]),
        Versioned(0, bytes.fromhex(split("no topic"))[8:]),
        Versioned(0, bytes.fromhex(split("orders"))[8:] + b"\0"),
        Versioned(0, b"\0\6ord"),
        Versioned(0, b""),
    ],
)
def test_other_bytes_are_not_kafkas(element: Versioned) -> None:
    assert kafka_splits([element]) is None
    assert kafka_splits([Versioned(0, bytes.fromhex(split("orders"))[8:]), element]) is None


def test_writers_that_disagree_tell_nothing() -> None:
    states = [Versioned(1, w.utf(prefix)) for prefix in ("a", "b")]
    assert kafka_writers(states) is None
    assert kafka_writers(states[:1]) is not None
    assert kafka_writers([]) is None


@pytest.mark.parametrize("offset", [-1, 5, 10**9])
def test_elements_that_are_not_where_they_should_be_are_left(offset: int) -> None:
    header = w.operator_header([w.state_meta("s", 1, VALUE_SERIALIZER=BYTES)])
    stream = w.operator_stream(w.inline(header + b"\0" * 20), w.partition("s", 0, [offset]))
    savepoint = parse_metadata(w.metadata(w.operator(w.subtask(managed_operator=stream))), "/nowhere/_metadata")
    assert read_versioned(savepoint, savepoint.operators[0], "s", HeaderReader(savepoint)) == ()
