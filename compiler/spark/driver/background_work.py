"""Work that goes on beside the epochs of a job, in a thread of its own. The job's thread uses only its result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from compat.state.delta.errors import StoreError

T = TypeVar("T")
_PATIENCE = 10.0
"""Seconds that are waited for work to end that was given up."""


class Errand(Generic[T]):
    """Work that has begun; ``stop`` makes it fail soon."""

    def __init__(self, work: Callable[[], T], stop: Callable[[], None], name: str) -> None:
        self._work, self._stop = work, stop
        self._made: list[T] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._made.append(self._work())
        except Exception as error:
            self._error = error

    @property
    def over(self) -> bool:
        """True once there is a result, or will never be one."""
        return not self._thread.is_alive()

    def result(self) -> T:
        """Wait for the work's result. Raises its error, or StoreError if its thread ended otherwise."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        if not self._made:
            raise StoreError("The work was given up.")
        return self._made[0]

    def give_up(self) -> None:
        """Stop the work: its result is no longer wanted."""
        self._stop()
        self._thread.join(_PATIENCE)
