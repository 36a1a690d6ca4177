"""The state of sinks in a savepoint: nothing relevant, or output that only Flink's own classes can publish.

Kafka writers keep the prefix of their transactions, which have other names on Spark (`KafkaWriterStateSerializer`). Committers
keep the unpublished committables in a list of checkpoints (`CommittableCollectorSerializer`, version 2).
"""

from __future__ import annotations

from typing import Any

from compat.compiler.spark.connectors.table import sink_connector
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.state import names
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError

_MAGIC = 0xB91F252C - (1 << 32)
_VERSION = 2
OF_SINKS = frozenset({names.SINK_WRITER, names.SINK_COMMITTER})


def require_nothing_to_publish(state: str, element: bytes, sink: Any) -> None:
    """Raise Untranslatable for an element of a sink's state that has output in it."""
    connector = sink_connector(sink)
    if state == names.SINK_WRITER and connector is not None and not connector.writers_keep_output:
        return
    if state == names.SINK_COMMITTER and _is_empty(element):
        return
    raise Untranslatable(
        f"state {state!r} has what a sink has written and not published; let the job end with flink stop --drain, or give the "
        "sink another uid and leave its state behind with -n"
    )


def _is_empty(element: bytes) -> bool:
    """Whether a committer's collection has no checkpoints; False for what it cannot be told of."""
    reader = ByteReader(element, "a committer")
    try:
        version = reader.integer()
        body = reader.window(reader.integer(), "a collection")
        magic, _, checkpoints = body.integer(), body.integer(), body.integer()
    except SavepointError:
        return False
    return (version, magic, checkpoints, body.remaining, reader.remaining) == (_VERSION, _MAGIC, 0, 0, 0)
