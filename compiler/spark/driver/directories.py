"""The folders of a job's checkpoints and savepoints, from its options in Flink's spelling. Flink:
``CheckpointingOptions``.
"""

from __future__ import annotations

from collections.abc import Mapping

SAVEPOINT_DIRECTORY = "execution.checkpointing.savepoint-dir"
"""The option with the default folder of savepoints. Flink: ``set_default_savepoint_directory``."""

_OLDER = "state.savepoints.dir"
CHECKPOINT_DIRECTORY = "execution.checkpointing.dir"
"""The option with the directory of checkpoints. Flink: ``FileSystemCheckpointStorage``."""
_OLDER_CHECKPOINTS = "state.checkpoints.dir"
DIRECTORIES = frozenset({SAVEPOINT_DIRECTORY, _OLDER, CHECKPOINT_DIRECTORY, _OLDER_CHECKPOINTS})
"""All names of options for directories."""


def savepoint_directory(options: Mapping[str, str]) -> str:
    """The directory for savepoints that a program sets; empty if it sets none."""
    return options.get(SAVEPOINT_DIRECTORY) or options.get(_OLDER) or ""


def checkpoint_directory(options: Mapping[str, str]) -> str:
    """The directory for checkpoints that a program sets; empty if it sets none."""
    return options.get(CHECKPOINT_DIRECTORY) or options.get(_OLDER_CHECKPOINTS) or ""


def without_checkpoint_directory(options: Mapping[str, str]) -> Mapping[str, str]:
    """The options of a program without those for the checkpoint directory."""
    return {name: value for name, value in options.items() if name not in (CHECKPOINT_DIRECTORY, _OLDER_CHECKPOINTS)}
