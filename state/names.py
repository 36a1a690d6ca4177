"""The names that Flink, PyFlink and we give to states that no program declares, as they stand in snapshots."""

from __future__ import annotations

SOURCE_READER = "SourceReaderState"
"""The splits of a source's reader."""

SINK_WRITER = "writer_raw_states"
SINK_COMMITTER = "streaming_committer_raw_states"

ASYNC_WAIT = "_async_wait_operator_state_"
"""The records that an asynchronous function was asked about and has not answered."""

REDUCE = "_op_state"
"""The value of a rolling aggregate in Java."""

PYTHON_REDUCE = "_reduce_state"
"""The value of a rolling aggregate in Python; PyFlink may append to the name."""

WINDOW_CONTENTS = "window-contents"
MERGING_WINDOWS = "merging-window-set"
TUMBLING_COUNT = "tumble-count-assigner"
SLIDING_COUNT = "slide-count-assigner"

PYTHON_TIMERS = "_timer_state/user-timers"
"""The timers of an operator that runs in Python."""

PYTHON_PREFIX = "python-state-"
"""Stands before the name of each state of a program in PyFlink's process mode."""

TIMERS = "_timers"
"""The timers of an operator in the Delta log."""
