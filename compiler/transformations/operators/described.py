"""The operators of a topology: described by the program's calls, without its functions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from compat.compiler.transformations.operators.base import Operator


class Call(Enum):
    """Flink's Java API calls that make an operator; the value is the name in plans."""

    SOURCE = "source"
    LEGACY_SOURCE = "legacy_source"
    MAP = "map"
    FLAT_MAP = "flat_map"
    FILTER = "filter"
    PROCESS = "process"
    ASSIGN_TIMESTAMPS = "assign_timestamps"
    ASYNC_WAIT = "async_wait"
    WINDOW_ALL = "window_all"
    MAP_PARTITION = "map_partition"
    REDUCE = "reduce"
    SUM = "sum"
    KEYED_PROCESS = "keyed_process"
    WINDOW = "window"
    CONNECT_MAP = "connect_map"
    CONNECT_FLAT_MAP = "connect_flat_map"
    CONNECT_PROCESS = "connect_process"
    CONNECT_KEYED_PROCESS = "connect_keyed_process"
    BROADCAST_CONNECT = "broadcast_connect"
    KEYED_BROADCAST_CONNECT = "keyed_broadcast_connect"
    MULTI_INPUT = "multi_input"
    LEGACY_SINK = "legacy_sink"
    PRINT = "print"


class Contents(Enum):
    """The contents that Flink stores for a window: the value is the name of such functions in plans."""

    REDUCED = "reduce"
    AGGREGATED = "aggregate"
    ALL = "process"


class Windowing(Struct, frozen=True, kw_only=True):
    """The windowing of an operator, in Flink's names and descriptions; ``counted`` if its trigger counts."""

    assigner_class: str
    assigner: str
    trigger: str
    evictor: str | None = None
    event_time: bool = False
    merging: bool = False
    counted: bool = False


class Described(Operator, frozen=True, kw_only=True):
    """An operator with a known call; ``states`` are those that the topology declares, None if it does not say.

    Window operators have their assigner, and the contents that they keep of records. ``timers`` says whether a function can set
    timers: then its operator keeps a queue of timers, even an empty one.
    """

    call: Call
    states: tuple[Mapping[str, Any], ...] | None = None
    windowing: Windowing | None = None
    contents: Contents | None = None
    timers: bool = False

    @property
    def kind(self) -> str:
        return self.call.value

    @property
    def compared(self) -> tuple[object, ...]:
        return *super().compared, self.call, self.windowing, self.contents, self.timers
