"""Settings of file sinks: buckets, rolling, names, compaction. :mod:`.file_system` has the names."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from compat.compiler.datastream.common.utils import JavaObject
from compat.compiler.errors import illegal_argument


class BucketAssigner(JavaObject, Struct, frozen=True):
    """The directory of a record below the base path (Flink: ``BucketAssigner``)."""

    name: Any
    format: str | None = None
    timezone: str | None = None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """The base path itself."""
        return BucketAssigner("base-path")

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """A directory for each hour, or for the pattern of Java's ``DateTimeFormatter``."""
        return BucketAssigner("date-time", format_str, timezone_id)


class RollingPolicy(JavaObject):
    """The rule for closing a file and beginning the next (Flink: ``RollingPolicy``)."""

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
    """The prefix and suffix of file names (Flink: ``OutputFileConfig``)."""

    __slots__ = ("part_prefix", "part_suffix")

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        self.part_prefix = part_prefix
        self.part_suffix = part_suffix

    def get_part_prefix(self) -> str:
        """The prefix of file names."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """The suffix of file names."""
        return self.part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Start with the defaults."""
        return OutputFileConfig.OutputFileConfigBuilder()

    class OutputFileConfigBuilder:
        """Collects the prefix and the suffix."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the prefix of file names."""
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the suffix of file names."""
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """The settings."""
            return OutputFileConfig(self.part_prefix, self.part_suffix)


class FileCompactStrategy(JavaObject, Struct, frozen=True):
    """The conditions for compacting small files into one (Flink: ``FileCompactStrategy``). -1 is unset."""

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
            """Compact after this many checkpoints."""
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
            """Set how many threads compact."""
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
    """The way in which small files are compacted into one (Flink: ``FileCompactor``)."""

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
