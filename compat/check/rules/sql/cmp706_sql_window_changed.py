"""Kinds and sizes of windows, ranges of OVER, and watermarks."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.check.sql.aspects import Aspect
from compat.check.sql.findings import findings

_KEEP = (
    "Keep the window, or stop OLD with --drain so that all windows fire, and start NEW without the state "
    "of this operator."
)


def _find(check: Check) -> Iterator[Finding]:
    yield from findings(check, RULE, Aspect.WINDOW, _KEEP)


RULE = Rule(
    id="CMP706",
    name="sql-window-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if open sessions end as they began, and for watermarks",
    fate=Fate.WRONG_HANDS,
    summary="A window of a query has another kind or size.",
    why="TUMBLE, HOP and CUMULATE keep one number for each slice of time, under its end. Other slices read "
    "the old numbers as their own; an OVER that looks back further misses the rows that were dropped.",
    old="TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)",
    new="TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '2' HOUR)",
    fix="Keep the window, or drain OLD before NEW starts.",
    find=_find,
)
