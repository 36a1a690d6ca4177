"""What sources and sinks in Java keep, of programs in Python."""

from __future__ import annotations

from typing import Any

import pytest

from compat.compiler.datastream.connectors.base import Sink
from compat.compiler.datastream.connectors.cassandra import _CassandraFunction
from compat.compiler.datastream.connectors.file_sink import FileSink
from compat.compiler.datastream.functions import SinkFunction, SourceFunction
from compat.compiler.transformations import operators as ops
from compat.plan.built_in import more_of, states_of
from compat.state import names


class _Own(FileSink):
    """A sink of the program's own, which is a file sink all the same."""


def without_init(cls: type) -> Any:
    return cls.__new__(cls)


@pytest.mark.parametrize(
    ("operator", "kept", "known"),
    [
        (ops.SinkWriter(function=without_init(FileSink)), {names.SINK_WRITER}, True),
        (ops.SinkWriter(function=without_init(_Own)), {names.SINK_WRITER}, True),
        (ops.SinkWriter(function=Sink("com.acme.Sink")), set(), False),
        (ops.LegacySink(function=_CassandraFunction({})), set(), True),
        (ops.LegacySink(function=_CassandraFunction({"write_ahead_log": True})), {names.PENDING_CHECKPOINTS}, True),
        (ops.LegacySink(function=SinkFunction("com.acme.OldSink")), set(), False),
        (ops.LegacySource(function=SourceFunction("com.acme.OldSource")), set(), False),
    ],
)
def test_by_class(operator: Any, kept: set[str], known: bool) -> None:
    assert {state.name for state in states_of(operator)} == kept
    assert (more_of(operator) is None) == known
