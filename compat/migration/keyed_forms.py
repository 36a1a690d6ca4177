"""Keyed state in another form, which NEW's Flink writes.

That is the own form of a state backend, or the canonical one where only classes read the state.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from compat.migration.new_job import NewJob
from compat.savepoint.operators import RequestError
from compat.state.flink import KeyedFormat, Savepoint, SavepointError, keyed_format, read_metadata
from compat.state.flink.files import files_of
from compat.state.flink.handles import KeyGroups, RelativeFile
from compat.state.flink.header_parts import StateKey
from compat.state.flink.heap_groups import HeapState, UnknownState, heap_groups
from compat.state.flink.metadata import of_other_kryo
from compat.state.flink.savepoint import OperatorState
from compat.state.flink.states import HeaderReader
from compat.state.flink.transferring import count_entries

if TYPE_CHECKING:
    from compat.loader.jvm.messages import NativeBackend


def for_classes(savepoint: Savepoint) -> frozenset[str]:
    """The operators whose keyed state is in the heap's form, and only their classes can tell where its values end."""
    headers = HeaderReader(savepoint)
    return frozenset(
        operator.id
        for operator in savepoint.operators
        if keyed_format(savepoint, operator, headers) is KeyedFormat.HEAP
        and any(isinstance(state, UnknownState) for state in _states(savepoint, operator, headers))
    )


def _states(savepoint: Savepoint, operator: OperatorState, headers: HeaderReader) -> Iterator[HeapState | UnknownState]:
    """The keyed states of an operator in the heap's form."""
    for handle in (one.managed_keyed for one in operator.subtasks):
        header = headers.keyed(handle) if isinstance(handle, KeyGroups) else None
        if isinstance(handle, KeyGroups) and header is not None:
            yield from heap_groups(savepoint, handle, header, operator.max_parallelism).states


def require_flink(savepoint: Savepoint, job: NewJob) -> None:
    """Raise RequestError if NEW's Flink cannot write this state."""
    from compat.loader.jvm.distribution import parsed

    if job.classes is None:
        raise RequestError(
            "--native needs Flink's state backends, which a jar or an SQL script brings and a program in Python does not: "
            "migrate without it, start NEW, and take a native savepoint (flink savepoint --type native)."
        )
    if of_other_kryo(savepoint.format_version, parsed(job.program.flink)):
        raise RequestError(
            "Flink 2 does not write state of Flink 1 anew: migrate without --native, or first have the program that wrote it "
            "make it canonical (compat migrate SAVEPOINT OLD OUT --canonical)."
        )


def write_keyed(metadata: str, canonical: Collection[str], native: NativeBackend | None, job: NewJob) -> int:
    """Have Flink write keyed state of a savepoint that is being made, in place; gives how many entries that are.

    Operators in ``canonical`` come first; with ``native``, all are written by this backend then. What was there for them is
    removed. Raises RequestError with what Flink said, or if entries were lost.
    """
    assert job.classes is not None
    before = read_metadata(metadata)
    keyed = {operator.id: size for operator in before.operators if (size := _size_of_keyed(operator))}
    for id in canonical:
        job.classes.write_keyed(metadata, id, "canonical", keyed[id])
    if native is not None:
        for id, size in keyed.items():
            job.classes.write_keyed(metadata, id, native, size)
    after = read_metadata(metadata)
    entries = 0
    for id in canonical if native is None else keyed:
        expected, found = _counted(before, id), _counted(after, id)
        if expected is not None and found is not None and expected != found:
            raise RequestError(
                f"Flink wrote {found.total():,} entries of {id} where {expected.total():,} were there: nothing is kept. Is the "
                "disk sound, or does the job drop values that are past their time to live?"
            )
        entries += sum((found or expected or Counter()).values())
    for name in _own_files(before) - _own_files(after):
        os.remove(os.path.join(os.path.dirname(metadata), name))
    return entries


def _size_of_keyed(operator: OperatorState) -> int:
    return sum(one.managed_keyed.size for one in operator.subtasks if one.managed_keyed is not None)


def _counted(savepoint: Savepoint, operator: str) -> Counter[StateKey] | None:
    """The entries of an operator's states; None if only its classes can tell where an entry ends, as in the heap's form of
    Kryo: the rehearsal reads those."""
    try:
        return count_entries(savepoint, {operator})
    except SavepointError:
        return None


def _own_files(savepoint: Savepoint) -> set[str]:
    """The state files beside the metadata."""
    files = (file for operator in savepoint.operators for file in files_of(operator))
    return {file.relative_path for file in files if isinstance(file, RelativeFile)}
