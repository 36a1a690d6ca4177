"""Ignore comments that suppress nothing."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule

RULE = Rule(
    id="CMP904",
    name="unused-ignore",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="An ignore comment in NEW suppresses nothing.",
    why="The finding it was written for is gone. Left in place, the comment would hide the next one of that rule.",
    old="keyed.process(Count())  # compat: ignore[CMP402] renamed on purpose",
    new="keyed.process(Count())",
    fix="Remove the rule's id from the comment, or the whole comment.",
)
