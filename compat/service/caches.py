"""Values that are kept in memory for the next who asks, within a number of bytes: what the server's process takes levels off.

The amounts of all such memory are here; :mod:`compat.service.memory` says what they come to.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")

MEGABYTE = 1024 * 1024

PAGES, ANSWERS, REPORTS, PLANS = 32 * MEGABYTE, 16 * MEGABYTE, 32 * MEGABYTE, 16 * MEGABYTE
"""Bytes of pages, of answers as they were sent, and of reports and plans, which are kept deflated."""

VERSIONS = 10_000
"""Versions of which it is known what they are."""

ENTRY = 1024
"""Bytes that an entry takes besides the text that it holds: keys, records, and the place in the cache."""


class Kept(Generic[V]):
    """Values by key; those that were asked for least lately go first. Safe to use from several threads."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._values: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> V | None:
        """A value; None if there is none any more."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: V, size: int) -> None:
        """Keep a value of ``size`` bytes, all that it holds; one that would take more than half of the room is not kept."""
        if size > self._most // 2:
            return
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = value, size
            self._held += size - before
            while self._held > self._most:
                _, (_, gone) = self._values.popitem(last=False)
                self._held -= gone
