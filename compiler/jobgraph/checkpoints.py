"""The checkpoint settings of a job. Flink: ``StreamGraph.createJobCheckpointingSettings``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compat.compiler.configuration import (
    CHECKPOINT_ALIGNED_TIMEOUT,
    CHECKPOINT_MAX_CONCURRENT,
    CHECKPOINT_MIN_PAUSE,
    CHECKPOINT_MODE,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    CHECKPOINT_TOLERABLE_FAILURES,
    SHORTEST_CHECKPOINT,
    parse_boolean,
    parse_duration,
    parse_integer,
)
from compat.compiler.errors import illegal_argument
from compat.compiler.jobgraph.graph import NO_CHECKPOINTS, CheckpointRetention, CheckpointSettings
from compat.compiler.streamgraph.graph import StreamGraph

_DURING_BACKLOG = "execution.checkpointing.interval-during-backlog"
_IGNORED_IN_FLIGHT = "execution.checkpointing.recover-without-channel-state.checkpoint-id"
_AFTER_TASKS_FINISH = "execution.checkpointing.checkpoints-after-tasks-finish"
_RECOVER_OUTPUT = "execution.checkpointing.unaligned.recover-output-on-downstream.enabled"
_LONGEST_PAUSE = 365 * 24 * 3_600_000
_MODES = ("EXACTLY_ONCE", "AT_LEAST_ONCE")
_RETENTIONS = {
    "NO_EXTERNALIZED_CHECKPOINTS": CheckpointRetention.NEVER_RETAIN_AFTER_TERMINATION,
    "RETAIN_ON_CANCELLATION": CheckpointRetention.RETAIN_ON_CANCELLATION,
    "DELETE_ON_CANCELLATION": CheckpointRetention.RETAIN_ON_FAILURE,
}


def checkpoint_settings(graph: StreamGraph) -> CheckpointSettings:
    """The checkpoint settings of a graph's job. Raises Flink's refusal of settings that exclude each other."""
    settings, options = graph.settings, graph.settings.options

    def duration(key: str, default: int) -> int:
        return parse_duration(options[key]) if key in options else default

    def integer(key: str, default: int) -> int:
        return parse_integer(key, options[key]) if key in options else default

    def boolean(key: str, default: bool) -> bool:
        return parse_boolean(key, options[key]) if key in options else default

    interval = settings.checkpoint_interval
    enabled = interval is not None and settings.checkpointing and not graph.batch
    normal = interval if interval is not None and enabled else NO_CHECKPOINTS
    # an interval of zero: none are taken while a source works off its backlog
    during_backlog = duration(_DURING_BACKLOG, normal) or NO_CHECKPOINTS
    if during_backlog < normal:
        raise illegal_argument(
            "Checkpoint interval during backlog must be larger than or equal to that in normal situation."
        )
    timeout = duration(CHECKPOINT_TIMEOUT, 600_000)
    if timeout < SHORTEST_CHECKPOINT:
        raise illegal_argument(f"Checkpoint timeout must be larger than or equal to {SHORTEST_CHECKPOINT} ms")
    _choice(options, CHECKPOINT_MODE, _MODES)
    exactly_once = enabled and not settings.at_least_once
    unaligned = exactly_once and settings.unaligned
    max_concurrent = integer(CHECKPOINT_MAX_CONCURRENT, 1)
    if unaligned and max_concurrent > 1:
        raise illegal_argument("maxConcurrentCheckpoints can't be > 1 if UnalignedCheckpoints enabled")
    min_pause = min(duration(CHECKPOINT_MIN_PAUSE, 0), _LONGEST_PAUSE)
    return CheckpointSettings(
        interval=max(normal, min_pause),
        interval_during_backlog=during_backlog,
        timeout=timeout,
        min_pause=min_pause,
        max_concurrent=max_concurrent,
        retention=_RETENTIONS[_choice(options, CHECKPOINT_RETENTION, _RETENTIONS)],
        exactly_once=exactly_once,
        unaligned=unaligned,
        aligned_timeout=duration(CHECKPOINT_ALIGNED_TIMEOUT, 0),
        tolerable_failures=integer(CHECKPOINT_TOLERABLE_FAILURES, 0),
        ignored_in_flight=integer(_IGNORED_IN_FLIGHT, -1),
        after_tasks_finish=boolean(_AFTER_TASKS_FINISH, boolean(f"{_AFTER_TASKS_FINISH}.enabled", True)),
        recover_output_downstream=boolean(_RECOVER_OUTPUT, False),
    )


def _choice(options: Mapping[str, str], key: str, names: Iterable[str]) -> str:
    """The name that an option holds, the first one where it is not set."""
    known = list(names)
    chosen = options.get(key, known[0]).strip().upper()
    if chosen not in known:
        raise illegal_argument(f"Could not parse value '{options[key]}' for key '{key}'.")
    return chosen
