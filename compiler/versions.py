"""The versions of Flink that a program can be compiled for, and the versions of PyFlink's API that programs find."""

from __future__ import annotations

FLINK_VERSIONS = ("1.20", "2.3")
LATEST_FLINK = FLINK_VERSIONS[-1]
"""The version where nothing else is said."""


def standing_for(version: str) -> str | None:
    """The version known here that stands for another one, such as ``1.17`` or ``1.17.2``: that of the same major number."""
    major = version.partition(".")[0]
    return next((one for one in FLINK_VERSIONS if one.partition(".")[0] == major), None)


def pyflink_version(flink: str) -> str:
    """The release of PyFlink that stands for a version of Flink."""
    return f"{flink}.0"
