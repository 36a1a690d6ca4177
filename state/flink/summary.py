"""Totals for a report: bytes, key groups and files of a savepoint and of each operator in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Struct

from compat.state.flink.errors import SavepointError
from compat.state.flink.files import NeededFile, list_files
from compat.state.flink.handles import Changelog, Keyed, KeyGroups, OperatorStream
from compat.state.flink.measure import Budget, Measured, measure_keyed, measure_operator
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.states import HeaderReader, with_headers


class KeyGroupBalance(Struct, frozen=True):
    """The distribution of an operator's key groups over subtasks, and the number with data (None if unknown)."""

    fewest_per_subtask: int
    most_per_subtask: int
    with_data: int | None


class StateTotal(Struct, frozen=True):
    """One state over all subtasks; `bytes` counts its keys and values, None if the layout does not tell."""

    name: str
    type: str
    bytes: int | None


class OperatorSummary(Struct, frozen=True, kw_only=True):
    """One operator: `bytes` in all its handles, of which `keyed`, `operator` and `channel` bytes by kind."""

    id: str
    bytes: int
    keyed_bytes: int
    operator_bytes: int
    channel_bytes: int
    coordinator_bytes: int
    states: tuple[StateTotal, ...]
    key_groups: KeyGroupBalance | None


class Summary(Struct, frozen=True):
    """A savepoint: `bytes` in all handles, `metadata_bytes` in `_metadata`; bytes in place are in both."""

    operators: tuple[OperatorSummary, ...]
    bytes: int
    metadata_bytes: int
    files: tuple[NeededFile, ...]

    @property
    def missing(self) -> tuple[NeededFile, ...]:
        """The files without which a restore on this machine would fail."""
        return tuple(file for file in self.files if file.missing)


def summarize(savepoint: Savepoint, headers: HeaderReader | None = None) -> Summary:
    """Add up a savepoint. Opens state files for their headers; raises nothing if they cannot be read."""
    reader = headers or HeaderReader(savepoint)
    budget = Budget()
    operators = tuple(summarize_operator(savepoint, operator, reader, budget) for operator in savepoint.operators)
    total = sum(operator.bytes for operator in operators)
    return Summary(operators, total, savepoint.metadata_bytes, list_files(savepoint))


def summarize_operator(
    savepoint: Savepoint, operator: OperatorState, headers: HeaderReader, budget: Budget
) -> OperatorSummary:
    """Add up one operator."""
    totals = _Totals()
    for subtask in operator.subtasks:
        whole = not (isinstance(subtask.managed_keyed, Changelog) and subtask.managed_keyed.changes)
        for handle in _with_headers(subtask.managed_keyed):
            totals.add_keyed(savepoint, handle, headers, budget, whole=whole)
        if subtask.managed_operator is not None:
            totals.add_operator(subtask.managed_operator, headers)
    keyed = [h for s in operator.subtasks for h in (s.managed_keyed, s.raw_keyed) if h is not None]
    streams = [h for s in operator.subtasks for h in (s.managed_operator, s.raw_operator) if h is not None]
    channels = [h for s in operator.subtasks for h in s.input_channels + s.output_channels]
    return OperatorSummary(
        id=operator.id,
        bytes=operator.size,
        keyed_bytes=sum(h.size for h in keyed),
        operator_bytes=sum(h.size for h in streams),
        channel_bytes=sum(h.size for h in channels),
        coordinator_bytes=operator.coordinator.size if operator.coordinator else 0,
        states=totals.states(),
        key_groups=_balance(operator, totals),
    )


def _balance(operator: OperatorState, totals: _Totals) -> KeyGroupBalance | None:
    counts = [s.managed_keyed.key_groups.count for s in operator.subtasks if s.managed_keyed is not None]
    if not counts:
        return None
    return KeyGroupBalance(min(counts), max(counts), totals.occupied)


def _with_headers(handle: Keyed | None) -> Iterator[Keyed]:
    return with_headers(handle) if handle is not None else iter(())


@dataclass(slots=True)
class _Totals:
    """Sums over subtasks; one unknown part makes the whole unknown, since half a number misleads."""

    types: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int | None] = field(default_factory=dict)
    occupied: int | None = 0

    def add_keyed(
        self, savepoint: Savepoint, handle: Keyed, headers: HeaderReader, budget: Budget, *, whole: bool
    ) -> None:
        """Add a handle that has a header; it is not the ``whole`` where a log of changes stands beside it."""
        try:
            header = headers.keyed(handle)
        except SavepointError:
            header = None
        measured = Measured()
        if header is not None and isinstance(handle, KeyGroups) and whole:
            measured = measure_keyed(savepoint, handle, header, budget)
        for state in header.states if header else ():
            size = None if measured.state_bytes is None else measured.state_bytes[state.name]
            self._add(state.name, state.type, size)
        known = self.occupied is not None and measured.occupied is not None
        self.occupied = (self.occupied or 0) + (measured.occupied or 0) if known else None

    def add_operator(self, handle: OperatorStream, headers: HeaderReader) -> None:
        try:
            header = headers.operator(handle)
        except SavepointError:
            header = None
        sizes = measure_operator(handle, header)
        for partition in handle.partitions:
            kind = "BROADCAST" if partition.mode == "BROADCAST" else "OPERATOR"
            self._add(partition.name, kind, None if sizes is None else sizes[partition.name])

    def states(self) -> tuple[StateTotal, ...]:
        return tuple(StateTotal(name, kind, self.sizes[name]) for name, kind in self.types.items())

    def _add(self, name: str, kind: str, size: int | None) -> None:
        if name not in self.types:
            self.types[name], self.sizes[name] = kind, 0
        so_far = self.sizes[name]
        self.sizes[name] = None if so_far is None or size is None else so_far + size
