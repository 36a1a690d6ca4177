"""The watch over a job while its driver waits for an epoch, or for the time of a restart."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

_SECONDS = 0.1


class Watch:
    """Calls ``look`` ten times a second in a separate thread, until it is closed. Failed calls are repeated the next
    time.
    """

    def __init__(self, look: Callable[[], None], name: str) -> None:
        self._look = look
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(_SECONDS):
            with suppress(Exception):
                self._look()

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        self._thread.join(5)
