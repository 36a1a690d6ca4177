"""A few stored values of keyed states, as bytes: from canonical snapshots, whose entries stand behind their lengths."""

from __future__ import annotations

import struct

from compat.state.flink.errors import SavepointError
from compat.state.flink.handles import KeyGroups
from compat.state.flink.measure import OtherLayout, entries
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.states import HeaderReader
from compat.state.flink.streams import read_window

SAMPLES = 16
"""The number of values of each state that are taken from one subtask."""

_WINDOW = 1 << 20


def sample_values(savepoint: Savepoint, operator: OperatorState, headers: HeaderReader) -> dict[str, tuple[bytes, ...]]:
    """Up to `SAMPLES` values of each keyed state, as the state's value serializer wrote them, by the state's name.

    It reads only the first subtask with values, and at most a megabyte of its state. Raises nothing: state that is not
    canonical, or cannot be read, has no samples.
    """
    for subtask in operator.subtasks:
        handle = subtask.managed_keyed
        if isinstance(handle, KeyGroups) and handle.canonical:
            try:
                found = _of_handle(savepoint, handle, headers)
            except SavepointError:
                continue
            if found:
                return found
    return {}


def _of_handle(savepoint: Savepoint, handle: KeyGroups, headers: HeaderReader) -> dict[str, tuple[bytes, ...]]:
    header = headers.keyed(handle)
    begun = sorted({offset for offset in handle.offsets if offset > 0})
    if header is None or header.compressed or header.unreadable or not begun:
        return {}
    first = begun[0]
    data = read_window(savepoint, handle, first, _WINDOW)
    found: dict[str, list[bytes]] = {}
    try:
        for offset in begun:
            for state, _, value, end in entries(data, offset - first):
                values = found.setdefault(header.states[state].name, [])
                if len(values) < SAMPLES:
                    values.append(data[value:end])
    except (OtherLayout, struct.error, IndexError):
        pass  # the window ends within an entry, or has another form; earlier entries are complete
    return {name: tuple(values) for name, values in found.items()}
