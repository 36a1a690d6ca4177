"""Records the checkpoint settings of JobGraphs: ``python record.py > settings.json`` with an interpreter that has PyFlink 2.3.

A case is the options of a program and the calls it makes, ``config.`` for those of its CheckpointConfig.
"""

import json
import sys

KEY = "execution.checkpointing."
INTERVAL = {KEY + "interval": "5 s"}
MOST = 2**63 - 1
OPTIONS = [
    {},
    INTERVAL,
    {KEY + "interval": "0 ms"},
    {KEY + "interval": "1 ms"},
    {KEY + "interval": "9 ms"},
    {KEY + "interval": "10 ms"},
    {KEY + "interval": "PT1M"},
    {KEY + "interval": "9223372036854775807 ms"},
    {KEY + "timeout": "3 min"},
    {KEY + "mode": "EXACTLY_ONCE"},
    {"execution.runtime-mode": "BATCH"},
    {**INTERVAL, "execution.runtime-mode": "BATCH"},
    {**INTERVAL, "execution.runtime-mode": "AUTOMATIC"},
    {**INTERVAL, KEY + "interval-during-backlog": "30 s"},
    {**INTERVAL, KEY + "interval-during-backlog": "0 s"},
    {**INTERVAL, KEY + "interval-during-backlog": "1 s"},
    {KEY + "interval-during-backlog": "30 s"},
    {**INTERVAL, KEY + "mode": "AT_LEAST_ONCE"},
    {**INTERVAL, KEY + "mode": "at-least-once"},
    {**INTERVAL, KEY + "timeout": "1 h"},
    {**INTERVAL, KEY + "timeout": "5 ms"},
    {**INTERVAL, KEY + "min-pause": "2 s"},
    {**INTERVAL, KEY + "min-pause": "0 s"},
    {**INTERVAL, KEY + "min-pause": "20 s"},
    {KEY + "min-pause": "20 s"},
    {**INTERVAL, KEY + "max-concurrent-checkpoints": "4"},
    {**INTERVAL, KEY + "max-concurrent-checkpoints": "4", KEY + "min-pause": "2 s"},
    {**INTERVAL, KEY + "max-concurrent-checkpoints": "4", KEY + "unaligned.enabled": "true"},
    {**INTERVAL, KEY + "externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"},
    {**INTERVAL, KEY + "externalized-checkpoint-retention": "DELETE_ON_CANCELLATION"},
    {**INTERVAL, KEY + "externalized-checkpoint-retention": "NO_EXTERNALIZED_CHECKPOINTS"},
    {KEY + "externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"},
    {**INTERVAL, KEY + "unaligned.enabled": "true"},
    {**INTERVAL, KEY + "unaligned": "true"},
    {KEY + "unaligned.enabled": "true"},
    {**INTERVAL, KEY + "unaligned.enabled": "true", KEY + "mode": "AT_LEAST_ONCE"},
    {**INTERVAL, KEY + "unaligned.enabled": "true", KEY + "aligned-checkpoint-timeout": "30 s"},
    {**INTERVAL, KEY + "aligned-checkpoint-timeout": "30 s"},
    {**INTERVAL, KEY + "alignment-timeout": "20 s"},
    {**INTERVAL, KEY + "unaligned.forced": "true"},
    {**INTERVAL, KEY + "tolerable-failed-checkpoints": "7"},
    {KEY + "tolerable-failed-checkpoints": "7"},
    {**INTERVAL, KEY + "recover-without-channel-state.checkpoint-id": "12"},
    {**INTERVAL, KEY + "checkpoints-after-tasks-finish": "false"},
    {**INTERVAL, KEY + "checkpoints-after-tasks-finish.enabled": "false"},
    {KEY + "checkpoints-after-tasks-finish": "false"},
    {**INTERVAL, KEY + "unaligned.recover-output-on-downstream.enabled": "true"},
    {**INTERVAL, KEY + "unaligned.max-subtasks-per-channel-state-file": "3"},
    {**INTERVAL, "execution.runtime-mode": "BATCH", KEY + "timeout": "1 h", KEY + "tolerable-failed-checkpoints": "2"},
    {**INTERVAL, "execution.runtime-mode": "BATCH", KEY + "interval-during-backlog": "30 s"},
    {**INTERVAL, "execution.runtime-mode": "BATCH", KEY + "unaligned.enabled": "true", KEY + "min-pause": "1 s"},
    {KEY + "max-concurrent-checkpoints": "4", KEY + "unaligned.enabled": "true"},
    {
        **INTERVAL,
        KEY + "max-concurrent-checkpoints": "4",
        KEY + "unaligned.enabled": "true",
        KEY + "mode": "AT_LEAST_ONCE",
    },
    {**INTERVAL, KEY + "min-pause": "20 s", KEY + "interval-during-backlog": "10 s"},
]
CALLS = [
    ({}, ["enable_checkpointing", 1000]),
    ({}, ["enable_checkpointing", 1000, "CheckpointingMode.AT_LEAST_ONCE"]),
    (INTERVAL, ["enable_checkpointing", 1000]),
    ({KEY + "mode": "AT_LEAST_ONCE"}, ["enable_checkpointing", 1000, "CheckpointingMode.EXACTLY_ONCE"]),
    (INTERVAL, ["config.set_checkpointing_mode", "CheckpointingMode.AT_LEAST_ONCE"]),
    ({}, ["config.set_checkpoint_interval", 10]),
    (INTERVAL, ["config.set_checkpoint_timeout", 10]),
    ({**INTERVAL, KEY + "timeout": "1 h"}, ["config.set_checkpoint_timeout", 2000]),
    (INTERVAL, ["config.set_min_pause_between_checkpoints", 250]),
    (INTERVAL, ["config.set_min_pause_between_checkpoints", MOST]),
    (INTERVAL, ["config.set_max_concurrent_checkpoints", 3]),
    (INTERVAL, ["config.set_tolerable_checkpoint_failure_number", 5]),
    (INTERVAL, ["config.set_fail_on_checkpointing_errors", False]),
    (INTERVAL, ["config.set_externalized_checkpoint_retention", "ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION"]),
    (INTERVAL, ["config.enable_unaligned_checkpoints"]),
    ({**INTERVAL, KEY + "unaligned.enabled": "true"}, ["config.disable_unaligned_checkpoints"]),
    (INTERVAL, ["config.set_force_unaligned_checkpoints", True]),
]


def case(options, calls, gateway):
    from pyflink.common import Configuration
    from pyflink.datastream import CheckpointingMode, ExternalizedCheckpointRetention, StreamExecutionEnvironment

    enums = {one.__name__: one for one in (CheckpointingMode, ExternalizedCheckpointRetention)}
    found = {"options": options, "calls": calls}
    try:
        configuration = Configuration()
        for key, text in options.items():
            configuration.set_string(key, text)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        for name, *given in calls:
            of, _, method = name.rpartition(".")
            words = [enums[a.split(".")[0]][a.split(".")[1]] if isinstance(a, str) else a for a in given]
            getattr(env.get_checkpoint_config() if of else env, method)(*words)
        env.from_collection([1]).print()
        graph = env._j_stream_execution_environment.getStreamGraph().getJobGraph()
        config = graph.getCheckpointingSettings().getCheckpointCoordinatorConfiguration()
    except Exception as error:
        java = getattr(error, "java_exception", None) or getattr(error, "_java_exception", None)
        return {**found, "refused": str(error).splitlines()[0] if java is None else str(java.getMessage())}
    return {
        **found,
        "settings": {
            "interval": config.getCheckpointInterval(),
            "interval_during_backlog": config.getCheckpointIntervalDuringBacklog(),
            "timeout": config.getCheckpointTimeout(),
            "min_pause": config.getMinPauseBetweenCheckpoints(),
            "max_concurrent": config.getMaxConcurrentCheckpoints(),
            "retention": str(config.getCheckpointRetentionPolicy()),
            "exactly_once": config.isExactlyOnce(),
            "unaligned": config.isUnalignedCheckpointsEnabled(),
            "aligned_timeout": config.getAlignedCheckpointTimeout(),
            "tolerable_failures": config.getTolerableCheckpointFailureNumber(),
            "ignored_in_flight": config.getCheckpointIdOfIgnoredInFlightData(),
            "after_tasks_finish": config.isEnableCheckpointsAfterTasksFinish(),
            "recover_output_downstream": config.isRecoverOutputOnDownstreamTask(),
        },
    }


def main():
    from pyflink.java_gateway import get_gateway

    gateway = get_gateway()
    cases = [(options, []) for options in OPTIONS] + [(options, [call]) for options, call in CALLS]
    rows = [json.dumps(case(options, calls, gateway)) for options, calls in cases]
    sys.stdout.write("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
