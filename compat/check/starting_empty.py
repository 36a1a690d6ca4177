"""What an operator does that starts without state: of a source, which records are read again, or skipped."""

from __future__ import annotations

from compat.state.model.connectors import FileSource, KafkaSource, OffsetRule
from compat.state.model.operators import Operator

_SOURCES = ("source", "legacy_source", "file_monitor")


def is_source(operator: Operator) -> bool:
    """Whether an operator reads what comes into the job."""
    return operator.kind in _SOURCES


def without_state(operator: Operator) -> str:
    """What the operator does without state: of a source, which records are read again, or skipped."""
    if isinstance(operator.connector, KafkaSource):
        return _OF_KAFKA[operator.connector.starting.rule].format(
            start=operator.connector.starting,
            group=f"the group {group!r}" if (group := operator.connector.group_id) else "its group",
        )
    if isinstance(operator.connector, FileSource) or operator.kind == "file_monitor":
        return "It reads all files from their beginning: the records that OLD read are read again."
    if is_source(operator):
        return "It starts reading where its settings say, not where OLD stopped: records are read again, or skipped."
    return "It starts without state."


_OF_KAFKA = {
    OffsetRule.EARLIEST: "It starts reading at the earliest offsets: all records that its topics still hold are read again.",
    OffsetRule.LATEST: "It starts reading at the latest offsets: the records that came since the savepoint are skipped.",
    OffsetRule.COMMITTED: "It starts reading at the offsets that {group} committed last, at a checkpoint: the records that OLD "
    "read behind them are read again. Without committed offsets the reset strategy decides, and latest skips records.",
    OffsetRule.TIMESTAMP: "It starts reading at {start}: records since then are read again, and older ones are skipped.",
    OffsetRule.OFFSETS: "It starts reading at the {start} of the program: the records behind them are read again, those before "
    "them are skipped.",
    OffsetRule.OWN: "It starts reading where {start} says, not where OLD stopped: records are read again, or skipped.",
}
