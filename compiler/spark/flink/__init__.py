"""Savepoints of Flink as snapshots of jobs on Spark: states, timers and the positions of sources, without a JVM."""
