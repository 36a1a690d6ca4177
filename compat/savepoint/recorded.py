"""The records of a savepoint that a restore needs: operators, and states with the shapes of their serializers."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from compat.plan.recorded_states import RecordedState, recorded_state
from compat.plan.shapes import BYTES, Shape, of_snapshot
from compat.savepoint.connectors import Left, kafka_writers, source_left
from compat.savepoint.folders import newer_snapshot
from compat.state import names as framework
from compat.state.flink import (
    HeaderReader,
    KeyedFormat,
    NeededFile,
    OperatorState,
    OperatorSummary,
    Savepoint,
    keyed_format,
    read_states,
    read_versioned,
    sample_values,
    summarize,
)
from compat.state.flink.formats import WITHOUT_HEAP_TIMERS
from compat.state.flink.remote import is_remote, read_savepoint
from compat.state.model.states import StateKind, StateScope

FULLY, PARTLY = "fully", "partly"


class RecordedOperator(Struct, frozen=True, kw_only=True):
    """An operator of a savepoint.

    ``states`` are all that could be read; ``unreadable`` says why there may be more. ``finished`` is ``fully``, ``partly``
    or None. ``channels`` says whether there are records in flight before it and after it. ``connector`` is the state
    of a source or of a Kafka sink. ``raw_keyed`` says whether the operator wrote raw keyed state: checkpoints of
    RocksDB have heap timers there.
    """

    id: str
    name: str | None
    uid: str | None
    parallelism: int
    max_parallelism: int
    has_state: bool
    coordinated: bool
    key: Shape | None
    states: tuple[RecordedState, ...]
    unreadable: tuple[str, ...]
    finished: str | None
    channels: tuple[bool, bool]
    format: KeyedFormat | None
    bytes: int
    connector: Left | None = None
    raw_keyed: bool = False

    @property
    def keyed(self) -> bool:
        """True if there is keyed state, timer queues included."""
        return any(state.scope is StateScope.KEYED for state in self.states)

    @property
    def without_timers(self) -> bool:
        """True if it has keyed state in files of RocksDB's own, and no timer queue anywhere."""
        own = self.format in WITHOUT_HEAP_TIMERS and self.keyed and not self.unreadable
        return own and not self.raw_keyed and not any(state.timers for state in self.states)


class Recorded(Struct, frozen=True):
    """A savepoint or checkpoint. ``metadata`` is the path of its ``_metadata``, ``files`` the files outside of it.

    ``newer`` is the latest snapshot of the same job that lies beside it and was taken after it.
    """

    metadata: str
    format_version: int
    is_savepoint: bool | None
    operators: tuple[RecordedOperator, ...]
    files: tuple[NeededFile, ...]
    newer: str | None = None


def read(path: str) -> Recorded:
    """Read the savepoint at a path or URI. Raises :class:`compat.state.flink.SavepointError`, and nothing else."""
    return recorded(read_savepoint(path))


def recorded(savepoint: Savepoint) -> Recorded:
    """The facts of a savepoint whose metadata has been read; opens state files for their headers."""
    headers = HeaderReader(savepoint)
    summary = summarize(savepoint, headers)
    return Recorded(
        metadata=savepoint.path,
        format_version=savepoint.format_version,
        is_savepoint=None if savepoint.properties is None else savepoint.properties.is_savepoint,
        operators=tuple(
            _operator(savepoint, operator, totals, headers)
            for operator, totals in zip(savepoint.operators, summary.operators, strict=True)
        ),
        files=summary.files,
        newer=None if is_remote(savepoint.path) else newer_snapshot(savepoint.folder, savepoint.checkpoint_id),
    )


def _operator(
    savepoint: Savepoint, operator: OperatorState, totals: OperatorSummary, headers: HeaderReader
) -> RecordedOperator:
    found = read_states(savepoint, operator, headers)
    sizes = {total.name: total.bytes for total in totals.states}
    metas = (*found.keyed, *found.lists, *found.broadcast)
    samples = sample_values(savepoint, operator, headers)
    return RecordedOperator(
        id=operator.id,
        name=operator.name,
        uid=operator.uid,
        parallelism=operator.parallelism,
        max_parallelism=operator.max_parallelism,
        has_state=operator.has_state,
        coordinated=operator.coordinator is not None,
        key=of_snapshot(found.key_serializer),
        states=tuple(
            _with_elements(recorded_state(meta, sizes.get(meta.name)), samples.get(meta.name, ())) for meta in metas
        ),
        unreadable=found.unreadable,
        finished=_finished(operator),
        channels=(
            any(subtask.input_channels for subtask in operator.subtasks),
            any(subtask.output_channels for subtask in operator.subtasks),
        ),
        format=keyed_format(savepoint, operator, headers),
        raw_keyed=any(subtask.raw_keyed is not None for subtask in operator.subtasks),
        bytes=totals.bytes,
        connector=_connector(savepoint, operator, headers, {meta.name for meta in found.lists}),
    )


def _connector(savepoint: Savepoint, operator: OperatorState, headers: HeaderReader, names: set[str]) -> Left | None:
    if framework.SOURCE_READER in names:
        return source_left(operator, read_versioned(savepoint, operator, framework.SOURCE_READER, headers))
    if framework.SINK_WRITER in names:
        return kafka_writers(read_versioned(savepoint, operator, framework.SINK_WRITER, headers))
    return None


def _finished(operator: OperatorState) -> str | None:
    if operator.fully_finished:
        return FULLY
    return PARTLY if any(subtask.finished for subtask in operator.subtasks) else None


_NULLS = {StateKind.VALUE: 0, StateKind.LIST: 0, StateKind.MAP: 1}
"""By kind of state, the bytes before a value that say whether it is null."""
_TIME = 8


def _with_elements(state: RecordedState, samples: tuple[bytes, ...]) -> RecordedState:
    """The state with the byte arrays inside the stored values, if it is one of byte arrays."""
    nulls = None if state.kind is None else _NULLS.get(state.kind)
    value = state.value
    if value is not None and value.name in ("List", "Map") and state.kind is not StateKind.VALUE and value.parts:
        value = value.parts[-1]
    if nulls is None or value != BYTES or state.scope is not StateScope.KEYED:
        return state
    return replace(state, elements=tuple(_arrays(samples, nulls + _TIME * state.ttl)))


def _arrays(samples: tuple[bytes, ...], skipped: int) -> Iterator[bytes]:
    """The first byte array in each value, behind what says that it is not null and when it was last used."""
    for value in samples:
        begin = skipped + 4
        length = int.from_bytes(value[skipped:begin], "big", signed=True)
        if 0 <= length <= len(value) - begin:
            yield value[begin : begin + length]
