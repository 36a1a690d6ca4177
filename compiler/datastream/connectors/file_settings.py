"""Settings of file sinks: buckets, rolling, names, compaction. :mod:`.file_system` has the names."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from compat.compiler.datastream.common.utils import JavaObject
from compat.compiler.errors import illegal_argument


class BucketAssigner(JavaObject, Struct, frozen=True):
    """Which directory below the base path a record goes to (Flink: ``BucketAssigner``)."""

    name: Any
    format: str | None = None
    timezone: str | None = None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """The base path itself."""
        return BucketAssigner("base-path")

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """A directory for each hour, or what the pattern of Java's ``DateTimeFormatter`` says."""
        return BucketAssigner("date-time", format_str, timezone_id)


class RollingPolicy(JavaObject):
    """When a file is closed and the next begun (Flink: ``RollingPolicy``)."""

    __slots__ = ()

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """By size in bytes, age and time without a record in milliseconds."""
        for name, value in (
            ("part_size", part_size),
            ("rollover_interval", rollover_interval),
            ("inactivity_interval", inactivity_interval),
        ):
            if value <= 0:
                raise illegal_argument(f"{name} of a rolling policy must be more than 0, got {value}.")
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """At each checkpoint."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy, Struct, frozen=True):
    """By size in bytes, age and time without a record in milliseconds."""

    part_size: int
    rollover_interval: int
    inactivity_interval: int


class OnCheckpointRollingPolicy(RollingPolicy, Struct, frozen=True, kw_only=True):
    """At each checkpoint."""


class OutputFileConfig(JavaObject):
    """How file names begin and end (Flink: ``OutputFileConfig``)."""

    __slots__ = ("part_prefix", "part_suffix")

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        self.part_prefix = part_prefix
        self.part_suffix = part_suffix

    def get_part_prefix(self) -> str:
        """How file names begin."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """How file names end."""
        return self.part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Start with the defaults."""
        return OutputFileConfig.OutputFileConfigBuilder()

    class OutputFileConfigBuilder:
        """Collects both."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """How file names begin."""
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """How file names end."""
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Both."""
            return OutputFileConfig(self.part_prefix, self.part_suffix)


class FileCompactStrategy(JavaObject, Struct, frozen=True):
    """When small files are made one (Flink: ``FileCompactStrategy``). -1 is unset."""

    size_threshold: int = -1
    num_checkpoints_before_compaction: int = -1
    num_compact_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Start without any condition."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Collects the conditions."""

        def __init__(self) -> None:
            self._size = -1
            self._checkpoints = -1
            self._threads = 1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """After so many checkpoints."""
            if num_checkpoints_before_compaction <= 0:
                raise illegal_argument(
                    "Number of checkpoints before compaction should be more than 0, "
                    f"got {num_checkpoints_before_compaction}."
                )
            self._checkpoints = num_checkpoints_before_compaction
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Compact as soon as there are this many bytes."""
            self._size = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """How many threads compact."""
            if num_compact_threads <= 0:
                raise illegal_argument(f"Compact threads should be more than 0, got {num_compact_threads}.")
            self._threads = num_compact_threads
            return self

        def build(self) -> FileCompactStrategy:
            """The conditions; at least one must be set."""
            if self._size < 0 and self._checkpoints < 0:
                raise illegal_argument(
                    "At least one trigger condition must be configured: call set_size_threshold(…) or "
                    "enable_compaction_on_checkpoint(…)."
                )
            return FileCompactStrategy(self._size, self._checkpoints, self._threads)


class FileCompactor(JavaObject, Struct, frozen=True):
    """How small files are made one (Flink: ``FileCompactor``)."""

    name: Any
    delimiter: bytes | None = None

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """One behind the other, with ``file_delimiter`` between them."""
        return FileCompactor("concat", file_delimiter)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """A copy of the one file."""
        return FileCompactor("identical")
