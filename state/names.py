"""The names that Flink, PyFlink and we give to states that no program declares, as in snapshots."""

from __future__ import annotations

SOURCE_READER = "SourceReaderState"
"""The splits of a source's reader."""

FILE_MONITOR = "file-monitoring-state"
"""The time of the newest file that a source has found."""

FILE_SPLITS = "splits"
"""The parts of files that are found and not read to their end."""

SINK_WRITER = "writer_raw_states"
SINK_COMMITTER = "streaming_committer_raw_states"
END_OF_INPUT = "end_of_input_state"
"""Whether the input of a sink's writer had ended: kept by Flink 1.19.2, 1.20.1 and later of 1.x, but not by 2.x."""
FILES_TO_COMPACT, COMPACTION_REQUESTS = "remaining_compact_commit_raw_state", "remaining_requests_raw_state"
"""The files that a file sink still has to compact (`CompactCoordinator`, `CompactorOperator`)."""

KAFKA_OFFSETS = "topic-partition-offset-states"
KINESIS_SHARDS = "Kinesis-Stream-Shard-State"
ACKNOWLEDGED = "message-acknowledging-source-state"
"""The positions of sources of the old kind."""

TRANSACTIONS = "state"
TRANSACTION_HINTS = "next-transactional-id-hint-v2"
BUCKETS = "bucket-states"
PART_COUNTER = "max-part-counter"
PENDING_CHECKPOINTS = "pending-checkpoints"
"""The states in which sinks of the old kind keep output that is not published yet."""

ASYNC_WAIT = "_async_wait_operator_state_"
"""The records for which an asynchronous function has not answered yet."""

REDUCE = "_op_state"
"""The value of a rolling aggregate in Java."""

PYTHON_REDUCE = "_reduce_state"
"""The value of a rolling aggregate in Python; PyFlink may append to the name."""

WINDOW_CONTENTS = "window-contents"
MERGING_WINDOWS = "merging-window-set"
TUMBLING_COUNT = "tumble-count-assigner"
SLIDING_COUNT = "slide-count-assigner"

OF_OPERATORS = frozenset(
    {
        SOURCE_READER,
        SINK_WRITER,
        SINK_COMMITTER,
        END_OF_INPUT,
        ASYNC_WAIT,
        REDUCE,
        WINDOW_CONTENTS,
        MERGING_WINDOWS,
        TUMBLING_COUNT,
        SLIDING_COUNT,
    }
)
"""The names of the states that Flink's own operators keep."""

JAVA_GLOBAL_WINDOW = "org.apache.flink.streaming.api.windowing.windows.GlobalWindow"
"""The global window of the DataStream API, which has the same short name as that of tables."""

EVENT_TIMERS, PROCESSING_TIMERS = "_timer_state/event_", "_timer_state/processing_"
"""The prefixes of the names of a timer service's queues, by clock (`InternalTimeServiceManagerImpl`)."""


def timer_service(queue: str) -> str:
    """The timer service of a queue, whatever its clock; plans of programs in Python name it without one."""
    for clock in (EVENT_TIMERS, PROCESSING_TIMERS, "_timer_state/"):
        if queue.startswith(clock):
            return queue.removeprefix(clock)
    return queue


WINDOW_TIMERS = ("_timer_state/event_window-timers", "_timer_state/processing_window-timers")
"""The timers of a window operator in Java, by either clock."""

TRIGGER_COUNT = "count"
"""The number of records that a trigger has counted in a window."""

OF_TRIGGERS = frozenset({TRIGGER_COUNT, "fire-time"})
"""The names of the states that the triggers of windows keep for each window."""

OF_CONNECTORS = frozenset(
    {
        "LEFT_BUFFER",
        "RIGHT_BUFFER",
        "_default_",
        BUCKETS,
        FILE_MONITOR,
        FILE_SPLITS,
        "from-elements-state",
        PART_COUNTER,
        ACKNOWLEDGED,
        "next-transactional-id-hint",
        TRANSACTION_HINTS,
        PENDING_CHECKPOINTS,
        FILES_TO_COMPACT,
        COMPACTION_REQUESTS,
        TRANSACTIONS,
        "stateful-sequence-source-state",
        KAFKA_OFFSETS,
    }
)
"""The names of the states that sources, sinks and joins of Flink's libraries keep in operators that run functions.

A program may use such a name.
"""

PYTHON_TIMERS = "_timer_state/user-timers"
"""The timers of an operator that runs in Python."""

PYTHON_PREFIX = "python-state-"
"""The prefix of each state's name of a program in PyFlink's process mode."""

TIMERS = "_timers"
"""The timers of an operator in the Delta log."""

SORTED_INPUT = "_sorted-input"
"""The records that a keyed operator gets when the input of a batch has ended, in the Delta log."""
