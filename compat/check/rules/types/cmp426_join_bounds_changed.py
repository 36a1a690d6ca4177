"""Interval joins with other bounds."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("join_bounds"), pair.new.detail.get("join_bounds")
        if before is None or after is None or before == after:
            continue
        wider = after[0] < before[0] or after[1] > before[1]
        yield check.finding(
            RULE,
            f"the bounds of the join {pair.new.label} were {before[0]} to {before[1]} ms and are {after[0]} to {after[1]} ms",
            consequence="Flink restores this without an error. Records in its buffers are removed when the old bounds say so"
            + (", before all that now belongs to them has come: matches are missed." if wider else "."),
            reason="The timers that remove records were set by OLD.",
            old=pair.old,
            new=pair.new,
            fixes=(Fix(text="Nothing, if matches of records from before the savepoint may be missed."),),
            silent=True,
        )


RULE = Rule(
    id="CMP426",
    name="join-bounds-changed",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="The bounds of an interval join changed.",
    why="An interval join keeps the records of both sides until a timer removes them. OLD's records stay only as long "
    "as the old bounds say, so joins with wider bounds miss some.",
    old="a.intervalJoin(b).between(ofMinutes(-5), ofMinutes(5))",
    new="a.intervalJoin(b).between(ofMinutes(-10), ofMinutes(10))",
    fix="Nothing if matches from before the savepoint may be missed.",
    find=_find,
)
