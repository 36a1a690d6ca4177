"""Values of one type as a column of their bytes: what :mod:`compat.state.serializers` makes of each, made of all at once.

Only of values that come back as they went in and cannot be changed, so that who has encoded them need not look again.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from compat.state.delta.entries import fixed, joined, lengths, values_without_time
from compat.state.delta.rows import BYTES
from compat.state.serializers import codec_of, exactness_of
from compat.state.types import ExternalTypeInfo, TupleTypeInfo, TypeInformation

Encoder = Callable[[list[Any]], "pa.Array | None"]
"""Gives the values as a column, or None if one of them is not exactly of its type."""

_NUMBERS = {
    "BYTE": (int, ">i1"),
    "SHORT": (int, ">i2"),
    "INT": (int, ">i4"),
    "LONG": (int, ">i8"),
    "DOUBLE": (float, ">f8"),
}


class ValueColumns:
    """The values of a state as bytes, many at once. ``state`` is its name, for errors."""

    def __init__(self, state: str, type_info: TypeInformation | None) -> None:
        self.state = state
        self._codec, self._columns = codec_of(type_info), column_encoder(type_info)
        self._exact = exactness_of(type_info)

    def decode(self, data: bytes) -> Any:
        """A value."""
        return self._codec.decode(data)

    def logged(self, values: list[Any]) -> tuple[pa.Array, dict[int, Any]]:
        """The values as the log stores them, None for none; and those, by their place, that from now on are what their bytes
        say, as they are not exactly of their type, or may be changed."""
        column = None if self._columns is None else self._columns(values)
        if column is not None:
            return column, {}
        encode, exact = self._codec.encode, self._exact
        try:
            encoded = [None if value is None else encode(value) for value in values]
        except TypeError as error:
            raise TypeError(f"State {self.state!r}: {error}") from error
        read = {
            place: self.decode(data)
            for place, data in enumerate(encoded)
            if data is not None and not exact(values[place])
        }
        return pa.array(encoded, BYTES), read

    def stored(self, values: list[Any]) -> list[bytes | None]:
        """The values as the replica stores them, None for none."""
        column = None if self._columns is None else self._columns(values)
        if column is None:
            return [None if value is None else b"\0" + self._codec.encode(value) for value in values]
        found: list[bytes | None] = values_without_time(column).to_pylist()
        return found


def column_encoder(type_info: TypeInformation | None) -> Encoder | None:
    """The encoder of a type; None if its values cannot be made into columns."""
    if isinstance(type_info, ExternalTypeInfo):
        return column_encoder(type_info.type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _tuples(type_info)
    kind = "" if type_info is None else type_info.kind
    if kind in ("STRING", "CHAR"):
        return _texts
    return _numbers(*_NUMBERS[kind]) if kind in _NUMBERS else None


def _texts(values: list[Any]) -> pa.Array | None:
    if not {str}.issuperset(map(type, values)):
        return None
    try:
        return pa.array(values, pa.large_utf8()).cast(BYTES)
    except (UnicodeEncodeError, pa.ArrowInvalid):  # surrogates
        return None


def _numbers(fits: type, layout: str) -> Encoder:
    native = np.dtype(layout).newbyteorder("=")

    def encode(values: list[Any]) -> pa.Array | None:
        if not {fits}.issuperset(map(type, values)):
            return None
        try:
            numbers = np.array(values, native)
        except OverflowError:
            return None
        return fixed(numbers.astype(layout))

    return encode


def _tuples(type_info: TupleTypeInfo) -> Encoder | None:
    found = [column_encoder(field) for field in type_info.field_types]
    encoders = [each for each in found if each is not None]
    if len(encoders) < len(found) or not encoders:
        return None
    fields = [itemgetter(place) for place in range(len(encoders))]

    def encode(values: list[Any]) -> pa.Array | None:
        if not {tuple}.issuperset(map(type, values)) or not {len(fields)}.issuperset(map(len, values)):
            return None
        parts: list[pa.Array] = []
        for field, encoder in zip(fields, encoders, strict=True):
            column = encoder(list(map(field, values)))
            if column is None:
                return None
            parts += (lengths(column, ">u4"), column)
        return joined(*parts)

    return encode
