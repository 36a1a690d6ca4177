"""Snapshots of any kind, as states with entries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from compat.state.types import TypeInformation


class TableState(Struct, frozen=True, kw_only=True):
    """A state of an operator: one of the tables of a snapshot.

    ``kind`` is a word such as ``value``, ``list``, ``map`` or ``event-timer``. A type is None if the state has no such part, or
    does not declare it. ``value_type`` is the type of a table's cell: for a list state, the type of the list.
    """

    operator: str
    uid: str | None
    operator_id: str
    name: str
    kind: str
    key_type: TypeInformation | None = None
    map_key_type: TypeInformation | None = None
    value_type: TypeInformation | None = None


class Window(NamedTuple):
    """The namespace of an entry: a window from ``start`` to before ``end``, in milliseconds since 1970, or a numbered one."""

    start: int | None
    end: int | None
    number: int | None


class TableEntry(NamedTuple):
    """An entry of a state. ``key_group`` is None if there is no key; ``timestamp`` is in milliseconds since 1970."""

    state: TableState
    key_group: int | None
    key: Any
    namespace: Window | None
    map_key: Any
    value: Any
    timestamp: int | None


class StateSnapshot(Protocol):
    """A snapshot that can be read as tables. Pickled, it is the same snapshot."""

    @property
    def address(self) -> str:
        """The path by which this snapshot is found again, even if it is a checkpoint of a running job."""

    @property
    def states(self) -> Sequence[TableState]:
        """The states of the snapshot."""

    def parts(self) -> Sequence[range | None]:
        """Ranges of key groups that can be read separately; None is all of them."""

    def entries(self, states: Collection[TableState], part: range | None = None) -> Iterator[TableEntry]:
        """The entries of some states, or of those in one range of key groups."""
