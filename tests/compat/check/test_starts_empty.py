"""What a source reads that finds no state: again, or never."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.state.model.connectors import Connector, FileSource, KafkaOffsets, KafkaSource, OffsetRule
from tests.compat.builders import operator, program


def kafka(rule: OffsetRule, **more: object) -> KafkaSource:
    return KafkaSource(topics=("orders",), group_id="shop", starting=KafkaOffsets(rule=rule, **more))


@pytest.mark.parametrize(
    ("connector", "words"),
    [
        (kafka(OffsetRule.EARLIEST), "all records that its topics still hold are read again"),
        (kafka(OffsetRule.LATEST), "the records that came since the savepoint are skipped"),
        (kafka(OffsetRule.COMMITTED), "the offsets that the group 'shop' committed last"),
        (kafka(OffsetRule.TIMESTAMP, timestamp=12), "at timestamp 12: records since then are read again, and older"),
        (kafka(OffsetRule.OFFSETS), "those before them are skipped"),
        (kafka(OffsetRule.OWN, class_name="org.Mine"), "where org.Mine says"),
        (FileSource(paths=("in",), looks_for_more=False), "the records that OLD read are read again"),
        (None, "records are read again, or skipped"),
    ],
)
def test_a_source_without_state_says_what_it_reads(connector: Connector | None, words: str) -> None:
    source = operator("orders", uid="orders", kind="source", connector=connector)
    other = operator("count", uid="count")
    found = check(program("old", other), program("new", source, other)).findings
    (finding,) = (one for one in found if one.rule == "CMP107")
    assert words in finding.consequence
