"""Functions that see the contents of a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from compat.compiler.datastream._function import Function, KeyedStateStore

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Sees the records of a key in a window."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The records to emit when ``window`` fires for ``key``."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Sees all records of a window over a stream without keys."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The records to emit when ``window`` fires."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """A window function with a context: time, and state of the window and of the key."""

    class Context(ABC, Generic[W2]):
        """The context of a window that fired."""

        @abstractmethod
        def window(self) -> W2:
            """The window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The machine's clock."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The present event time."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key and window; ``clear`` must remove it."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key over all its windows."""

    @abstractmethod
    def process(self, key: KEY, context: Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """The records to emit when the window fires for ``key``."""

    def clear(self, context: Context[W]) -> None:
        """Remove what ``process`` put into the window's state."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """The same over a stream without keys."""

    class Context(ABC, Generic[W2]):
        """The context of a window that fired."""

        @abstractmethod
        def window(self) -> W2:
            """The window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this window; ``clear`` must remove it."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State over all windows."""

    @abstractmethod
    def process(self, context: Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """The records to emit when the window fires."""

    def clear(self, context: Context[W]) -> None:
        """Remove what ``process`` put into the window's state."""


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Emits what is in the window."""

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Emits what is in the window."""

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        yield from inputs
