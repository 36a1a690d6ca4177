"""The catalogue of exceptions during a restore, made from Flink's sources (1.17 to 2.3) and from real restores."""

from __future__ import annotations

import re

from compat.diagnosis.catalogue import connectors, files, operators, states, values
from compat.diagnosis.entry import Entry

_SAID = r"Could not restore (?:keyed|operator) state backend for "

RESTORE = Entry(
    name="backend-not-restored",
    title="Could not restore keyed state backend for … from any of the … provided restore options",
    pattern=re.compile(
        _SAID
        + r"(?P<operator_class>[\w$]+)_(?P<operator>[0-9a-f]{32})_\((?P<subtask>\d+)/(?P<parallelism>\d+)\) from any of the"
    ),
    happened="Flink could not restore the state of an operator, for a reason that is not in the catalogue.",
    rules=("CMP418",),
    now="It restores the state into the new program's operators, and says at which state and class that fails.",
    example="org.apache.flink.util.FlinkException: Could not restore keyed state backend for "
    "KeyedProcessOperator_90bea66de1c231edf33913ecd54406c1_(1/2) from any of the 1 provided restore options.",
)
"""The TaskManager's message around any other reason; it is tried last, as it gives no reason itself."""

ENTRIES: tuple[Entry, ...] = (
    *operators.ENTRIES,
    *states.ENTRIES,
    *connectors.ENTRIES,
    *files.ENTRIES,
    *values.ENTRIES,
    RESTORE,
)
"""All entries in the order in which they are tried."""
