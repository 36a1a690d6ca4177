"""The versions of Flink that a program can be compiled for, and the version of PyFlink's API that programs find."""

from __future__ import annotations

FLINK_VERSIONS = ("1.20", "2.3")
LATEST_FLINK = FLINK_VERSIONS[-1]
"""The version where nothing else is said."""

PYFLINK_VERSION = f"{LATEST_FLINK}.0"
