"""Rewrites bytes where the readers noted parts; everything else stays byte for byte.

Parts are nested: an operator among all operators, a name in a frame. Counts and lengths before a changed part are adapted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

from compat.state.flink.binary import Part, Place

_INT = struct.Struct(">i")
_COUNTED = {Part.OPERATORS: Part.OPERATOR, Part.SUBTASKS: Part.SUBTASK}
"""Parts that begin with the number of others within them."""

New = Callable[[Place], bytes | None]
"""The replacement of a part: None for the present bytes, apart from the parts within."""

Added = Callable[[Place], Sequence[bytes]]
"""The bytes to add after the last of a counted part's parts."""


def splice(data: bytes, places: Iterable[Place], new: New, added: Added = lambda place: (), *, begin: int = 0) -> bytes:
    """The bytes from ``begin`` on with other parts.

    ``new`` is asked in the order in which parts begin, for outer ones before inner ones.
    """
    return _Splice(data, places, new, added).between(begin, len(data))[0]


class _Splice:
    def __init__(self, data: bytes, places: Iterable[Place], new: New, added: Added) -> None:
        self._data = data
        self._places = sorted(places, key=lambda place: (place.begin, -place.end))
        self._next = 0
        self._new = new
        self._added = added

    def between(self, begin: int, end: int, counted: Part | None = None) -> tuple[bytes, int]:
        """The bytes between two places, and how many parts of a kind are directly among them."""
        pieces, done, count = [], begin, 0
        while self._next < len(self._places) and self._places[self._next].begin < end:
            place = self._places[self._next]
            self._next += 1
            piece = self._new(place)
            if piece is None:
                piece = self._kept(place)
            else:
                self._pass_over(place)
            count += place.part is counted and bool(piece)
            pieces += [self._data[done : place.begin], piece]
            done = place.end
        return b"".join([*pieces, self._data[done:end]]), count

    def _kept(self, place: Place) -> bytes:
        begin = place.begin
        if place.part is Part.FRAME:
            inner, _ = self.between(begin + _INT.size, place.end)
            return _INT.pack(len(inner)) + inner
        if place.part not in _COUNTED:
            return self.between(begin, place.end)[0]
        inner, count = self.between(begin + _INT.size, place.end, _COUNTED[place.part])
        added = self._added(place)
        return _INT.pack(count + len(added)) + inner + b"".join(added)

    def _pass_over(self, place: Place) -> None:
        while self._next < len(self._places) and self._places[self._next].begin < place.end:
            self._next += 1
