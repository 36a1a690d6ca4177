"""Values kept in memory for later requests, within a limit of bytes, so that the server's memory stays bounded.

The limits of all such memory are here; :mod:`compat.service.memory` adds them up.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")

MEGABYTE = 1024 * 1024

PAGES, ANSWERS, REPORTS, PLANS = 32 * MEGABYTE, 16 * MEGABYTE, 32 * MEGABYTE, 16 * MEGABYTE
"""Bytes of cached pages, of answers as they were sent, and of reports and plans, which are deflated."""

VERSIONS = 10_000
"""The number of versions whose description is cached."""

ENTRY = 1024
"""Bytes of an entry besides its text: keys, records, and the place in the cache."""


class Kept(Generic[V]):
    """Values by key; the least recently used go first. Safe to use from several threads."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._values: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> V | None:
        """A value; None if it is not there any more."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: V, size: int) -> None:
        """Keep a value of ``size`` bytes in all; one that would take more than half of the room is not kept."""
        if size > self._most // 2:
            return
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = value, size
            self._held += size - before
            while self._held > self._most:
                _, (_, gone) = self._values.popitem(last=False)
                self._held -= gone
