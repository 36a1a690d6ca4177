"""Operators whose function registered timers in OLD and does not in NEW."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        if pair.old.detail.get("timers") is True and pair.new.detail.get("timers") is False:
            yield check.finding(
                RULE,
                f"{pair.new.label} registers no timers any more",
                consequence="Timers in the savepoint still fire and call on_timer().",
                reason="OLD's function registers timers, NEW's does not.",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text="Keep an on_timer() that deals with the timers of the old version."),),
            )


RULE = Rule(
    id="CMP412",
    name="timers-dropped",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="OLD registered timers, NEW does not handle them.",
    why="Timers are part of the state. Those that OLD set fire in NEW too, into a function that does nothing with "
    "them.",
    old="def on_timer(self, timestamp, ctx): yield self.count.value()",
    new="# no on_timer",
    fix="Keep on_timer until the last timer of OLD has fired.",
    find=_find,
)
