"""The entries of a snapshot of a job on Spark, decoded with the declared types."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from compat.compiler.spark.driver.saved import SavedOperator
from compat.compiler.spark.runtime_api.internal_states import COMMITTABLES, FEEDBACK, STATES, WATERMARK
from compat.state.delta.compaction import contents
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, Row, counted, read_rows
from compat.state.serializers import codec_of, key_codec_of
from compat.state.types import ListTypeInfo, MapTypeInfo, TypeInformation, from_json

INTERNAL = frozenset({STATES, COMMITTABLES, FEEDBACK, WATERMARK, Kind.TASK})
"""Names of the states that the execution itself keeps."""

_OF_OPERATORS = (Kind.OPERATOR, Kind.TASK, Kind.JOB)
_TIMERS = (Kind.EVENT_TIMER, Kind.PROCESSING_TIMER)
_SHOWN = 200


class StoredState(Struct, frozen=True):
    """A state of an operator in a snapshot. ``kind`` is one of :class:`compat.state.delta.rows.Kind`.

    The types are those of its keys, map keys and values; None if it has none, or where they are not declared.
    """

    operator: SavedOperator
    name: str
    kind: str
    key_type: TypeInformation | None
    map_key_type: TypeInformation | None
    value_type: TypeInformation | None


class Entry(NamedTuple):
    """One entry of a state. ``namespace`` is a window's start and end in milliseconds, or the number of one that has no time.

    ``timestamp`` is when a timer is due, or when a value that expires was last used: milliseconds since 1970.
    """

    state: StoredState
    key_group: int
    key: Any
    namespace: tuple[int, int] | int | None
    map_key: Any
    value: Any
    timestamp: int | None


def stored_states(log: SnapshotLog, saved: Mapping[str, SavedOperator]) -> Sequence[StoredState]:
    """The states of the operators ``saved`` that have entries, in the order of ids and names. Raises StoreError."""
    found: set[tuple[str, str, str]] = set()
    for table in log.parts(["operator_id", "kind", "state"]):
        found.update(counted(table))
    return [
        _stored(saved[id], name, kind)
        for id, kind, name in sorted(found)
        if id in saved and name not in INTERNAL and kind != Kind.TASK
    ]


def _stored(operator: SavedOperator, name: str, kind: str) -> StoredState:
    described = next((each for each in operator.states if each["name"] == name), None)
    declared = None if described is None else from_json(described["type"])
    map_key = None
    if kind in (Kind.MAP, Kind.BROADCAST) and isinstance(declared, MapTypeInfo):
        map_key, declared = declared.key_type, declared.value_type
    elif kind == Kind.LIST and declared is not None and not isinstance(declared, ListTypeInfo):
        declared = ListTypeInfo(declared)
    return StoredState(operator, name, kind, _key_type(operator), map_key, None if kind in _TIMERS else declared)


def _key_type(operator: SavedOperator) -> TypeInformation | None:
    spelled = next((each["key_type"] for each in operator.states if "key_type" in each), None)
    return None if spelled is None else from_json(spelled)


def entries(log: SnapshotLog, states: Collection[StoredState], part: range | None = None) -> Iterator[Entry]:
    """The entries of some states; only those of one range of key groups, if ``part`` is given. Raises StoreError.

    -1 is the key group of entries without a key. One slice of the key groups at a time is in memory.
    """
    readers = {(each.operator.id, each.name, each.kind): _reader(each) for each in states}
    operators = {each.operator.id: each.operator for each in states}
    types = {id: _key_type(each) for id, each in operators.items()}
    pickled = frozenset(id for id, type in types.items() if type is not None and not key_codec_of(type).canonical)
    ids = pa.array(sorted(operators), pa.string())
    names = pa.array(sorted({each.name for each in states}), pa.string())
    for table in contents(
        log, lambda table: pc.and_(pc.is_in(table["operator_id"], ids), pc.is_in(table["state"], names)), pickled, part
    ):
        lists: dict[tuple[str, str, bytes, bytes], list[Row]] = {}
        for row in read_rows(table):
            read = readers.get((row.operator_id, row.state, row.kind))
            if read is None:
                continue
            if row.kind == Kind.LIST:
                lists.setdefault((row.operator_id, row.state, row.key, row.namespace), []).append(row)
            else:
                yield read(row)
        for chunks in lists.values():
            yield _whole(readers[chunks[0].operator_id, chunks[0].state, Kind.LIST], chunks)


def _whole(read: Callable[[Row], Entry], chunks: list[Row]) -> Entry:
    """A list, of which each epoch's additions are a row, in the order of their numbers."""
    parts = [read(row) for row in sorted(chunks, key=lambda row: row.map_key)]
    times = [part.timestamp for part in parts if part.timestamp is not None]
    elements = [element for part in parts for element in part.value]
    return parts[0]._replace(value=elements, timestamp=max(times, default=None))


def _reader(state: StoredState) -> Callable[[Row], Entry]:
    keys, values = key_codec_of(state.key_type), _value_reader(state)
    map_keys = None if state.map_key_type is None else key_codec_of(state.map_key_type)

    def map_key(data: bytes) -> Any:
        if map_keys is not None:
            return map_keys.decode(data)
        return data.decode("utf-8", "replace") if state.kind in _OF_OPERATORS and data else None

    return lambda row: Entry(
        state,
        row.key_group,
        keys.decode(row.key) if row.key else None,
        _namespace(row.namespace),
        map_key(row.map_key),
        values(row.value),
        row.timestamp,
    )


def _value_reader(state: StoredState) -> Callable[[bytes | None], Any]:
    if state.value_type is None:
        return lambda data: None if not data else _text(data)
    codec = codec_of(state.value_type)
    if state.kind == Kind.MAP:
        return lambda data: None if data is None or data == b"\0" else codec.decode(data[1:])
    return lambda data: None if data is None else codec.decode(data)


def _text(data: bytes) -> str:
    """What an operator of the system keeps, such as the position of a source, as far as it can be shown."""
    return data.decode("utf-8", "replace")[:_SHOWN]


def _namespace(namespace: bytes) -> tuple[int, int] | int | None:
    if not namespace:
        return None
    if len(namespace) == 16:
        start, end = struct.unpack(">qq", namespace)
        return start, end
    return int.from_bytes(namespace, "big")
