"""The versions of Flink that a program can be compiled for, and the versions of PyFlink's API that programs find."""

from __future__ import annotations

FLINK_VERSIONS = ("1.20", "2.3")
LATEST_FLINK = FLINK_VERSIONS[-1]
"""The version where nothing else is said."""


def pyflink_version(flink: str) -> str:
    """The release of PyFlink that stands for a version of Flink."""
    return f"{flink}.0"
