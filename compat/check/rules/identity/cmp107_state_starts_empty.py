"""Stateful operators of NEW for which OLD has nothing. CMP102 reports those that lost their id."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.amounts import only_timers
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.identity import hidden
from compat.check.rule import Rule
from compat.state.model.connectors import FileSource, KafkaSource, OffsetRule
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    successors = {operator.id for operator in check.mapping.successors.values()}
    for new in check.mapping.fresh:
        if not new.has_state or new.id in successors or only_timers(new) or hidden(new):
            continue
        yield check.finding(
            RULE,
            f"{new.label} finds no state in {check.old.name}",
            consequence=_consequence(new),
            reason=f"OLD has nothing under its id {new.id}"
            + (f" nor under its user hash {new.user_hash}." if new.user_hash else "."),
            new=new,
            fixes=(
                Fix(
                    text="Nothing, if the operator is new. If it took over from another one, give it that one's uid, or "
                    "its id with .set_uid_hash."
                ),
            ),
        )


def _consequence(operator: Operator) -> str:
    """What the operator does without state: of a source, which records are read again, or skipped."""
    if isinstance(operator.connector, KafkaSource):
        return _OF_KAFKA[operator.connector.starting.rule].format(
            start=operator.connector.starting,
            group=f"the group {group!r}" if (group := operator.connector.group_id) else "its group",
        )
    if isinstance(operator.connector, FileSource) or operator.kind == "file_monitor":
        return "It reads all files from their beginning: the records that OLD read are read again."
    if operator.kind in ("source", "legacy_source"):
        return "It starts reading where its settings say, not where OLD stopped: records are read again, or skipped."
    return "It starts without state."


_OF_KAFKA = {
    OffsetRule.EARLIEST: "It starts reading at the earliest offsets: all records that its topics still hold are read again.",
    OffsetRule.LATEST: "It starts reading at the latest offsets: the records that came since the savepoint are skipped.",
    OffsetRule.COMMITTED: "It starts reading at the offsets that {group} committed last, at a checkpoint: the records that OLD "
    "read behind them are read again. Without committed offsets the reset strategy decides, and latest skips records.",
    OffsetRule.TIMESTAMP: "It starts reading at {start}: records since then are read again, and older ones are skipped.",
    OffsetRule.OFFSETS: "It starts reading at the {start} of the program: the records behind them are read again, those before "
    "them are skipped.",
    OffsetRule.OWN: "It starts reading where {start} says, not where OLD stopped: records are read again, or skipped.",
}


RULE = Rule(
    id="CMP107",
    name="state-starts-empty",
    level=Level.WARNING,
    fate=Fate.EMPTY,
    summary="A stateful operator of NEW finds no state in OLD.",
    why="That is right for a new operator. For one that existed before, it means that its id changed and that it starts empty.",
    old="keyed.process(Count())",
    new='keyed.process(Count())\nkeyed.process(Alert()).uid("alert")',
    fix='Nothing if the operator is new. Otherwise pin it to its old id with .set_uid_hash("<old id>").',
    find=_find,
)
