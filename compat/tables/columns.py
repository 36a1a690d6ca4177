"""Converts entries to Arrow columns: each cell by the type that its state declares."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from msgspec import Struct

from compat.compiler.spark.connectors.arrow import column_type, element_type, field_names
from compat.state.rows import Row
from compat.state.types import MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from compat.tables.snapshots import TableEntry, TableState

_BATCH = 8192
_NAMESPACE = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("number", pa.int64())])
_Convert = Callable[[Any], Any]


class Cells(Struct, frozen=True, kw_only=True):
    """The cells of one column, from one state's values."""

    type: pa.DataType
    convert: _Convert


class Layout(Struct, frozen=True, kw_only=True):
    """The columns of a table of some states' entries.

    If all states declare the same type, keys, map keys and values have that type. Otherwise they are texts: a text as it is,
    and anything else as JSON.
    """

    schema: pa.Schema
    keys: dict[TableState, _Convert]
    map_keys: dict[TableState, _Convert]
    values: dict[TableState, _Convert]

    def batches(self, entries: Iterable[TableEntry]) -> Iterator[pa.RecordBatch]:
        """The entries in batches of some thousand rows."""
        rest = iter(entries)
        while chosen := list(islice(rest, _BATCH)):
            yield self._batch(chosen)

    def _batch(self, entries: Sequence[TableEntry]) -> pa.RecordBatch:
        states = [entry.state for entry in entries]
        columns = [
            [state.operator for state in states],
            [state.uid for state in states],
            [state.operator_id for state in states],
            [state.name for state in states],
            [state.kind for state in states],
            [entry.key_group for entry in entries],
            _converted(self.keys, states, [entry.key for entry in entries]),
            [None if entry.namespace is None else entry.namespace._asdict() for entry in entries],
            _converted(self.map_keys, states, [entry.map_key for entry in entries]),
            _converted(self.values, states, [entry.value for entry in entries]),
            [entry.timestamp for entry in entries],
        ]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def layout_of(states: Iterable[TableState]) -> Layout:
    """The columns for the entries of some states."""
    chosen = list(states)
    key_type, keys = _column({state: _cells(state.key_type) for state in chosen})
    map_key_type, map_keys = _column({state: _cells(state.map_key_type) for state in chosen})
    value_type, values = _column({state: _cells(state.value_type) for state in chosen})
    schema = pa.schema(
        [
            ("operator", pa.string()),
            ("uid", pa.string()),
            ("operator_id", pa.string()),
            ("state", pa.string()),
            ("kind", pa.string()),
            ("key_group", pa.int32()),
            ("key", key_type),
            ("namespace", _NAMESPACE),
            ("map_key", map_key_type),
            ("value", value_type),
            ("timestamp", pa.int64()),
        ]
    )
    return Layout(schema=schema, keys=keys, map_keys=map_keys, values=values)


def _column(cells: dict[TableState, Cells | None]) -> tuple[pa.DataType, dict[TableState, _Convert]]:
    """One type for the cells of all states, with each state's conversion; a state that has none of them has nulls."""
    types = {each.type for each in cells.values() if each is not None}
    if len(types) == 1:
        return types.pop(), {state: _null if each is None else each.convert for state, each in cells.items()}
    return pa.string(), {state: _null if each is None else _as_text(each.convert) for state, each in cells.items()}


def _null(value: Any) -> None:
    return None


def _cells(type_info: TypeInformation | None) -> Cells | None:
    if type_info is None:
        return None
    try:
        return Cells(type=column_type(type_info, exact=True), convert=_converter(type_info))
    except ValueError:
        return Cells(type=pa.string(), convert=text)


def _as_text(convert: _Convert) -> _Convert:
    return lambda value: text(convert(value))


def _converted(converts: dict[TableState, _Convert], states: Sequence[TableState], values: list[Any]) -> list[Any]:
    return [None if value is None else converts[state](value) for state, value in zip(states, values, strict=True)]


def _same(value: Any) -> Any:
    return value


def _converter(type_info: TypeInformation) -> _Convert:
    """The function that makes Arrow's form of a value that is not None: rows and tuples by the names of their columns."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        names = field_names(type_info)
        parts = [_converter(each) for each in type_info.field_types]
        return lambda value: {
            name: None if field is None else part(field) for name, part, field in zip(names, parts, value, strict=True)
        }
    if isinstance(type_info, MapTypeInfo):
        key, item = _converter(type_info.key_type), _converter(type_info.value_type)
        return lambda value: [(key(k), None if v is None else item(v)) for k, v in value.items()]
    element = element_type(type_info)
    if element is not None and column_type(type_info, exact=True) != pa.binary():
        part = _converter(element)
        if part is _same:
            return list
        return lambda value: [None if each is None else part(each) for each in value]
    return str if column_type(type_info, exact=True) == pa.string() else _same


def text(value: Any) -> str | None:
    """A value as a text: texts as they are, bytes in hexadecimal digits, and anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Row):
        names = value._names()
        fields = [_plain(each) for each in value]
        return fields if names is None else dict(zip(names, fields, strict=True))
    if isinstance(value, dict):
        return {str(text(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)
