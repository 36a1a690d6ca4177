"""The operators that PyFlink runs in Python, around a function of the program."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from compat.compiler.transformations.operators.base import Operator, PythonOperator

if TYPE_CHECKING:
    from compat.state.descriptors import MapStateDescriptor, StateDescriptor
    from compat.state.types import TypeInformation


class PythonFunction(Operator, frozen=True, kw_only=True):
    """An operator that PyFlink runs in Python; ``thread_mode`` if it runs in the task's thread, not in a separate process."""

    factory: str = "SimpleOperatorFactory"
    thread_mode: bool = False

    python = PythonOperator.PROCESS

    @property
    def compared(self) -> tuple[object, ...]:
        return *super().compared, self.thread_mode

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.function,)

    @property
    def key_selectors(self) -> tuple[Any, ...]:
        """What makes the keys of each input; nothing for an operator without keys."""
        return ()


# Streams without keys


class Map(PythonFunction, frozen=True, kw_only=True):
    """``map``."""

    kind = "map"


class PrintMap(PythonFunction, frozen=True, kw_only=True):
    """Makes text of the records to be printed."""

    kind = "print_map"


class SideOutputMap(PythonFunction, frozen=True, kw_only=True):
    """The map that PyFlink puts behind a side output."""

    tag: Any

    kind = "side_output_map"

    @property
    def functions(self) -> tuple[Any, ...]:
        return ()


class FlatMap(PythonFunction, frozen=True, kw_only=True):
    """``flat_map``."""

    kind = "flat_map"


class Filter(PythonFunction, frozen=True, kw_only=True):
    """``filter``."""

    kind = "filter"


class Process(PythonFunction, frozen=True, kw_only=True):
    """``process``."""

    kind = "process"


class KeyByMap(PythonFunction, frozen=True, kw_only=True):
    """Puts the key before the record: the hidden half of ``key_by``."""

    key_type: TypeInformation

    kind = "key_by_map"


class PartitionCustomMap(PythonFunction, frozen=True, kw_only=True):
    """Puts the subtask that a partitioner chose before the record: the hidden half of ``partition_custom``."""

    key_selector: Any

    kind = "partition_custom_map"


class PartitionCustomValues(PythonFunction, frozen=True, kw_only=True):
    """Removes the subtask again."""

    kind = "partition_custom_values"


class ExtractTimestamp(PythonFunction, frozen=True, kw_only=True):
    """Calls the timestamp assigner of a watermark strategy, which is its function."""

    kind = "extract_timestamp"

    @property
    def functions(self) -> tuple[Any, ...]:
        return ()


class AsyncWait(PythonFunction, frozen=True, kw_only=True):
    """Calls an asynchronous function for up to ``capacity`` records at once; ``ordered`` keeps the records' order."""

    timeout: Any
    capacity: int
    retry_strategy: Any
    ordered: bool

    kind = "async_wait"


# Two connected streams


class CoFunction(PythonFunction, frozen=True, kw_only=True):
    """A function of two streams, at least one of which has no key."""

    key_selector1: Any = None
    key_selector2: Any = None

    python = PythonOperator.CO_PROCESS


class CoMap(CoFunction, frozen=True, kw_only=True):
    """``map`` on connected streams."""

    kind = "co_map"


class CoFlatMap(CoFunction, frozen=True, kw_only=True):
    """``flat_map`` on connected streams."""

    kind = "co_flat_map"


class CoProcess(CoFunction, frozen=True, kw_only=True):
    """``process`` on connected streams."""

    kind = "co_process"


# Keyed streams


class KeyedFunction(PythonFunction, frozen=True, kw_only=True):
    """A function of a keyed stream."""

    key_selector: Any = None

    python = PythonOperator.KEYED_PROCESS

    @property
    def key_selectors(self) -> tuple[Any, ...]:
        return (self.key_selector,)


class KeyedMap(KeyedFunction, frozen=True, kw_only=True):
    """``map`` on a keyed stream."""

    kind = "keyed_map"


class KeyedFlatMap(KeyedFunction, frozen=True, kw_only=True):
    """``flat_map`` on a keyed stream."""

    kind = "keyed_flat_map"


class KeyedFilter(KeyedFunction, frozen=True, kw_only=True):
    """``filter`` on a keyed stream."""

    kind = "keyed_filter"


class KeyedValues(KeyedFunction, frozen=True, kw_only=True):
    """Removes the key from the records."""

    kind = "keyed_values"


class Aggregate(Enum):
    """The built-in ways to combine two records; the value is their name in plans."""

    MIN = "min"
    MAX = "max"
    MIN_BY = "min_by"
    MAX_BY = "max_by"
    SUM = "sum"


class Aggregation(Struct, frozen=True, kw_only=True):
    """A built-in way to combine two records, and the number or name of its field."""

    how: Aggregate
    field: int | str


class KeyedReduce(KeyedFunction, frozen=True, kw_only=True):
    """A rolling reduce: by the function, or if there is none, by an ``aggregation``.

    ``value_type`` is the type of what is kept: the output type no longer tells it once others are merged behind.
    """

    aggregation: Aggregation | None = None
    value_type: Any

    kind = "keyed_reduce"


class KeyedProcess(KeyedFunction, frozen=True, kw_only=True):
    """``process`` on a keyed stream."""

    kind = "keyed_process"


class WindowCall(Enum):
    """The way from a window's records to its result: combined as they come, or all given to a function when it fires."""

    REDUCE = "reduce"
    AGGREGATE = "aggregate"
    APPLY = "apply"
    PROCESS = "process"

    @property
    def combines(self) -> bool:
        """True if one value is kept for a window, in place of its records."""
        return self in (WindowCall.REDUCE, WindowCall.AGGREGATE)


class Window(KeyedFunction, frozen=True, kw_only=True):
    """Windows of a key: ``combine`` is the reduce or aggregate function, ``function`` gets the contents when one fires.

    ``for_all`` marks windows over a whole stream, which PyFlink runs under one key.
    """

    call: WindowCall
    for_all: bool = False
    combine: Any = None
    assigner: Any
    trigger: Any
    allowed_lateness: int = 0
    late_data_output_tag: Any = None
    state_descriptor: StateDescriptor
    window_serializer: Any
    evictor: Any = None
    input_type: TypeInformation

    kind = "window"

    @property
    def python(self) -> PythonOperator:  # type: ignore[override]
        return PythonOperator.WINDOW if self.thread_mode else PythonOperator.KEYED_PROCESS

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.function, self.combine)

    def parameters(self) -> Iterator[tuple[str, Any]]:
        for name, value in super().parameters():
            if name == "combine":
                yield f"{self.call.value}_function", value or self.function
            else:
                yield name, value


# Two keyed streams


class KeyedCoFunction(PythonFunction, frozen=True, kw_only=True):
    """A function of two streams with keys of the same type."""

    key_selector1: Any = None
    key_selector2: Any = None

    python = PythonOperator.KEYED_CO_PROCESS

    @property
    def key_selectors(self) -> tuple[Any, ...]:
        return self.key_selector1, self.key_selector2


class KeyedCoMap(KeyedCoFunction, frozen=True, kw_only=True):
    """``map`` on connected keyed streams."""

    kind = "keyed_co_map"


class KeyedCoFlatMap(KeyedCoFunction, frozen=True, kw_only=True):
    """``flat_map`` on connected keyed streams."""

    kind = "keyed_co_flat_map"


class KeyedCoProcess(KeyedCoFunction, frozen=True, kw_only=True):
    """``process`` on connected keyed streams."""

    kind = "keyed_co_process"


# A stream and a broadcast stream


class BroadcastProcess(PythonFunction, frozen=True, kw_only=True):
    """``process`` on a stream without keys and a broadcast stream."""

    state_descriptors: tuple[MapStateDescriptor, ...] = ()

    kind = "broadcast_process"
    python = PythonOperator.BROADCAST


class KeyedBroadcastProcess(KeyedFunction, frozen=True, kw_only=True):
    """``process`` on a keyed stream and a broadcast stream."""

    state_descriptors: tuple[MapStateDescriptor, ...] = ()

    kind = "keyed_broadcast_process"
    python = PythonOperator.KEYED_BROADCAST
