"""Values of one type as a column of their bytes: what :mod:`compat.state.serializers` makes of each, made of all at once.

Only of values that come back as they went in and cannot be changed, so that who has encoded them need not look again.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compat.state.delta.rows import BYTES
from compat.state.types import ExternalTypeInfo, TupleTypeInfo, TypeInformation

Encoder = Callable[[list[Any]], "pa.Array | None"]
"""Gives the values as a column, or None where one of them is not quite of its type."""

_NUMBERS = {
    "BYTE": (int, ">i1"),
    "SHORT": (int, ">i2"),
    "INT": (int, ">i4"),
    "LONG": (int, ">i8"),
    "DOUBLE": (float, ">f8"),
}
_END = pa.scalar(b"", BYTES)


def column_encoder(type_info: TypeInformation | None) -> Encoder | None:
    """The encoder of a type; None for a type of which no columns are made."""
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
    native, width = np.dtype(layout).newbyteorder("="), np.dtype(layout).itemsize

    def encode(values: list[Any]) -> pa.Array | None:
        if not {fits}.issuperset(map(type, values)):
            return None
        try:
            numbers = np.array(values, native)
        except OverflowError:
            return None
        return _fixed(numbers.astype(layout), width)

    return encode


def _fixed(values: Any, width: int) -> pa.Array:
    """An array of values of one width as their bytes."""
    count = len(values)
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int64) * width)
    return pa.Array.from_buffers(BYTES, count, [None, offsets, pa.py_buffer(np.ascontiguousarray(values))])


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
            parts += (_fixed(pc.binary_length(column).to_numpy().astype(">u4"), 4), column)
        return pc.binary_join_element_wise(*parts, _END)

    return encode
