"""Amounts of time and points in time. Flink: ``pyflink.common.time``."""

from compat.state.time import Duration, Instant, Time

__all__ = ["Duration", "Instant", "Time"]
