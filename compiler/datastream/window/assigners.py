"""The assignment of records to windows. Flink: ``WindowAssigner`` and its subclasses; all times in milliseconds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from compat.compiler.datastream.beyond.windows import GlobalWindowsBeyond
from compat.compiler.datastream.common.constants import MIN_LONG_VALUE
from compat.compiler.datastream.common.serializer import TypeSerializer
from compat.compiler.datastream.window.triggers import (
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    Trigger,
)
from compat.compiler.datastream.window.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    Window,
)
from compat.state.descriptors import ValueStateDescriptor
from compat.state.time import Duration, Time, milliseconds_of
from compat.state.types import Types

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2")


class WindowAssigner(ABC, Generic[T, W]):
    """Puts a record into windows."""

    class WindowAssignerContext(ABC):
        """The clock that an assigner may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The clock."""

        @abstractmethod
        def get_runtime_context(self) -> Any:
            """The runtime context, for the assigner's state."""

    @abstractmethod
    def assign_windows(self, element: T, timestamp: int, context: WindowAssignerContext) -> Collection[W]:
        """The windows of a record with this timestamp."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger if the program sets none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """The serializer of the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """True if the record's timestamp decides, False if the clock or a count does."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may merge."""

    class MergeCallback(ABC, Generic[W2]):
        """Receives the windows to merge."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Merge these windows into this one."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback[W]) -> None:
        """Tell the callback which of the windows merge."""


class SessionWindowTimeGapExtractor(ABC):
    """The gap of a record's session."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap in milliseconds; more than 0."""


class _TimeWindows(WindowAssigner[T, TimeWindow]):
    """The base of all assigners of time windows; ``arguments`` are what ``repr`` shows."""

    arguments: tuple[Any, ...]

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.arguments))})"


class _ByTimestamp(_TimeWindows[T]):
    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        if timestamp <= MIN_LONG_VALUE:
            raise ValueError(
                f"{self} needs timestamps, but a record has none (Long.MIN_VALUE): call "
                "assign_timestamps_and_watermarks(…) on the stream, or use windows of processing time."
            )
        return timestamp


class _ByClock(_TimeWindows[T]):
    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        return context.get_current_processing_time()


class _Tumbling(_TimeWindows[T]):
    """Windows of one size, side by side."""

    def __init__(self, size: int, offset: int) -> None:
        if abs(offset) >= size:
            raise ValueError(
                f"{type(self).__name__} parameters must satisfy abs(offset) < size: size {size}, offset {offset}."
            )
        self._size = size
        self._offset = offset
        self.arguments = (size, offset)

    @abstractmethod
    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int: ...

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        time = self._time(timestamp, context)
        start = TimeWindow.get_window_start_with_offset(time, self._offset, self._size)
        return [TimeWindow(start, start + self._size)]


class TumblingEventTimeWindows(_ByTimestamp[T], _Tumbling[T]):
    """Windows of one size, side by side, by timestamp."""

    @staticmethod
    def of(size: Time | Duration, offset: Time | Duration | None = None) -> TumblingEventTimeWindows[Any]:
        """Windows of a size; the first starts at ``offset`` after 1970."""
        return TumblingEventTimeWindows(milliseconds_of(size), _or_zero(offset))


class TumblingProcessingTimeWindows(_ByClock[T], _Tumbling[T]):
    """Windows of one size, side by side, by the clock."""

    @staticmethod
    def of(size: Time | Duration, offset: Time | Duration | None = None) -> TumblingProcessingTimeWindows[Any]:
        """Windows of a size; the first starts at ``offset`` after 1970."""
        return TumblingProcessingTimeWindows(milliseconds_of(size), _or_zero(offset))


class _Sliding(_TimeWindows[T]):
    """Windows of one size that start at each multiple of ``slide``."""

    def __init__(self, size: int, slide: int, offset: int) -> None:
        if abs(offset) >= slide or size <= 0:
            raise ValueError(
                f"{type(self).__name__} parameters must satisfy abs(offset) < slide and size > 0: "
                f"size {size}, slide {slide}, offset {offset}."
            )
        self._size = size
        self._slide = slide
        self._offset = offset
        self.arguments = (size, slide, offset)

    @abstractmethod
    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int: ...

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        time = self._time(timestamp, context)
        last = TimeWindow.get_window_start_with_offset(time, self._offset, self._slide)
        return [TimeWindow(start, start + self._size) for start in range(last, time - self._size, -self._slide)]


class SlidingEventTimeWindows(_ByTimestamp[T], _Sliding[T]):
    """Overlapping windows by timestamp."""

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingEventTimeWindows[Any]:
        """Windows of a size that start every ``slide``."""
        return SlidingEventTimeWindows(milliseconds_of(size), milliseconds_of(slide), _or_zero(offset))


class SlidingProcessingTimeWindows(_ByClock[T], _Sliding[T]):
    """Overlapping windows by the clock."""

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingProcessingTimeWindows[Any]:
        """Windows of a size that start every ``slide``."""
        return SlidingProcessingTimeWindows(milliseconds_of(size), milliseconds_of(slide), _or_zero(offset))


class _Sessions(MergingWindowAssigner[T, TimeWindow], _TimeWindows[T]):
    """Windows that end when no record came for some time."""

    @abstractmethod
    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int: ...

    @abstractmethod
    def _gap(self, element: T) -> int: ...

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        time = self._time(timestamp, context)
        return [TimeWindow(time, time + self._gap(element))]

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


class _FixedGap(_Sessions[T]):
    def __init__(self, session_gap: int) -> None:
        if session_gap <= 0:
            raise ValueError(f"{type(self).__name__} parameters must satisfy 0 < size: got {session_gap}.")
        self._session_gap = session_gap
        self.arguments = (session_gap,)

    def _gap(self, element: T) -> int:
        return self._session_gap


class _DynamicGap(_Sessions[T]):
    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        self._extractor = session_window_time_gap_extractor
        self.arguments = (type(session_window_time_gap_extractor).__name__,)

    def _gap(self, element: T) -> int:
        gap = self._extractor.extract(element)
        if gap <= 0:
            raise ValueError(f"Dynamic session time gap must satisfy 0 < gap: got {gap} for {element!r}.")
        return gap


class EventTimeSessionWindows(_ByTimestamp[T], _FixedGap[T]):
    """Sessions by timestamp."""

    @staticmethod
    def with_gap(size: Time | Duration) -> EventTimeSessionWindows[Any]:
        """Sessions that end after this time without a record."""
        return EventTimeSessionWindows(milliseconds_of(size))

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows[Any]:
        """Sessions whose gap depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        return timestamp


class ProcessingTimeSessionWindows(_ByClock[T], _FixedGap[T]):
    """Sessions by the clock."""

    @staticmethod
    def with_gap(size: Time | Duration) -> ProcessingTimeSessionWindows[Any]:
        """Sessions that end after this time without a record."""
        return ProcessingTimeSessionWindows(milliseconds_of(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows[Any]:
        """Sessions whose gap depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_ByTimestamp[T], _DynamicGap[T]):
    """Sessions by timestamp, with a gap that depends on the record."""

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows[Any]:
        """The assigner for an extractor."""
        return DynamicEventTimeSessionWindows(extractor)

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        return timestamp


class DynamicProcessingTimeSessionWindows(_ByClock[T], _DynamicGap[T]):
    """Sessions by the clock, with a gap that depends on the record."""

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows[Any]:
        """The assigner for an extractor."""
        return DynamicProcessingTimeSessionWindows(extractor)


class GlobalWindows(WindowAssigner[T, GlobalWindow], GlobalWindowsBeyond):
    """Everything in one window, which fires only by a trigger that the program sets."""

    def __init__(self) -> None:
        self._default_trigger: Trigger[Any, GlobalWindow] | None = None

    @staticmethod
    def create() -> GlobalWindows[Any]:
        """The assigner; without a trigger it never fires."""
        return GlobalWindows()

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[GlobalWindow]:
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[T, GlobalWindow]:
        return self._default_trigger or NeverTrigger()

    def get_window_serializer(self) -> GlobalWindowSerializer:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountWindows(WindowAssigner[T, CountWindow]):
    """Windows by number of records of a key, counted in a state."""

    _window_size: int
    _count_descriptor: ValueStateDescriptor

    def _count(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """The number of records before this one; counts it."""
        state = context.get_runtime_context().get_state(self._count_descriptor)
        before = state.value() or 0
        state.update(before + 1)
        return before

    def get_default_trigger(self, env: Any) -> Trigger[T, CountWindow]:
        return CountTrigger(self._window_size)

    def get_window_serializer(self) -> CountWindowSerializer:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(_CountWindows[T]):
    """Every so many records a window; counted in the state ``tumble-count-assigner``."""

    def __init__(self, window_size: int) -> None:
        self._window_size = window_size
        self._count_descriptor = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner[Any]:
        """Windows of this many records."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        return [CountWindow(self._count(context) // self._window_size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountWindows[T]):
    """A window of this many records every so many; counted in the state ``slide-count-assigner``."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        self._window_size = window_size
        self._window_slide = window_slide
        self._count_descriptor = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner[Any]:
        """Windows of ``window_size`` records, one every ``window_slide``."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        position = self._count(context)
        newest = position // self._window_slide
        oldest = max(0, -(-(position - self._window_size + 1) // self._window_slide))
        return [CountWindow(number) for number in range(newest, oldest - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"


def _or_zero(offset: Time | Duration | None) -> int:
    return 0 if offset is None else milliseconds_of(offset)
