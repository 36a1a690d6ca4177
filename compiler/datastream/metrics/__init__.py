"""Metrics of functions. Flink: ``pyflink.metrics``."""

from __future__ import annotations

from compat.compiler.datastream.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
