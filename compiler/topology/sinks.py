"""The sinks that a topology can name, by the parts they have."""

from __future__ import annotations

from compat.compiler.transformations.model import SinkStep, SinkTopology
from compat.compiler.transformations.operators import Operator
from compat.compiler.transformations.partitioners import GLOBAL, REBALANCE

_WRITER = SinkStep(
    name="Writer",
    operator=Operator(kind="sink_writer", factory="SinkWriterOperatorFactory", yielding=True),
)
_COMMITTER = SinkStep(name="Committer", operator=Operator(kind="sink_committer", factory="CommitterOperatorFactory"))
_GLOBAL_COMMITTER = SinkStep(
    name="Global Committer",
    operator=Operator(kind="sink_global_committer", factory="SimpleOperatorFactory"),
    deferred=True,
)
_PRE_WRITE = SinkStep(name="pre-write", operator=Operator(kind="map"), partitioner=REBALANCE)
_PRE_COMMIT = SinkStep(name="pre-commit", operator=Operator(kind="map"), partitioner=GLOBAL, parallelism=1)
_POST_COMMIT = SinkStep(name="post-commit", operator=Operator(kind="map"))

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
