"""What an operator is, as far as the graphs and the runtime need to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class ChainingStrategy(Enum):
    """When an operator may share a thread with its neighbours (Flink: ``ChainingStrategy``)."""

    ALWAYS = "ALWAYS"
    NEVER = "NEVER"
    HEAD = "HEAD"
    HEAD_WITH_SOURCES = "HEAD_WITH_SOURCES"


class PythonOperator(Enum):
    """Which of PyFlink's operator classes runs the function: decides what may be merged with what."""

    PROCESS = "PythonProcessOperator"
    KEYED_PROCESS = "PythonKeyedProcessOperator"
    CO_PROCESS = "PythonCoProcessOperator"
    KEYED_CO_PROCESS = "PythonKeyedCoProcessOperator"
    WINDOW = "PythonWindowOperator"
    BROADCAST = "PythonBroadcastProcessOperator"
    KEYED_BROADCAST = "PythonKeyedBroadcastProcessOperator"


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: what it does, by which function, and the traits that Flink's graphs depend on.

    ``kind`` is the API call that made it (``map``, ``keyed_process``, ``window``, …) and ``function`` the user's function
    object, which no graph layer looks into. ``arguments`` holds the call's other arguments (window assigner, state
    descriptor, parallelism of a lookup, …). ``chained`` are the operators merged behind this one, in order.
    """

    kind: str
    function: Any = field(default=None, compare=False)
    factory: str = "SimpleUdfStreamOperatorFactory"
    yielding: bool = False
    output_at_end: bool = False
    coordinated: bool = False
    python: PythonOperator | None = None
    thread_mode: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)
    chained: tuple[Operator, ...] = ()
