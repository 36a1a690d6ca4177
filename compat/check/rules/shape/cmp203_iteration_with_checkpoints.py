"""Loops in a job that takes checkpoints, for which Flink refuses the program."""

from __future__ import annotations

from compat.check.findings import Fate, Fix, Level
from compat.check.rule import Rule
from compat.compiler.configuration import CHECKPOINT_INTERVAL, SHORTEST_CHECKPOINT

_OFF = (
    f"leave env.enable_checkpointing and {CHECKPOINT_INTERVAL} out, in Flink's own configuration too: no "
    f"value of it means no checkpoints, Flink refuses all below {SHORTEST_CHECKPOINT} ms"
)
FIX = Fix(
    text=f"Take the loop out of the job; or, to take no checkpoints, {_OFF}.",
    code=f"# {CHECKPOINT_INTERVAL}:",
)
RULE = Rule(
    id="CMP203",
    name="iteration-with-checkpoints",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="A job with iterations switches checkpointing on.",
    why="Records in flight on the feedback edge are not part of a checkpoint, so exactly-once cannot hold. Flink "
    "refuses such a job unless it is forced.",
    old="loop = stream.iterate()",
    new="env.enable_checkpointing(1000)\nloop = stream.iterate()",
    fix=f"Switch checkpointing off ({_OFF}), replace the iteration by an outside queue, or force checkpointing and accept "
    "that records in the loop are lost at a restore.",
)
