"""Ignore comments that name no rule."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule

RULE = Rule(
    id="CMP905",
    name="invalid-ignore",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="An ignore comment names no rule, or one that does not exist.",
    why="An ignore without ids would hide everything, even future findings. It has no effect.",
    old="keyed.process(Count())  # compat: ignore",
    new="keyed.process(Count())  # compat: ignore[CMP402] renamed on purpose",
    fix="Name the rules in brackets: # compat: ignore[CMP402] reason.",
)
