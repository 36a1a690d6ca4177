"""The base of all operators, and the traits that Flink's graphs depend on."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from msgspec import Struct


class ChainingStrategy(Enum):
    """The rules by which an operator may share a thread with its neighbours (Flink: ``ChainingStrategy``)."""

    ALWAYS = "ALWAYS"
    NEVER = "NEVER"
    HEAD = "HEAD"
    HEAD_WITH_SOURCES = "HEAD_WITH_SOURCES"


class PythonOperator(Enum):
    """PyFlink's operator class that runs the function; it decides which operators may be merged."""

    PROCESS = "PythonProcessOperator"
    KEYED_PROCESS = "PythonKeyedProcessOperator"
    CO_PROCESS = "PythonCoProcessOperator"
    KEYED_CO_PROCESS = "PythonKeyedCoProcessOperator"
    WINDOW = "PythonWindowOperator"
    BROADCAST = "PythonBroadcastProcessOperator"
    KEYED_BROADCAST = "PythonKeyedBroadcastProcessOperator"


class Operator(Struct, frozen=True, kw_only=True):
    """An operator: its work, its function, and the traits that Flink's graphs depend on.

    Each kind of operator has its own record, whose fields are the other arguments of its call.
    ``function`` is the user's function object, or the connector or collection of a source or sink; no graph layer looks
    into it. ``chained`` are the operators merged after this one, in order.
    """

    function: Any = None
    factory: str = "SimpleUdfStreamOperatorFactory"
    yielding: bool = False
    output_at_end: bool = False
    coordinated: bool = False
    chained: tuple[Operator, ...] = ()

    @property
    def kind(self) -> str:
        """The name of this kind of operator in plans and savepoints, which users keep: it must not change."""
        raise NotImplementedError

    @property
    def python(self) -> PythonOperator | None:
        """PyFlink's class that runs the operator in Python; None for an operator that Flink runs in Java."""
        return None

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions that a task opens before the first record and closes after the last."""
        return ()

    def parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters that the operator was given besides its function, by name."""
        for name in self.__struct_fields__:
            if name not in _TRAITS:
                yield name, getattr(self, name)

    @property
    def compared(self) -> tuple[object, ...]:
        """The traits that decide whether two operators of a kind are equal, without functions and other arguments."""
        return self.factory, self.yielding, self.output_at_end, self.coordinated, self.chained

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operator) and type(other) is type(self) and other.compared == self.compared

    def __hash__(self) -> int:
        return hash(self.compared)


_TRAITS = frozenset((*Operator.__struct_fields__, "thread_mode"))
