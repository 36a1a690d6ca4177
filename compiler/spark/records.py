"""The form that a declared type gives to records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.datastream.common.types import Row, RowKind
from state.serializers import set_pickler, set_row_class
from state.types import RowTypeInfo, TupleTypeInfo


def make_row(names: tuple[str, ...], kind: int, values: list[Any]) -> Row:
    """A row of field names, the number of its kind and its values."""
    row = Row(*values)
    row.set_field_names(list(names))
    row.set_row_kind(RowKind(kind))
    return row


def converter(type_info: Any) -> Callable[[list[Any]], list[Any]] | None:
    """What gives records the form of their type: rows where rows are declared, tuples where tuples are. None for nothing."""
    if isinstance(type_info, RowTypeInfo):
        names = type_info.field_names

        def to_row(value: Any) -> Any:
            if isinstance(value, Row):
                if value._names() is None:
                    value.set_field_names(list(names))
                return value
            if isinstance(value, dict):
                value = [value.get(name) for name in names]
            return make_row(names, 0, list(value))

        return lambda values: list(map(to_row, values))
    if isinstance(type_info, TupleTypeInfo):
        return _to_tuples
    return None


def _to_tuples(values: list[Any]) -> list[Any]:
    if set(map(type, values)) <= {tuple}:
        return values
    return [value if type(value) is tuple else tuple(value) for value in values]


def from_internal(type_info: Any) -> Callable[[Any], Any]:
    """What makes a record of the stored form that ``to_internal_type`` gave."""
    if type_info is None or not type_info.need_conversion():
        return lambda value: value
    if isinstance(type_info, RowTypeInfo):
        fields = [from_internal(field) for field in type_info.field_types]
        names = type_info.field_names
        return lambda value: make_row(names, value[0], [f(v) for f, v in zip(fields, value[1:], strict=True)])
    if isinstance(type_info, TupleTypeInfo):
        parts = [from_internal(field) for field in type_info.field_types]
        return lambda value: tuple(f(v) for f, v in zip(parts, value, strict=True))
    return type_info.from_internal_type  # type: ignore[no-any-return]


def install() -> None:
    """Let the state's serializers make rows, and pickle by value what cannot be imported."""
    from pyspark import cloudpickle

    set_row_class(make_row)
    set_pickler(cloudpickle.dumps)


install()
