"""The path of records through windows: into their contents, and out when they fire. Common cases have faster paths."""

from __future__ import annotations

from abc import ABC, abstractmethod

from compat.compiler.spark.runtime_api.elements import Timestamps, Values
from compat.compiler.spark.state.changes import Changes


class WindowPath(ABC):
    """Keeps the contents of an operator's windows, and fires them."""

    @abstractmethod
    def add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Put records into their windows."""

    @abstractmethod
    def fire(self, watermark: int) -> None:
        """Fire the windows that end with a watermark."""

    def settle(self) -> None:  # noqa: B027
        """Move all records into the state, before the watermark grows or a snapshot is made."""

    def snapshot(self, changes: Changes) -> None:  # noqa: B027
        """Add the epoch's changes that are not in the state of keys."""
