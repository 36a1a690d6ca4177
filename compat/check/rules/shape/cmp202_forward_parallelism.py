"""Forward edges between different parallelisms, for which Flink refuses the program."""

from __future__ import annotations

from compat.check.findings import Fate, Level
from compat.check.rule import Rule

RULE = Rule(
    id="CMP202",
    name="forward-parallelism",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="A forward connection joins operators of different parallelism.",
    why="Forward sends each record to the subtask of the same number, so both sides need the same number of subtasks. "
    "Flink refuses the job.",
    old="a.map(f).forward().map(g)",
    new="a.map(f).set_parallelism(2).forward().map(g).set_parallelism(4)",
    fix="Use rebalance() or rescale() instead of forward(), or give both the same parallelism. A key_by on a "
    "union of streams of unequal parallelism forces forward too.",
)
