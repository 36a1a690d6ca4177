"""Kafka topics that NEW no longer names and goes on reading."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions, kafka
from compat.check.connectors import restored
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level, TopicHeir
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.connectors import KafkaSource


def _find(check: Check) -> Iterator[Finding]:
    for pair, old, new in restored(check, KafkaSource):
        gone = kafka.only_in(old, new)
        if not gone:
            continue
        heirs = _heirs(old, new, gone.certain)
        what = kafka.listed(gone.certain) if gone.certain else f"what only {gone.by_pattern!r} stands for"
        yield check.finding(
            RULE,
            f"{pair.new.label} no longer names {what}, but keeps reading it",
            level=Level.ERROR if gone.certain else Level.WARNING,
            consequence="Flink restores this without an error: the readers take all partitions of the savepoint up "
            "again, those of the dropped topics as well. If a topic was deleted, the job runs on without "
            "it. If it is created again, the job reads it from the restored offset, or as auto.offset.reset "
            "says if that offset is missing.",
            reason="A KafkaSource only ever adds partitions: its state has those that it reads, and topics and patterns "
            "only name new ones.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text=f"Give the source a uid of its own and restore with -n: it starts at {new.starting}. "
                    f"{kafka.ON_FROM_THE_GROUP} Or drop the records behind it.",
                    code=uid_call(pair.new, check),
                ),
                *(code_suggestions.migrate(check) if heirs else ()),
            ),
            heirs=heirs,
            silent=True,
        )


def _heirs(old: KafkaSource, new: KafkaSource, gone: tuple[str, ...]) -> tuple[TopicHeir, ...]:
    """The topics that NEW names and OLD did not: a dropped topic may have been renamed to one of them."""
    came = kafka.only_in(new, old).certain
    return tuple(TopicHeir(topic, came) for topic in gone) if came and old.topics and new.topics else ()


RULE = Rule(
    id="CMP801",
    name="kafka-topic-still-read",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if a pattern names the topics or partitions, as then it is unknown whether any is dropped",
    fate=Fate.UNKNOWN,
    summary="A Kafka topic that NEW no longer names is still read.",
    why="The state of a KafkaSource has the partitions that it reads, and their offsets. No version of the connector "
    "(3.x, 4.x, 5.0) removes restored partitions because they are no longer subscribed to; it only looks for "
    "further ones. Deleting the topic does not change that; but if the program still names a deleted topic, the job "
    "fails at its start.",
    old='KafkaSource.builder().set_topics("orders", "returns")',
    new='KafkaSource.builder().set_topics("orders")',
    fix="Start the source under another uid, from the offsets that its group committed last, and restore with -n.",
    find=_find,
)
