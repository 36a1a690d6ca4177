"""The base of all operators, and the traits that Flink's graphs depend on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, fields
from enum import Enum
from typing import Any

from compat.state.frozen import frozen


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


@frozen
class Operator:
    """An operator: what it does, by which function, and the traits that Flink's graphs depend on.

    Each kind of operator is a record of its own, with the other arguments of the call that made it as fields.
    ``function`` is the user's function object, or the connector or collection of a source or sink; no graph layer looks
    into it. ``chained`` are the operators merged behind this one, in order.
    """

    function: Any = field(default=None, compare=False)
    factory: str = "SimpleUdfStreamOperatorFactory"
    yielding: bool = False
    output_at_end: bool = False
    coordinated: bool = False
    chained: tuple[Operator, ...] = ()

    @property
    def kind(self) -> str:
        """The word for this kind of operator in plans and savepoints, which users keep: it must not change."""
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
        for each in fields(self):
            if each.name not in _TRAITS:
                yield each.name, getattr(self, each.name)


_TRAITS = frozenset(each.name for each in fields(Operator)) | {"thread_mode"}
