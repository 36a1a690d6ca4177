"""Family 2: the shape of the job."""

from __future__ import annotations

from compat.check.findings import Level
from compat.check.rules.texts.model import RuleInfo

RULES = (
    RuleInfo(
        id="CMP201",
        name="chain-changed",
        level=Level.NOTE,
        summary="Operators moved from one chain to another.",
        why="State belongs to operators, not to chains, so it is not affected. Generated ids may be: they count the "
        "outputs that are chained to an operator.",
        old='stream.map(f).uid("f").map(g).uid("g")',
        new='stream.map(f).uid("f").map(g).uid("g").start_new_chain()',
        fix="Nothing where uids are set. Where they are not, see the other findings.",
    ),
    RuleInfo(
        id="CMP202",
        name="forward-parallelism",
        level=Level.ERROR,
        summary="A forward connection joins operators of different parallelism.",
        why="Forward hands each record to the subtask of the same number, which needs as many subtasks on both sides. "
        "Flink refuses the job.",
        old="a.map(f).forward().map(g)",
        new="a.map(f).set_parallelism(2).forward().map(g).set_parallelism(4)",
        fix="Use rebalance() or rescale() instead of forward(), or give both the same parallelism. A key_by on a "
        "union of streams of unequal parallelism forces forward too.",
    ),
    RuleInfo(
        id="CMP203",
        name="iteration-with-checkpoints",
        level=Level.ERROR,
        summary="A job with iterations switches checkpointing on.",
        why="Records in flight on the feedback edge are not part of a checkpoint, so exactly-once cannot hold. Flink "
        "refuses such a job unless it is forced.",
        old="loop = stream.iterate()",
        new="env.enable_checkpointing(1000)\nloop = stream.iterate()",
        fix="Switch checkpointing off, replace the iteration by an outside queue, or force checkpointing and accept "
        "that records in the loop are lost at a restore.",
    ),
    RuleInfo(
        id="CMP204",
        name="finished-operators",
        level=Level.ERROR,
        summary="The topology of a partly finished job changed in a way that Flink refuses.",
        why="A checkpoint taken after some operators had finished records that. An operator that is new in front of a "
        "finished one, or a chain that mixes finished and running ones, cannot be started from it.",
        old='bounded.map(f).uid("f")   # finished at the time of the checkpoint',
        new='bounded.map(extra).uid("extra").map(f).uid("f")',
        fix="Keep the finished part as it was, or restore from a savepoint taken before it finished.",
    ),
    RuleInfo(
        id="CMP205",
        name="records-in-flight",
        level=Level.ERROR,
        summary="An unaligned checkpoint holds records that wait where the new job has no exchange.",
        why="Records in flight belong to a network exchange between two chains. Where NEW chains the two operators, there "
        "is nothing to put them into, and Flink refuses the restore.",
        old="a.rebalance().map(f)   # records wait between a and f",
        new="a.map(f)               # one chain",
        fix="Keep the exchange for one restore, or restore from a savepoint: it holds no records in flight.",
    ),
)
