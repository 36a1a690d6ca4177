"""A cache of values that many readers share. Flink: ``ExecutionGraphCache``, ``web.refresh-interval``."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Slot(Generic[V]):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: tuple[float, V] | None = None


class Recent(Generic[K, V]):
    """A cache of the values that ``make`` gives for keys: it makes each at most once in ``seconds``, and holds at most
    ``most``.

    Readers wait for a value that is being made. Safe to use from several threads.
    """

    def __init__(self, make: Callable[[K], V], seconds: float, most: int) -> None:
        self._make, self._seconds, self._most = make, seconds, most
        self._slots: OrderedDict[K, _Slot[V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V:
        """The value of a key. Raises the errors of ``make``, which are not kept."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > self._most:
                self._slots.popitem(last=False)
        with slot.lock:
            if slot.made is None or time.monotonic() - slot.made[0] >= self._seconds:
                slot.made = time.monotonic(), self._make(key)
            return slot.made[1]

    def forget(self, key: K) -> None:
        """Forget a value, so that the next reader makes it again."""
        with self._lock:
            self._slots.pop(key, None)
