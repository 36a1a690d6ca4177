"""State descriptors: the name, kind, types and lifetime that a program declares before it uses a state.

Flink: ``StateDescriptor`` and its subclasses. Two descriptors are equal when name, kind, types and lifetime are; as in Flink,
the functions of reducing and aggregating state do not count.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from compat.state.ttl import StateTtlConfig
from compat.state.types import PICKLED, ListTypeInfo, MapTypeInfo, TypeInformation, checked

__all__ = [
    "AggregatingStateDescriptor",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "ReducingStateDescriptor",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueStateDescriptor",
]


class StateDescriptor:
    """The base of all descriptors. ``kind`` is Flink's name of the state's kind.

    ``made_at`` is the file and the line that made the descriptor; it does not count when two are compared.
    """

    kind: ClassVar[str] = "UNKNOWN"

    def __init__(self, name: str, type_info: TypeInformation | None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"The name of a state is a text, got {name!r}.")
        self.name = name
        self.type_info = _type_of(type_info, name)
        self._ttl_config: StateTtlConfig | None = None
        self.made_at = _caller()

    def get_name(self) -> str:
        """The name under which the state is kept; it must be unique in its operator."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Make values of the state expire."""
        self._ttl_config = ttl_config

    @property
    def ttl_config(self) -> StateTtlConfig | None:
        """The lifetime settings of values; None for no expiry."""
        return self._ttl_config if self._ttl_config is not None and self._ttl_config.is_enabled() else None

    def to_json(self) -> dict[str, Any]:
        """The descriptor as plain JSON data."""
        data: dict[str, Any] = {"name": self.name, "kind": self.kind, "type": self.type_info.to_json()}
        if self.ttl_config is not None:
            data["ttl"] = self.ttl_config.to_json()
        return data

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, StateDescriptor)
            and (self.name, self.type_info, self._ttl_config) == (other.name, other.type_info, other._ttl_config)
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.type_info))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info!r})"


def _caller() -> tuple[str, int] | None:
    """File and line of the innermost call that does not stand in this module."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _type_of(given: TypeInformation | None, name: str) -> TypeInformation:
    return PICKLED if given is None else checked(given, f"State {name!r}")


class ValueStateDescriptor(StateDescriptor):
    """One value for each key."""

    kind: ClassVar[str] = "VALUE"

    def __init__(self, name: str, value_type_info: TypeInformation | None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """A list for each key; ``type_info`` is the list's type."""

    kind: ClassVar[str] = "LIST"

    def __init__(self, name: str, elem_type_info: TypeInformation | None) -> None:
        self.element_type = _type_of(elem_type_info, name)
        super().__init__(name, ListTypeInfo(self.element_type))


class MapStateDescriptor(StateDescriptor):
    """A map for each key, or the map of a broadcast state; ``type_info`` is the map's type."""

    kind: ClassVar[str] = "MAP"

    def __init__(
        self, name: str, key_type_info: TypeInformation | None, value_type_info: TypeInformation | None
    ) -> None:
        self.key_type = _type_of(key_type_info, name)
        self.value_type = _type_of(value_type_info, name)
        super().__init__(name, MapTypeInfo(self.key_type, self.value_type))


class _Reduction:
    """A plain function of two values in the shape of a ``ReduceFunction``."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Two values as one."""
        return self.function(value1, value2)


class ReducingStateDescriptor(StateDescriptor):
    """One value for each key, into which each added value is folded by a function of two values."""

    kind: ClassVar[str] = "REDUCING"

    def __init__(self, name: str, reduce_function: Any, type_info: TypeInformation | None) -> None:
        super().__init__(name, type_info)
        if hasattr(reduce_function, "reduce") and not isinstance(reduce_function, type):
            self._reduce_function = reduce_function
        elif callable(reduce_function):
            self._reduce_function = _Reduction(reduce_function)
        else:
            raise TypeError(
                f"State {name!r} needs a ReduceFunction or a function of two values, got {reduce_function!r}."
            )

    def get_reduce_function(self) -> Any:
        """The function, with a method ``reduce``."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """One accumulator for each key; ``type_info`` is the accumulator's type."""

    kind: ClassVar[str] = "AGGREGATING"

    def __init__(self, name: str, agg_function: Any, state_type_info: TypeInformation | None) -> None:
        super().__init__(name, state_type_info)
        missing = [m for m in ("create_accumulator", "add", "get_result") if not hasattr(agg_function, m)]
        if missing or isinstance(agg_function, type):
            raise TypeError(
                f"State {name!r} needs an AggregateFunction, got {agg_function!r}"
                + (f" without {', '.join(missing)}." if missing else ": pass an instance, not the class.")
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The function."""
        return self._agg_function
