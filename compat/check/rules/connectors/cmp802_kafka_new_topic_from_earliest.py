"""Kafka topics that NEW adds to a restored source, and that are read from their beginning."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import kafka
from compat.check.connectors import restored
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.similarity import recorded
from compat.state.model.connectors import KafkaSource, OffsetRule


def _find(check: Check) -> Iterator[Finding]:
    for pair, old, new in restored(check, KafkaSource):
        added = kafka.only_in(new, old)
        if not added or new.starting.rule is OffsetRule.EARLIEST:
            continue
        if recorded(pair.old) and not added.certain:
            continue  # a savepoint has the topics, but not the pattern
        what = kafka.listed(added.certain) if added.certain else f"what only {added.by_pattern!r} stands for"
        yield check.finding(
            RULE,
            f"{pair.new.label} reads {what} from the earliest offset, not from {new.starting}",
            consequence="All records that the new topics hold are read, however old they are.",
            reason="The starting offsets are for the first start. Since version 3.1 the connector reads partitions that it "
            "finds later, also after a restore, from the earliest offset.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Read the new topics with a separate source, which then starts at its own offsets. Nothing, if "
                    "all of their records should be read.",
                    code=f"KafkaSource.builder().set_topics({', '.join(map(repr, added.certain)) or '…'})",
                ),
            ),
            silent=True,
        )


RULE = Rule(
    id="CMP802",
    name="kafka-new-topic-from-earliest",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A Kafka topic that NEW adds is read from the earliest offset, whatever the starting offsets are.",
    why="Starting offsets apply to the partitions of a source's first start. Partitions that it finds later are read "
    "from the earliest offset, so that no record is missed (connector 3.1 and later).",
    old='KafkaSource.builder().set_topics("orders").set_starting_offsets(KafkaOffsetsInitializer.latest())',
    new='KafkaSource.builder().set_topics("orders", "returns").set_starting_offsets(KafkaOffsetsInitializer.latest())',
    fix="Read the new topics with another source, or skip their old records in the program.",
    find=_find,
)
