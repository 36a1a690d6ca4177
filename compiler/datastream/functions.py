"""The classes that a user's functions extend. Flink: ``pyflink.datastream.functions``.

A function is created on the client, once; ``open`` is called in each task before the first record, ``close`` after the
last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from compat.compiler.datastream._async_functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from compat.compiler.datastream._function import Function, KeyedStateStore, RuntimeContext
from compat.compiler.datastream._window_functions import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from compat.compiler.datastream.time_domain import TimeDomain
from compat.compiler.datastream.timerservice import TimerService

if TYPE_CHECKING:
    from compat.compiler.datastream.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "FunctionWrapper",
    "JavaFunctionWrapper",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ReduceFunctionWrapper",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
]

IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class MapFunction(Function):
    """Makes one record of one record."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The record to emit for ``value``."""


class CoMapFunction(Function):
    """A map over two connected streams."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The record to emit for a ``value`` of the first stream; None emits nothing."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The record to emit for a ``value`` of the second stream; None emits nothing."""


class FlatMapFunction(Function):
    """Makes any number of records of one record."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any]:
        """The records to emit for ``value``."""


class CoFlatMapFunction(Function):
    """A flat map over two connected streams."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """The records to emit for a ``value`` of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """The records to emit for a ``value`` of the second stream."""


class ReduceFunction(Function):
    """Makes one value of two values of the same type; must be associative."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Both values combined."""


class AggregateFunction(Function):
    """Collects records in an accumulator."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """An empty accumulator."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with ``value`` in it; may be the given one, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """The result of an accumulator."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Both accumulators in one; needed by windows that merge."""


class KeySelector(Function):
    """Takes the key out of a record."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key; must always be the same for the same record."""


class NullByteKeySelector(KeySelector):
    """Gives all records the same key."""

    def get_key(self, value: Any) -> int:
        return 0


class FilterFunction(Function):
    """Lets records pass or not."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """True to keep ``value``."""


class Partitioner(Function):
    """Chooses the subtask that gets a record."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The number of the subtask, from 0, for records of ``key``."""


class FunctionWrapper(Function):
    """A plain function in the form of a function object."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._func = func


class ReduceFunctionWrapper(FunctionWrapper):
    """A plain function as a reduce function."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self._func(value1, value2)


class JavaFunctionWrapper:
    """Stands for a function that Flink has in Java: holds the name of its class, or a description of it."""

    def __init__(self, j_function: Any) -> None:
        self._j_function = j_function

    def get_java_function(self) -> Any:
        return self._j_function


class SourceFunction(JavaFunctionWrapper):
    """A source of the old kind. ``parallel`` is True if several subtasks may run it."""

    parallel = False

    def __init__(self, source_func: Any) -> None:
        super().__init__(source_func)


class SinkFunction(JavaFunctionWrapper):
    """A sink of the old kind."""

    def __init__(self, sink_func: Any) -> None:
        super().__init__(sink_func)


class _TimedContext(ABC):
    @abstractmethod
    def timer_service(self) -> TimerService:
        """Time and timers."""

    @abstractmethod
    def timestamp(self) -> int:
        """The timestamp of the present record or timer; the smallest long for a record without one."""


class _KeyedContext(_TimedContext):
    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the present record or timer."""


class _KeyedTimerContext(_KeyedContext):
    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Which clock the timer followed."""


class ProcessFunction(Function):
    """Sees each record with its context; emits what it yields."""

    class Context(_TimedContext):
        """The context of the present record."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        """Called for each record."""


class KeyedProcessFunction(Function):
    """A process function on a keyed stream: has state and timers for each key."""

    class Context(_KeyedContext):
        """The context of the present record."""

    class OnTimerContext(_KeyedTimerContext):
        """The context of the timer that fired."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        """Called for each record."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        """Called when a timer fires."""


class CoProcessFunction(Function):
    """A process function over two connected streams."""

    class Context(_TimedContext):
        """The context of the present record."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        """Called for each record of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        """Called for each record of the second stream."""


class KeyedCoProcessFunction(Function):
    """A process function over two connected keyed streams: both share the state and timers of a key."""

    class Context(_KeyedContext):
        """The context of the present record."""

    class OnTimerContext(_KeyedTimerContext):
        """The context of the timer that fired."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """Called for each record of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        """Called for each record of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Any:
        """Called when a timer fires."""


class BaseBroadcastProcessFunction(Function):
    """The base of the two functions with broadcast state."""

    class BaseContext(ABC):
        """The context of either side, with the time."""

        @abstractmethod
        def timestamp(self) -> int:
            """The timestamp of the present record; the smallest long for a record without one."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The machine's clock."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The present event time."""

    class Context(BaseContext):
        """The context of the broadcast side, which may change the broadcast state."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
            """The broadcast state of that descriptor."""

    class ReadOnlyContext(BaseContext):
        """The context of the other side, which may only read the broadcast state."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
            """The broadcast state of that descriptor."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Processes a stream together with a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of the other side."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Any:
        """Called for each record of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Any:
        """Called in every subtask for each record of the broadcast stream."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Processes a keyed stream together with a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of the keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Time and timers."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the present record or timer."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """The context of the timer that fired."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock of the timer."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Any:
        """Called for each record of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context) -> Any:
        """Called in every subtask for each record of the broadcast stream."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Any:
        """Called when a timer fires."""
