"""Open windows that become part of longer ones: their contents, and the timers that end them.

Flink: `TimeWindow.Serializer`, and `WindowOperator` for the timers: they end a window at its last millisecond, and clear it
later if late records are allowed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from msgspec import Struct

from compat.state.flink.composite_keys import KeyParts
from compat.state.flink.forms import Unconvertible
from compat.state.flink.headers import NAMESPACE, QUEUE, VALUES, StateMeta

_WINDOW = struct.Struct(">qq")
_TIME = struct.Struct(">Q")
_SIGN = 1 << 63
"""Times of timers are written with this bit turned over, so that their bytes are in the order of the times."""
_SERIALIZERS = {
    "org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer",
    "org.apache.flink.table.runtime.operators.window.TimeWindow$Serializer",  # PyFlink's, too
}
_MERGING = "merging-window-set"


class LongerWindows(Struct, frozen=True):
    """Windows of ``size`` milliseconds, one behind the other, of which one begins at ``offset``."""

    size: int
    offset: int = 0

    def parts(self, parts: KeyParts) -> KeyParts:
        """The parts of an entry's key, in the window that has the entry's own in it. Raises Unconvertible if none has."""
        if not parts.time:
            return parts._replace(namespace=self.around(parts.namespace))
        moment = self.moved(parts.namespace, _TIME.unpack(parts.time)[0] - _SIGN)
        return parts._replace(namespace=self.around(parts.namespace), time=_TIME.pack(moment + _SIGN))

    def around(self, window: bytes) -> bytes:
        """The window, as serialized, that has another one in it. Raises Unconvertible if none has."""
        begin, end = _WINDOW.unpack(window)
        start = begin - (begin - self.offset) % self.size
        if (begin - self.offset) % (end - begin) or end > start + self.size:
            raise Unconvertible(
                f"a window from {begin} to {end} is no part of one of {self.size} milliseconds, or overlaps another one"
            )
        return _WINDOW.pack(start, start + self.size)

    def moved(self, window: bytes, moment: int) -> int:
        """The moment of a timer of a window that becomes part of a longer one. Timers from its last moment on go off so much
        later as that ends; those before it are a trigger's, and stay.
        """
        _, end = _WINDOW.unpack(window)
        _, later = _WINDOW.unpack(self.around(window))
        return moment if moment < end - 1 else moment + later - end


def of_windows(states: Sequence[StateMeta]) -> list[bool]:
    """The states of an operator with entries, or timers, of time windows. Raises Unconvertible if there are none.

    Sessions are kept under one of the windows that they were merged of, and tell no other size.
    """
    require_no_merging(meta.name for meta in states)
    found = list(map(_is_of_windows, states))
    if not any(found):
        raise Unconvertible("there are no windows of time")
    return found


def require_no_merging(states: Iterable[str]) -> None:
    """Raise Unconvertible for the states of windows that merge."""
    if any(name.endswith(_MERGING) for name in states):
        raise Unconvertible("sessions and other windows that merge are no parts of longer ones")


def is_a_window(namespace: bytes) -> bool:
    """Whether a namespace has the length of a serialized window of time."""
    return len(namespace) == _WINDOW.size


def _is_of_windows(meta: StateMeta) -> bool:
    if meta.type == QUEUE:
        timer = meta.serializer(VALUES)
        found = None if timer is None else timer.nested[-1]
    else:
        found = meta.serializer(NAMESPACE)
    return found is not None and found.serializer in _SERIALIZERS
