"""The condition for a task of a batch job to start. Flink: ``InputDependencyConstraint``."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """ANY: when one of its inputs can be read. ALL: when every one can."""

    ANY = 0
    ALL = 1
