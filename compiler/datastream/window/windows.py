"""Windows and their serializers. Flink: ``TimeWindow``, ``CountWindow``, ``GlobalWindow``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.common.constants import MAX_LONG_VALUE
from compat.compiler.datastream.common.serializer import TypeSerializer

if TYPE_CHECKING:
    from io import BytesIO


class Window(ABC):
    """A finite group of records of one key."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The largest timestamp that belongs to the window."""

    def __setstate__(self, state: Any) -> None:
        """Take the fields from a pickle: ours have slots, PyFlink's windows a dictionary."""
        for part in state if isinstance(state, tuple) else (state,):
            for name, value in (part or {}).items():
                setattr(self, name, value)


class TimeWindow(Window):
    """The timestamps from ``start`` up to, but without, ``end``; milliseconds since 1970."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the two overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that holds both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window of this size that holds the timestamp, when windows start at ``offset``."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Any) -> None:
        """Call ``callback.merge(windows, their cover)`` for each group of windows that overlap or touch."""
        groups: list[tuple[TimeWindow, set[TimeWindow]]] = []
        for window in sorted(windows):
            if groups and groups[-1][0].intersects(window):
                cover, members = groups[-1]
                members.add(window)
                groups[-1] = (cover.cover(window), members)
            else:
                groups.append((window, {window}))
        for cover, members in groups:
            if len(members) > 1:
                callback.merge(members, cover)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimeWindow) and self.start == other.start and self.end == other.end

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __lt__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) <= (other.start, other.end)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


class CountWindow(Window):
    """A window by number of records; ``id`` counts from 0."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that holds everything."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """The window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Start and end, 8 bytes each, big-endian."""

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        stream.write(element.start.to_bytes(8, "big", signed=True) + element.end.to_bytes(8, "big", signed=True))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        data = stream.read(16)
        return TimeWindow(int.from_bytes(data[:8], "big", signed=True), int.from_bytes(data[8:], "big", signed=True))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """The number, 8 bytes, big-endian."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        stream.write(element.id.to_bytes(8, "big", signed=True))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        return CountWindow(int.from_bytes(stream.read(8), "big", signed=True))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One byte of zero."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        stream.read(1)
        return GlobalWindow()
