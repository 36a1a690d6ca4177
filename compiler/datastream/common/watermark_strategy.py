"""Timestamps and watermarks of streams. Flink: ``pyflink.common.watermark_strategy``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from compat.compiler.datastream.beyond.watermarks import StrategyBeyond
from compat.compiler.datastream.common.constants import MIN_LONG_VALUE
from compat.state.time import Duration

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "BoundedOutOfOrdernessWatermarks",
    "NoWatermarks",
    "TimestampAssigner",
    "WatermarkGenerator",
    "WatermarkStrategy",
]

_DEFAULT_UPDATE_INTERVAL = Duration.of_millis(1000)


class TimestampAssigner(ABC):
    """Gives a record its event time."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Milliseconds since 1970. ``record_timestamp`` is the record's earlier timestamp, negative if it had none."""


class WatermarkGenerator(ABC):
    """Makes watermarks from the timestamps that go by. One object for each subtask.

    A watermark of t says that no record of timestamp t or less will follow.
    """

    @abstractmethod
    def on_event(self, event: Any, timestamp: int) -> int | None:
        """The watermark to emit at once after a record, or None."""

    @abstractmethod
    def on_periodic_emit(self) -> int | None:
        """The watermark to emit at the end of the watermark interval, or None."""


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator):
    """The largest timestamp so far, less the allowed lateness, less one millisecond."""

    def __init__(self, max_out_of_orderness: Duration) -> None:
        self._delay = max_out_of_orderness.to_millis()
        self._largest = MIN_LONG_VALUE + self._delay + 1

    def on_event(self, event: Any, timestamp: int) -> None:
        if timestamp > self._largest:
            self._largest = timestamp

    def on_periodic_emit(self) -> int:
        return self._largest - self._delay - 1


class NoWatermarks(WatermarkGenerator):
    """Never a watermark."""

    def on_event(self, event: Any, timestamp: int) -> None:
        return None

    def on_periodic_emit(self) -> None:
        return None


class WatermarkStrategy(StrategyBeyond):
    """The watermarks of a stream, and its timestamps (Flink: ``WatermarkStrategy``).

    ``kind`` is ``monotonous``, ``bounded``, ``none`` or ``custom``. ``idle_timeout`` is the time without records after
    which a source no longer holds watermarks back. ``alignment`` is (group, largest drift, update interval).
    """

    def __init__(
        self,
        kind: str = "none",
        *,
        max_out_of_orderness: Duration | None = None,
        generator: Callable[[], WatermarkGenerator] | None = None,
        idle_timeout: Duration | None = None,
        alignment: tuple[str, Duration, Duration] | None = None,
    ) -> None:
        self.kind = kind
        self.max_out_of_orderness = max_out_of_orderness
        self.idle_timeout = idle_timeout
        self.alignment = alignment
        self._generator = generator
        self._timestamp_assigner: TimestampAssigner | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """A strategy for timestamps that never go back."""
        return WatermarkStrategy("monotonous", max_out_of_orderness=Duration.of_millis(0))

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """A strategy for timestamps that go back by at most this much."""
        if not isinstance(max_out_of_orderness, Duration):
            raise TypeError(
                f"for_bounded_out_of_orderness takes a Duration such as Duration.of_seconds(20), "
                f"got {max_out_of_orderness!r}."
            )
        if max_out_of_orderness.to_nanos() < 0:
            raise ValueError(f"maxOutOfOrderness cannot be negative, got {max_out_of_orderness}.")
        return WatermarkStrategy("bounded", max_out_of_orderness=max_out_of_orderness)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks at all."""
        return WatermarkStrategy("none")

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner) -> WatermarkStrategy:
        """Take the timestamps from this assigner. Changes the strategy itself, as PyFlink does."""
        self._timestamp_assigner = timestamp_assigner
        return self

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """A strategy that detects idle sources. As in PyFlink, **without** the timestamp assigner: set that afterwards."""
        if idle_timeout.to_nanos() <= 0:
            raise ValueError(f"Idle timeout must be positive, got {idle_timeout}.")
        return WatermarkStrategy(
            self.kind,
            max_out_of_orderness=self.max_out_of_orderness,
            generator=self._generator,
            idle_timeout=idle_timeout,
            alignment=self.alignment,
        )

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """A strategy whose sources wait for each other. As in PyFlink, **without** the timestamp assigner."""
        return WatermarkStrategy(
            self.kind,
            max_out_of_orderness=self.max_out_of_orderness,
            generator=self._generator,
            idle_timeout=self.idle_timeout,
            alignment=(
                watermark_group,
                max_allowed_watermark_drift,
                update_interval or _DEFAULT_UPDATE_INTERVAL,
            ),
        )

    @property
    def timestamp_assigner(self) -> TimestampAssigner | None:
        """The program's assigner, or None if timestamps are those of the source."""
        return self._timestamp_assigner

    def create_watermark_generator(self) -> WatermarkGenerator:
        """A new generator for one subtask."""
        if self._generator is not None:
            return self._generator()
        if self.max_out_of_orderness is None:
            return NoWatermarks()
        return BoundedOutOfOrdernessWatermarks(self.max_out_of_orderness)

    def __repr__(self) -> str:
        delay = f", {self.max_out_of_orderness!r}" if self.kind == "bounded" else ""
        return f"WatermarkStrategy({self.kind}{delay})"


class AssignerWithPeriodicWatermarksWrapper:
    """Stands for an assigner that Flink has in Java (Flink: ``AssignerWithPeriodicWatermarks``)."""

    def __init__(self, j_assigner_with_periodic_watermarks: Any) -> None:
        self._j_assigner_with_periodic_watermarks = j_assigner_with_periodic_watermarks
