"""The operators that PyFlink runs in Python, around a function of the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any

from compat.compiler.transformations.operators.base import Operator, PythonOperator
from compat.state.frozen import frozen

if TYPE_CHECKING:
    from compat.state.descriptors import MapStateDescriptor, StateDescriptor
    from compat.state.types import TypeInformation


@frozen
class PythonFunction(Operator):
    """An operator that PyFlink runs in Python; ``thread_mode`` when inside the task's thread, not in a process beside it."""

    factory: str = "SimpleOperatorFactory"
    thread_mode: bool = False

    python = PythonOperator.PROCESS

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.function,)


# Streams without keys


@frozen
class Map(PythonFunction):
    """``map``."""

    kind = "map"


@frozen
class PrintMap(PythonFunction):
    """Makes text of the records that are to be printed."""

    kind = "print_map"


@frozen
class SideOutputMap(PythonFunction):
    """The map that PyFlink puts behind a side output."""

    tag: Any = field(compare=False)

    kind = "side_output_map"

    @property
    def functions(self) -> tuple[Any, ...]:
        return ()


@frozen
class FlatMap(PythonFunction):
    """``flat_map``."""

    kind = "flat_map"


@frozen
class Filter(PythonFunction):
    """``filter``."""

    kind = "filter"


@frozen
class Process(PythonFunction):
    """``process``."""

    kind = "process"


@frozen
class KeyByMap(PythonFunction):
    """Puts the key before the record: the hidden half of ``key_by``."""

    key_type: TypeInformation = field(compare=False)

    kind = "key_by_map"


@frozen
class PartitionCustomMap(PythonFunction):
    """Puts the subtask that a partitioner chose before the record: the hidden half of ``partition_custom``."""

    key_selector: Any = field(compare=False)

    kind = "partition_custom_map"


@frozen
class PartitionCustomValues(PythonFunction):
    """Takes the subtask off again."""

    kind = "partition_custom_values"


@frozen
class ExtractTimestamp(PythonFunction):
    """Calls the timestamp assigner of a watermark strategy, which is its function."""

    kind = "extract_timestamp"

    @property
    def functions(self) -> tuple[Any, ...]:
        return ()


@frozen
class AsyncWait(PythonFunction):
    """Calls an asynchronous function for up to ``capacity`` records at once; ``ordered`` keeps the records' order."""

    timeout: Any = field(compare=False)
    capacity: int = field(compare=False)
    retry_strategy: Any = field(compare=False)
    ordered: bool = field(compare=False)

    kind = "async_wait"


# Two connected streams


@frozen
class CoFunction(PythonFunction):
    """A function of two streams of which at least one has no key."""

    key_selector1: Any = field(default=None, compare=False)
    key_selector2: Any = field(default=None, compare=False)

    python = PythonOperator.CO_PROCESS


@frozen
class CoMap(CoFunction):
    """``map`` on connected streams."""

    kind = "co_map"


@frozen
class CoFlatMap(CoFunction):
    """``flat_map`` on connected streams."""

    kind = "co_flat_map"


@frozen
class CoProcess(CoFunction):
    """``process`` on connected streams."""

    kind = "co_process"


# Keyed streams


@frozen
class KeyedFunction(PythonFunction):
    """A function of a keyed stream."""

    key_selector: Any = field(default=None, compare=False)

    python = PythonOperator.KEYED_PROCESS


@frozen
class KeyedMap(KeyedFunction):
    """``map`` on a keyed stream."""

    kind = "keyed_map"


@frozen
class KeyedFlatMap(KeyedFunction):
    """``flat_map`` on a keyed stream."""

    kind = "keyed_flat_map"


@frozen
class KeyedFilter(KeyedFunction):
    """``filter`` on a keyed stream."""

    kind = "keyed_filter"


@frozen
class KeyedValues(KeyedFunction):
    """Takes the key off the records."""

    kind = "keyed_values"


class Aggregate(Enum):
    """The built-in ways to combine two records; the value is what plans call them."""

    MIN = "min"
    MAX = "max"
    MIN_BY = "min_by"
    MAX_BY = "max_by"
    SUM = "sum"


@frozen
class Aggregation:
    """A built-in way to combine two records, and the number or name of the field that it looks at."""

    how: Aggregate
    field: int | str


@frozen
class KeyedReduce(KeyedFunction):
    """A rolling reduce: by the function, or by an ``aggregation`` where there is none.

    ``value_type`` is the type of what is kept: the output type no longer tells it once others are merged behind.
    """

    aggregation: Aggregation | None = field(default=None, compare=False)
    value_type: Any = field(compare=False)

    kind = "keyed_reduce"


@frozen
class KeyedProcess(KeyedFunction):
    """``process`` on a keyed stream."""

    kind = "keyed_process"


class WindowCall(Enum):
    """How a window's records become its result: combined as they come, or all seen by a function when it fires."""

    REDUCE = "reduce"
    AGGREGATE = "aggregate"
    APPLY = "apply"
    PROCESS = "process"

    @property
    def combines(self) -> bool:
        """True where one value is kept for a window, in the place of its records."""
        return self in (WindowCall.REDUCE, WindowCall.AGGREGATE)


@frozen
class Window(KeyedFunction):
    """Windows of a key: ``combine`` is the reduce or aggregate function, ``function`` sees what is there when one fires.

    ``for_all`` marks windows over a whole stream, which PyFlink runs under one key.
    """

    call: WindowCall = field(compare=False)
    for_all: bool = field(default=False, compare=False)
    combine: Any = field(default=None, compare=False)
    assigner: Any = field(compare=False)
    trigger: Any = field(compare=False)
    allowed_lateness: int = field(default=0, compare=False)
    late_data_output_tag: Any = field(default=None, compare=False)
    state_descriptor: StateDescriptor = field(compare=False)
    window_serializer: Any = field(compare=False)
    evictor: Any = field(default=None, compare=False)
    input_type: TypeInformation = field(compare=False)

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


@frozen
class KeyedCoFunction(PythonFunction):
    """A function of two streams with keys of the same type."""

    key_selector1: Any = field(default=None, compare=False)
    key_selector2: Any = field(default=None, compare=False)

    python = PythonOperator.KEYED_CO_PROCESS


@frozen
class KeyedCoMap(KeyedCoFunction):
    """``map`` on connected keyed streams."""

    kind = "keyed_co_map"


@frozen
class KeyedCoFlatMap(KeyedCoFunction):
    """``flat_map`` on connected keyed streams."""

    kind = "keyed_co_flat_map"


@frozen
class KeyedCoProcess(KeyedCoFunction):
    """``process`` on connected keyed streams."""

    kind = "keyed_co_process"


# A stream and a broadcast stream


@frozen
class BroadcastProcess(PythonFunction):
    """``process`` on a stream without keys and a broadcast stream."""

    state_descriptors: tuple[MapStateDescriptor, ...] = field(default=(), compare=False)

    kind = "broadcast_process"
    python = PythonOperator.BROADCAST


@frozen
class KeyedBroadcastProcess(KeyedFunction):
    """``process`` on a keyed stream and a broadcast stream."""

    state_descriptors: tuple[MapStateDescriptor, ...] = field(default=(), compare=False)

    kind = "keyed_broadcast_process"
    python = PythonOperator.KEYED_BROADCAST
