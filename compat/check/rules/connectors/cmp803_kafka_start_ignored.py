"""Another consumer group or other starting offsets, which a restored Kafka source does not look at."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.connectors import restored
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.connectors import KafkaSource


def _find(check: Check) -> Iterator[Finding]:
    told = not any(one.what == "settings" for one in (*check.old.assumed, *check.new.assumed))
    for pair, old, new in restored(check, KafkaSource):
        if old.group_id != new.group_id and (told or None not in (old.group_id, new.group_id)):
            yield _finding(check, pair, "group", f"group {old.group_id!r}", f"{new.group_id!r}", _GROUP)
        if old.starting != new.starting:
            yield _finding(check, pair, "start", f"starting offsets {old.starting}", str(new.starting), _START)


def _finding(check: Check, pair: Pair, subject: str, was: str, now: str, consequence: str) -> Finding:
    return check.finding(
        RULE,
        f"{pair.new.label} had the {was} and has {now}, which changes nothing at a restore",
        consequence=consequence,
        reason="The offsets in the savepoint win: group and starting offsets are asked only for partitions without one.",
        old=pair.old,
        new=pair.new,
        fixes=(
            Fix(
                text="Nothing, if reading should go on. To start from these offsets, give the source a uid of "
                "its own and restore with -n.",
                code=uid_call(pair.new, check),
            ),
        ),
        silent=True,
        subject=subject,
    )


_GROUP = (
    "Reading goes on at the offsets of the savepoint. Monitoring shows no progress of the old group; the new group has "
    "offsets from the first checkpoint on, and needs its own access rights."
)
_START = "Reading goes on at the offsets of the savepoint, not where the new starting offsets say."

RULE = Rule(
    id="CMP803",
    name="kafka-start-ignored",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="Another consumer group or other starting offsets do not move a restored Kafka source.",
    why="A KafkaSource keeps the offset of every partition in its state. Kafka's committed offsets and the starting "
    "offsets apply only to partitions without an offset in the state.",
    old='KafkaSource.builder().set_group_id("counts")',
    new='KafkaSource.builder().set_group_id("counts-again")',
    fix="To read from elsewhere, start the source under another uid and restore with -n.",
    find=_find,
)
