"""Rewrites operator state from that of others: some of their states, under other names, part by part."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink.converting import rewrite_elements
from compat.state.flink.entry_conversion import Conversion
from compat.state.flink.errors import DamagedSavepoint, NotWritten
from compat.state.flink.forms import Convert
from compat.state.flink.handles import OperatorStream, Partition, RelativeFile
from compat.state.flink.header_parts import HeaderParts, StateKey, TypeNames, operator_header, operator_parts
from compat.state.flink.headers import MODE
from compat.state.flink.measure import ends_of_parts
from compat.state.flink.savepoint import OperatorState, Savepoint, SubtaskState
from compat.state.flink.states import HeaderReader
from compat.state.flink.stream_readers import pieces

_BROADCAST = "BROADCAST"


class OperatorSource(Struct, frozen=True):
    """The operator state of a subtask: the operator's id, the handle, its header, and where its parts end."""

    savepoint: Savepoint
    operator: str
    subtask: int
    handle: OperatorStream
    parts: HeaderParts
    ends: Mapping[int, int]
    convert: Mapping[str, Convert]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its states."""
        return tuple(partition.name for partition in self.handle.partitions)

    def element(self, name: str, begin: int) -> Iterator[bytes]:
        """The bytes of an element, or of a whole broadcast state, to be written."""
        found = pieces(self.savepoint, self.handle.stream, begin, self.ends[begin])
        if name in self.convert:
            yield from self.convert[name]([b"".join(found)])
        else:
            yield from found


class Taken(NamedTuple):
    """States of a subtask by their names, with their new names."""

    source: OperatorSource
    names: Mapping[str, str]


def operator_source(
    headers: HeaderReader,
    operator: OperatorState,
    subtask: SubtaskState,
    types: TypeNames,
    conversions: Mapping[str, Conversion],
) -> OperatorSource | None:
    """The operator state of a subtask; None if it has none.

    Raises NotWritten if it cannot be rewritten, or if values cannot be converted; DamagedSavepoint for parts of a state that
    its header lacks.
    """
    savepoint, handle = headers.savepoint, subtask.managed_operator
    if handle is None:
        return None
    data = headers.written(handle)
    if handle.merged is not None or not data:
        raise NotWritten(
            "operator state in files that subtasks share cannot be written anew",
            path=savepoint.path,
            why=f"operator {operator.id} has it",
            advice="Take a savepoint of the job.",
        )
    parts = operator_parts(data, savepoint.path, types, {name: one.form for name, one in conversions.items()})
    if conversions and parts.header.compressed:
        raise NotWritten(
            "values of operator state that is compressed cannot be written anew",
            path=savepoint.path,
            why=f"operator {operator.id} has it",
            advice="Take a savepoint without execution.checkpointing.snapshot-compression.",
        )
    for partition in handle.partitions:
        if partition.name not in parts.states:
            raise DamagedSavepoint(
                f"parts of a state `{partition.name}`",
                path=savepoint.path,
                why="the header of the state names no such one",
            )
    metas = (*parts.header.states, *parts.header.broadcast_states)
    convert = {
        meta.name: rewrite_elements(savepoint, conversions[meta.name], meta, parts.values.get(meta.name, b""))
        for meta in metas
        if meta.name in conversions
    }
    modes = {name: mode for name, one in conversions.items() if (mode := one.form.options.get(MODE))}
    handle = replace(
        handle, partitions=tuple(replace(one, mode=modes.get(one.name, one.mode)) for one in handle.partitions)
    )
    return OperatorSource(savepoint, operator.id, subtask.index, handle, parts, ends_of_parts(handle), convert)


def of_subtask(taken: Sequence[Taken], index: int, parallelism: int) -> Iterator[tuple[Taken, Partition]]:
    """The states of one subtask: its share of the lists, and all of each broadcast state."""
    last: dict[str, int] = {}
    for one in taken:
        last[one.source.operator] = max(one.source.subtask, last.get(one.source.operator, 0))
    for one in taken:
        source = one.source
        for partition in source.handle.partitions:
            broadcast = partition.mode == _BROADCAST
            mine = min(index, last[source.operator]) if broadcast else index
            if partition.name in one.names and mine == (source.subtask if broadcast else source.subtask % parallelism):
                yield one, partition


def write_operator_state(
    taken: Sequence[tuple[Taken, Partition]], file: str, count: Counter[StateKey]
) -> OperatorStream | None:
    """Write some states to a file, and count their parts; None if there is no state.

    Raises NotWritten for states that are described in two ways, and for such as are compressed beside others that are not.
    """
    if not taken:
        return None
    lists: dict[str, bytes] = {}
    broadcast: dict[str, bytes] = {}
    for one, partition in taken:
        into = broadcast if partition.mode == _BROADCAST else lists
        data = one.source.parts.states[partition.name]
        if into.setdefault(one.names[partition.name], data) != data or _header(one) != _header(taken[0][0]):
            raise NotWritten(
                f"the state `{partition.name}` is written in two ways",
                path=one.source.savepoint.path,
                why="its subtasks, or the operators that it is of, differ in their headers",
                advice="Take another savepoint of the job.",
            )
    offsets: dict[tuple[str, str], list[int]] = {}
    with open(file, "xb") as out:
        out.write(operator_header(*_header(taken[0][0]), lists.items(), broadcast.items()))
        for one, partition in taken:
            places = offsets.setdefault((one.names[partition.name], partition.mode), [])
            for begin in partition.offsets:
                places.append(out.tell())
                out.writelines(one.source.element(partition.name, begin))
                count[StateKey(one.source.operator, partition.name, keyed=False)] += 1
        size = out.tell()
    partitions = tuple(Partition(name, mode, tuple(places)) for (name, mode), places in offsets.items())
    return OperatorStream(partitions, RelativeFile(os.path.basename(file), size))


def _header(taken: Taken) -> tuple[int, bool]:
    header = taken.source.parts.header
    return header.version, header.compressed
