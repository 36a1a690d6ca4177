"""Rows, in programs and in state. Flink: ``pyflink.common.types``."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

__all__ = ["Row", "RowKind", "make_row"]

_SIGNS = ("+I", "-U", "+U", "-D")
_OWN = frozenset({"_fields", "_from_dict", "_row_kind", "_values"})


class RowKind(Enum):
    """The kind of change that a row describes (Flink: ``RowKind``)."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SIGNS[self.value]


class Row:
    """Values in a fixed order, with or without names (Flink: ``Row``).

    >>> row = Row(name="Alice", age=11)
    >>> row.name, row["age"], row[0], "age" in row
    ('Alice', 11, 'Alice', True)
    >>> Person = Row("name", "age")
    >>> Person("Alice", 11)
    Row(name='Alice', age=11)

    Rows are equal when kind, names (in any order) and values are; a row with names never equals one without.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("A Row takes either values or named values, not both.")
        if kwargs:
            self._fields = list(kwargs)
            self._values = list(kwargs.values())
        else:
            self._values = list(args)
        self._from_dict = bool(kwargs)
        self._row_kind = RowKind.INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row with a kind of change."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def get_row_kind(self) -> RowKind:
        """The kind of change."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the kind of change."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: list[str]) -> None:
        """Set the names of the values."""
        self._fields = field_names

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """The values of these names in this order; all values of a row without names."""
        fields = self._names()
        if fields is None or names == fields:
            return self._values
        missing = [name for name in names if name not in fields]
        if missing:
            raise ValueError(f"Field names {missing} do not exist in {fields}.")
        return [self._values[fields.index(name)] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Names and values as a dict; rows inside too if ``recursive``. TypeError for a row without names."""
        fields = self._names()
        if fields is None:
            raise TypeError(f"Cannot convert {self!r} into a dict: its values have no names.")
        values = map(_plain, self._values) if recursive else self._values
        return dict(zip(fields, values, strict=False))

    def _names(self) -> list[str] | None:
        return self.__dict__.get("_fields")

    def _is_retract_msg(self) -> bool:
        return self._row_kind in (RowKind.UPDATE_BEFORE, RowKind.DELETE)

    def _is_accumulate_msg(self) -> bool:
        return self._row_kind in (RowKind.UPDATE_AFTER, RowKind.INSERT)

    def _position(self, name: Any) -> int:
        return (self._names() or []).index(name)

    def __contains__(self, item: Any) -> bool:
        fields = self._names()
        return item in (self._values if fields is None else fields)

    def __call__(self, *args: Any) -> Row:
        """A row with this one's values as names."""
        if len(args) > len(self):
            raise ValueError(f"{self!r} names {len(self)} fields, but {len(args)} values were given: {args}.")
        return _create_row(self._values, args, self._row_kind)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._position(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
            return
        try:
            self._values[self._position(key)] = value
        except ValueError:
            raise KeyError(key) from None

    def __getattr__(self, item: str) -> Any:
        if item.startswith("_"):
            raise AttributeError(item)
        try:
            return self._values[self._position(item)]
        except (IndexError, ValueError):
            raise AttributeError(f"{self!r} has no field {item!r}.") from None

    def __setattr__(self, key: str, value: Any) -> None:
        if key not in _OWN:
            raise AttributeError(f"Set a field of a row with row[{key!r}] = …, not as an attribute.")
        self.__dict__[key] = value

    def __reduce__(self) -> tuple[Any, ...]:
        return _create_row, (self._names(), tuple(self._values), self._row_kind)

    def __repr__(self) -> str:
        fields = self._names()
        if fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        return f"Row({', '.join(f'{name}={value!r}' for name, value in zip(fields, self._values, strict=False))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or type(self) is not type(other) or self._row_kind != other._row_kind:
            return False
        mine, theirs = self._names(), other._names()
        if mine is None or theirs is None or mine == theirs:
            return mine == theirs and self._values == other._values
        return sorted(mine) == sorted(theirs) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        fields = self._names()
        if fields is None:
            return hash(tuple(self._values))
        pairs = sorted(zip(fields, self._values, strict=False), key=lambda pair: pair[0])
        return hash(tuple(value for _, value in pairs))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value


def make_row(names: tuple[str, ...], kind: int, values: list[Any]) -> Row:
    """A row of field names, the number of its kind and its values."""
    row = Row(*values)
    row.set_field_names(list(names))
    row.set_row_kind(RowKind(kind))
    return row


def _create_row(fields: list[str] | None, values: Any, row_kind: RowKind | None = None) -> Row:
    row = Row(*values)
    if fields is not None:
        row._fields = fields
    if row_kind is not None:
        row._row_kind = row_kind
    return row
