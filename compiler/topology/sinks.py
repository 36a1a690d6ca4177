"""The sinks that a topology can name, with their parts."""

from __future__ import annotations

from compat.compiler.transformations.kinds import SinkStep, SinkTopology
from compat.compiler.transformations.operators import Call, Described, SinkCommitter, SinkGlobalCommitter, SinkWriter
from compat.compiler.transformations.partitioners import GLOBAL, REBALANCE

_WRITER = SinkStep(name="Writer", operator=SinkWriter())
_COMMITTER = SinkStep(name="Committer", operator=SinkCommitter())
_GLOBAL_COMMITTER = SinkStep(name="Global Committer", operator=SinkGlobalCommitter(), deferred=True)
_PRE_WRITE = SinkStep(name="pre-write", operator=Described(call=Call.MAP), partitioner=REBALANCE)
_PRE_COMMIT = SinkStep(name="pre-commit", operator=Described(call=Call.MAP), partitioner=GLOBAL, parallelism=1)
_POST_COMMIT = SinkStep(name="post-commit", operator=Described(call=Call.MAP))

SINK_TOPOLOGIES: dict[str, SinkTopology] = {
    "writer": SinkTopology(writer=_WRITER, concurrent_attempts=True),
    "committer": SinkTopology(writer=_WRITER, committer=_COMMITTER),
    "global_committer": SinkTopology(writer=_WRITER, committer=_COMMITTER, post_commit=(_GLOBAL_COMMITTER,)),
    "pre_write": SinkTopology(writer=_WRITER, pre_write=(_PRE_WRITE,)),
    "full": SinkTopology(
        pre_write=(_PRE_WRITE,),
        writer=_WRITER,
        pre_commit=(_PRE_COMMIT,),
        committer=_COMMITTER,
        post_commit=(_POST_COMMIT,),
    ),
}
