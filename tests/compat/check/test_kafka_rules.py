"""What the rules about Kafka say, and that flink-connector-kafka does so."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from compat.check import kafka
from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Finding, Level
from compat.plan.facts import Program
from compat.state.model.connectors import (
    DeliveryGuarantee,
    KafkaOffsets,
    KafkaPartition,
    KafkaSink,
    KafkaSource,
    OffsetRule,
    TransactionNaming,
)
from compat.state.model.job import Assumed
from tests.compat.builders import operator, program
from tests.compat.pairs.connectors import CONNECTORS
from tests.compat.pairs.record_kafka import RECORDS, VERSIONS

RECORDED = json.loads(RECORDS.read_text(encoding="utf-8"))
EARLIEST, COMMITTED = -2, -3
START = KafkaOffsets(rule=OffsetRule.EARLIEST)
VERSION = pytest.mark.parametrize("version", VERSIONS)


def source(*topics: str, pattern: str | None = None, partitions: tuple[int, ...] = ()) -> KafkaSource:
    """A source of topics, of a pattern, or of partitions of ``orders``."""
    return KafkaSource(
        topics=topics,
        topic_pattern=pattern,
        partitions=tuple(KafkaPartition(topic="orders", partition=number) for number in partitions),
        starting=START,
    )


def sink(prefix: str, guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE) -> KafkaSink:
    """A sink whose transactions have this prefix."""
    return KafkaSink(guarantee=guarantee, transactional_id_prefix=prefix)


def writer(kept: KafkaSink) -> Program:
    """A job with the writer of this sink."""
    return program("job.py", operator("out: Writer", uid="out", kind="sink_writer", connector=kept))


def told(rule: str, *sides: object, options: CheckOptions | None = None) -> list[Finding]:
    """The findings of a rule."""
    return [finding for finding in check(*sides, *([options] if options else [])).findings if finding.rule == rule]  # type: ignore[arg-type]


# What the connector does


@VERSION
def test_a_restored_reader_reads_what_nobody_names_any_more(version: str) -> None:
    record = RECORDED[version]
    assert record["topic dropped"] == {"handed out": {}, "in state": ["orders-0", "returns-0"]}
    assert record["reader of a dropped topic"] == ["orders-0", "returns-0"]


@VERSION
def test_a_partition_found_later_is_read_from_the_earliest_offset_since_3_1(version: str) -> None:
    start = COMMITTED if version.startswith("3.0.") else EARLIEST
    assert RECORDED[version]["topic added"]["handed out"] == {"returns-0": start}
    assert RECORDED[version]["first start"]["handed out"] == {"orders-0": COMMITTED}


@VERSION
def test_other_starting_offsets_hand_out_nothing_and_a_split_keeps_its_end(version: str) -> None:
    assert RECORDED[version]["start changed"] == {"handed out": {}, "in state": ["orders-0"]}
    assert RECORDED[version]["end of a restored split"] == 77


# What the rules say


@pytest.mark.parametrize(
    ("one", "other", "certain", "by_pattern"),
    [
        (source("a", "b"), source("a"), ("b",), None),
        (source("a"), source("a", "b"), (), None),
        (source("a"), source(pattern="a|b"), (), None),
        (source("ab"), source(pattern="a"), ("ab",), None),
        (source("a"), source(pattern="(a+)+b"), (), "(a+)+b"),
        (source("a"), source(pattern="a.*b.*c.*d.*"), (), "a.*b.*c.*d.*"),
        (source("a"), source(pattern="[a-"), (), "[a-"),
        (source("orders"), source(partitions=(0,)), (), "orders"),
        (source("orders", "b"), source(partitions=(0,)), ("b",), None),
        (source(partitions=(0, 1)), source(partitions=(1, 2)), ("orders-0",), None),
        (source(partitions=(0, 1)), source("orders"), (), None),
        (source(partitions=(0,)), source("returns"), ("orders-0",), None),
        (source(pattern="a.*"), source(pattern="a.*"), (), None),
        (source(pattern="a.*"), source(pattern=".*"), (), None),
        (source(pattern="a.*"), source(pattern="b|a.*"), (), None),
        (source(pattern="a.*"), source("ab"), (), "a.*"),
    ],
)
def test_what_only_one_subscription_has(
    one: KafkaSource, other: KafkaSource, certain: tuple[str, ...], by_pattern: str | None
) -> None:
    found = kafka.only_in(one, other)
    assert (found.certain, found.by_pattern) == (certain, by_pattern)
    assert bool(found) == bool(certain or by_pattern)


def test_many_topics_are_not_all_listed() -> None:
    assert kafka.listed(tuple("abcdefgh")) == "'a', 'b', 'c', 'd', 'e' and 3 more"


def test_a_sink_that_lost_its_state_leaves_transactions_to_kafka() -> None:
    old = program("v1.py", operator("out: Writer", uid="out", kind="sink_writer", connector=sink("a")))
    new = program("v2.py", operator("out: Writer", uid="out", kind="sink_writer", connector=sink("b")))
    moved = replace(new, operators=(operator("out: Writer", uid="moved", kind="sink_writer", connector=sink("b")),))
    (restored,), (lost,) = told("CMP805", old, new), told("CMP805", old, moved)
    assert restored.level is lost.level is Level.WARNING
    assert "aborts what is open under 'a'" in restored.consequence
    assert "nobody aborts" in lost.consequence


def test_exactly_once_without_checkpoints_never_commits() -> None:
    weak = sink("a", DeliveryGuarantee.AT_LEAST_ONCE)
    old = program("v1.py", operator("out: Writer", uid="out", kind="sink_writer", connector=weak))
    new = program("v2.py", operator("out: Writer", uid="out", kind="sink_writer", connector=sink("a")))
    taking = replace(new, settings={"checkpoint_interval": 1000})
    assert "nothing is ever committed" in told("CMP806", old, new)[0].consequence
    assert "after the checkpoint" in told("CMP806", old, taking)[0].consequence


BEFORE_4, INCREMENTING, POOLING = TransactionNaming


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (POOLING, INCREMENTING, "Attempted to switch the transaction naming strategy back to INCREMENTING"),
        (POOLING, None, "Attempted to switch the transaction naming strategy back to INCREMENTING"),
        (BEFORE_4, POOLING, "Attempted to migrate from flink-connector-kafka 3.X directly"),
        (INCREMENTING, POOLING, ""),
        (POOLING, POOLING, ""),
        (BEFORE_4, INCREMENTING, ""),
        (None, None, ""),
    ],
)
def test_transactions_that_are_named_in_another_way(
    before: TransactionNaming | None, after: TransactionNaming | None, words: str
) -> None:
    old, new = (writer(replace_fields(sink("a"), naming=naming)) for naming in (before, after))
    found = told("CMP808", old, new)
    assert [finding.level for finding in found] == ([Level.ERROR] if words else [])
    assert all(words in finding.consequence for finding in found)
    weak = writer(replace_fields(sink("a", DeliveryGuarantee.AT_LEAST_ONCE), naming=after))
    assert told("CMP808", old, weak) == []


def test_every_rule_of_kafka_has_a_pair() -> None:
    spoken = set().union(*(pair.rules for pair in CONNECTORS))
    assert {f"CMP80{number}" for number in range(1, 7)} <= spoken


@pytest.mark.parametrize(
    ("old", "new", "assumed", "found"),
    [
        ("counts", "again", (), 1),
        ("counts", None, (), 1),
        ("counts", None, (Assumed(what="settings", name="kafka.properties"),), 0),
        ("counts", "again", (Assumed(what="settings", name="kafka.properties"),), 1),
        ("counts", None, (Assumed(what="variable", name="TOPIC"),), 1),
    ],
)
def test_a_group_in_settings_that_are_not_known_is_no_other_group(
    old: str | None, new: str | None, assumed: tuple[Assumed, ...], found: int
) -> None:
    def reading(name: str, group: str | None, assumed: tuple[Assumed, ...] = ()) -> Program:
        kept = replace(source("orders"), group_id=group)
        reads = operator("orders", uid="orders", kind="source", connector=kept)
        return program(name, reads, assumed=assumed)

    assert len(told("CMP803", reading("v1.jar", old), reading("v2.jar", new, assumed))) == found
