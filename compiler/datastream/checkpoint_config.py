"""The settings of checkpoints. Flink: ``CheckpointConfig``."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from compat.compiler.configuration import (
    CHECKPOINT_ALIGNED_TIMEOUT,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_MAX_CONCURRENT,
    CHECKPOINT_MIN_PAUSE,
    CHECKPOINT_MODE,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    CHECKPOINT_TOLERABLE_FAILURES,
    SHORTEST_CHECKPOINT,
    UNALIGNED,
    UNALIGNED_FORCED,
    parse_duration,
)
from compat.compiler.datastream._versions import only
from compat.compiler.datastream.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage, storage_of
from compat.compiler.datastream.checkpointing_mode import CheckpointingMode
from compat.compiler.datastream.common.configuration import Configuration
from compat.compiler.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from compat.compiler.errors import illegal_argument

if TYPE_CHECKING:
    from compat.compiler.datastream.common.time import Duration

__all__ = ["CheckpointConfig", "ExternalizedCheckpointCleanup"]


class ExternalizedCheckpointCleanup(Enum):
    """Whether the last checkpoints stay when a job is cancelled (Flink up to 1.20)."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2


class CheckpointConfig:
    """Reads and writes the checkpoint options of the environment that it belongs to. Times are milliseconds."""

    DEFAULT_MODE = only("1.20")(CheckpointingMode.EXACTLY_ONCE)
    DEFAULT_TIMEOUT = only("1.20")(600_000)
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS = only("1.20")(0)
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS = only("1.20")(1)

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        text = self._configuration.get_string(CHECKPOINT_MODE, "EXACTLY_ONCE")
        return CheckpointingMode[text.strip().upper().replace("-", "_")]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        self._configuration.set_string(CHECKPOINT_MODE, checkpointing_mode.name)
        return self

    def get_checkpoint_interval(self) -> int:
        """The pause between the starts of checkpoints; -1 when there are none."""
        return self._duration(CHECKPOINT_INTERVAL, -1)

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        if checkpoint_interval < SHORTEST_CHECKPOINT:
            raise illegal_argument(f"Checkpoint interval must be larger than or equal to {SHORTEST_CHECKPOINT} ms")
        return self._milliseconds(CHECKPOINT_INTERVAL, checkpoint_interval)

    def get_checkpoint_timeout(self) -> int:
        return self._duration(CHECKPOINT_TIMEOUT, 600_000)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        if checkpoint_timeout < SHORTEST_CHECKPOINT:
            raise illegal_argument(f"Checkpoint timeout must be larger than or equal to {SHORTEST_CHECKPOINT} ms")
        return self._milliseconds(CHECKPOINT_TIMEOUT, checkpoint_timeout)

    def get_min_pause_between_checkpoints(self) -> int:
        return self._duration(CHECKPOINT_MIN_PAUSE, 0)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        if min_pause_between_checkpoints < 0:
            raise illegal_argument("Pause value must be zero or positive")
        return self._milliseconds(CHECKPOINT_MIN_PAUSE, min_pause_between_checkpoints)

    def get_max_concurrent_checkpoints(self) -> int:
        return self._configuration.get_integer(CHECKPOINT_MAX_CONCURRENT, 1)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        if max_concurrent_checkpoints < 1:
            raise illegal_argument("The maximum number of concurrent attempts must be at least one.")
        self._configuration.set_integer(CHECKPOINT_MAX_CONCURRENT, max_concurrent_checkpoints)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """True when the first checkpoint that fails ends the attempt."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        return self.set_tolerable_checkpoint_failure_number(0 if fail_on_checkpointing_errors else 2**31 - 1)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        return self._configuration.get_integer(CHECKPOINT_TOLERABLE_FAILURES, 0)

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        if tolerable_checkpoint_failure_number < 0:
            raise illegal_argument("The tolerable failure checkpoint number must be non-negative.")
        self._configuration.set_integer(CHECKPOINT_TOLERABLE_FAILURES, tolerable_checkpoint_failure_number)
        return self

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        self._configuration.set_string(CHECKPOINT_RETENTION, retention_mode.name)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        return (
            self.get_externalized_checkpoint_retention()
            is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        )

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        text = self._configuration.get_string(CHECKPOINT_RETENTION, "NO_EXTERNALIZED_CHECKPOINTS")
        return ExternalizedCheckpointRetention[text.strip().upper().replace("-", "_")]

    @only("1.20")
    def enable_externalized_checkpoints(self, cleanup_mode: ExternalizedCheckpointCleanup) -> CheckpointConfig:
        return self.set_externalized_checkpoint_cleanup(cleanup_mode)

    @only("1.20")
    def set_externalized_checkpoint_cleanup(self, cleanup_mode: ExternalizedCheckpointCleanup) -> CheckpointConfig:
        self._configuration.set_string(CHECKPOINT_RETENTION, cleanup_mode.name)
        return self

    @only("1.20")
    def get_externalized_checkpoint_cleanup(self) -> ExternalizedCheckpointCleanup:
        return ExternalizedCheckpointCleanup[self.get_externalized_checkpoint_retention().name]

    @only("1.20")
    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Set the storage of checkpoints."""
        for key, value in storage.options().items():
            self._configuration.set_string(key, value)
        return self

    @only("1.20")
    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Set a directory as the storage of checkpoints."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    @only("1.20")
    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """The storage of checkpoints; None if it was not set."""
        return storage_of(self._configuration.to_dict())

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self._configuration.get_boolean(UNALIGNED, False)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        self._configuration.set_boolean(UNALIGNED, enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        return self.enable_unaligned_checkpoints(False)

    @only("2.3")
    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Set how long a barrier may wait before the checkpoint goes on unaligned."""
        return self.set_alignment_timeout(alignment_timeout)

    @only("2.3")
    def get_aligned_checkpoint_timeout(self) -> Duration:
        return self.get_alignment_timeout()

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Set how long a barrier may wait before the checkpoint goes on unaligned."""
        return self._milliseconds(CHECKPOINT_ALIGNED_TIMEOUT, alignment_timeout.to_millis())

    def get_alignment_timeout(self) -> Duration:
        from compat.compiler.datastream.common.time import Duration

        return Duration.of_millis(self._duration(CHECKPOINT_ALIGNED_TIMEOUT, 0))

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        self._configuration.set_boolean(UNALIGNED_FORCED, force_unaligned_checkpoints)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        return self._configuration.get_boolean(UNALIGNED_FORCED, False)

    def _milliseconds(self, key: str, value: int) -> CheckpointConfig:
        self._configuration.set_string(key, f"{value} ms")
        return self

    def _duration(self, key: str, default: int) -> int:
        text = self._configuration.get_string(key, "")
        return parse_duration(text) if text else default
