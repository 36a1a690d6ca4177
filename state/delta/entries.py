"""Entries of a replica, many at once: columns of their keys and values, as :mod:`compat.state.delta.replica` makes each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compat.state.delta.replica import (
    LONGEST,
    OF_MANY,
    TIMERS,
    Identity,
    entry_key,
    entry_of,
    state_prefix,
)
from compat.state.delta.rows import BYTES, FEW, read_rows

_NOTHING = pa.scalar(b"", BYTES)
_ZERO, _ONE = pa.scalar(b"\0", BYTES), pa.scalar(b"\1", BYTES)
_SIGN = np.int64(-(2**63))


def entry_column(prefix: pa.Array | bytes, identities: pa.Array, namespaces: pa.Array) -> pa.Array:
    """The keys of the entries of many keys; the prefix is common to all, or each has its own."""
    start = pa.scalar(prefix, BYTES) if isinstance(prefix, bytes) else prefix
    if _longest(identities) > LONGEST or _longest(namespaces) > LONGEST:
        starts = [prefix] * len(identities) if isinstance(prefix, bytes) else prefix.to_pylist()
        parts = zip(starts, identities.to_pylist(), namespaces.to_pylist(), strict=True)
        return pa.array([entry_key(*each) for each in parts], BYTES)
    return joined(start, lengths(identities, ">u1"), identities, lengths(namespaces, ">u1"), namespaces)


def timer_column(prefix: bytes, times: Any, identities: pa.Array, namespaces: pa.Array) -> pa.Array:
    """The keys of timers; ``times`` is an array of numpy's, or one time."""
    times = np.broadcast_to(np.asarray(times, np.int64), len(identities))
    return entry_column(joined(pa.scalar(prefix, BYTES), _sorting(times)), identities, namespaces)


def timer_values(keys: pa.Array, namespaces: pa.Array) -> pa.Array:
    """The values of timers."""
    return joined(lengths(keys, ">u4"), keys, namespaces)


def values_without_time(values: pa.Array) -> pa.Array:
    """The values of states that do not expire; None stays so."""
    return joined(_ZERO, values)


def repeated(value: bytes, count: int) -> pa.Array:
    """A column of one value."""
    return pa.repeat(pa.scalar(value, BYTES), count)


def entries_of(
    rows: pa.Table, identities: Callable[[str], Identity]
) -> Iterator[tuple[list[bytes], list[bytes | None]]]:
    """Keys and values of the entries that rows of the log set or (None) remove; rows of one entry stay in their order."""
    if rows.num_rows <= FEW:
        yield _one_by_one(rows, identities)
        return
    for operator_id, kind, state, own in _by_state(rows):
        identity = identities(operator_id)
        columns = {name: own[name].combine_chunks() for name in ("key", "namespace", "map_key", "value", "timestamp")}
        if kind in OF_MANY and _longest(columns["map_key"]) > LONGEST:
            yield _one_by_one(own, identities)
            continue
        prefix, namespaces = state_prefix(operator_id, kind, state), columns["namespace"]
        known = pa.array(list(map(identity, columns["key"].to_pylist())), BYTES)
        if kind in TIMERS:
            keys = timer_column(prefix, columns["timestamp"].to_numpy(), known, namespaces)
            values = pc.if_else(
                columns["value"].is_null(), pa.scalar(None, BYTES), timer_values(columns["key"], namespaces)
            )
        else:
            keys = entry_column(prefix, known, namespaces)
            if kind in OF_MANY:
                keys = joined(keys, _ZERO, columns["map_key"])
            values = _values(columns["value"], columns["timestamp"])
        yield keys.to_pylist(), values.to_pylist()


def _one_by_one(rows: pa.Table, identities: Callable[[str], Identity]) -> tuple[list[bytes], list[bytes | None]]:
    keys: list[bytes] = []
    values: list[bytes | None] = []
    for row in read_rows(rows):
        key, value = entry_of(row, identities(row.operator_id))
        keys.append(key)
        values.append(None if row.value is None else value)
    return keys, values


def _by_state(rows: pa.Table) -> Iterator[tuple[str, str, str, pa.Table]]:
    """The rows of each state, with operator, kind and name."""
    names = ("operator_id", "kind", "state")
    codes = np.zeros(rows.num_rows, np.int64)
    for name in names:
        encoded = rows[name].combine_chunks().dictionary_encode()
        codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
    if (codes[1:] != codes[:-1]).any():
        order = np.argsort(codes, kind="stable")
        rows, codes = rows.take(pa.array(order)), codes[order]
    bounds = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), len(codes)]
    for first, end in pairwise(bounds):
        if first < end:
            operator_id, kind, state = (rows[name][first].as_py() for name in names)
            yield operator_id, kind, state, rows.slice(first, end - first)


def _values(values: pa.Array, times: pa.Array) -> pa.Array:
    """Values behind the time of their last use, where they have one."""
    plain = values_without_time(values)
    if times.null_count == len(times):
        return plain
    timed = joined(_ONE, fixed(times.fill_null(0).to_numpy().astype(">i8")), values)
    return pc.if_else(times.is_valid(), timed, plain)


def joined(*parts: Any) -> pa.Array:
    """The bytes of columns, one behind the other."""
    return pc.binary_join_element_wise(*parts, _NOTHING)


def _longest(column: pa.Array) -> int:
    return pc.max(pc.binary_length(column)).as_py() or 0


def lengths(column: pa.Array, layout: str) -> pa.Array:
    """The lengths of bytes, as numbers in a layout of numpy's."""
    return fixed(pc.binary_length(column).to_numpy().astype(layout))


def _sorting(times: Any) -> pa.Array:
    """Times as bytes that sort as they do."""
    return fixed((times ^ _SIGN).astype(">i8"))


def fixed(numbers: Any) -> pa.Array:
    """An array of numpy's as its bytes, number by number."""
    count, width = len(numbers), numbers.dtype.itemsize
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int64) * width)
    return pa.Array.from_buffers(BYTES, count, [None, offsets, pa.py_buffer(np.ascontiguousarray(numbers))])
