"""Keyed state in the own format of a state backend, which NEW's Flink writes: it restores what is canonical, and saves it."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from compat.migration.new_job import NewJob
from compat.savepoint.operators import RequestError
from compat.state.flink import Savepoint, SavepointError, read_metadata
from compat.state.flink.files import files_of
from compat.state.flink.handles import RelativeFile
from compat.state.flink.header_parts import StateKey
from compat.state.flink.metadata import of_other_kryo
from compat.state.flink.savepoint import OperatorState
from compat.state.flink.transferring import count_entries

if TYPE_CHECKING:
    from compat.loader.jvm.messages import NativeBackend


def require_native(savepoint: Savepoint, job: NewJob) -> None:
    """Raise RequestError if NEW's Flink cannot write this state."""
    from compat.loader.jvm.distribution import parsed

    if job.classes is None:
        raise RequestError(
            "--native needs Flink's state backends, which a jar or an SQL script brings and a program in Python does not: "
            "migrate without it, start NEW, and take a native savepoint (flink savepoint --type native)."
        )
    if of_other_kryo(savepoint.format_version, parsed(job.program.flink)):
        raise RequestError(
            "--native does not write state of Flink 1 for Flink 2: migrate without it, start NEW, and take a native savepoint."
        )


def write_native(metadata: str, backend: NativeBackend, job: NewJob) -> int:
    """Write the keyed state of a savepoint that is being made natively, in place; gives how many entries that are.

    What was there for it is removed. Raises RequestError with what Flink said, or if entries were lost.
    """
    assert job.classes is not None
    before = read_metadata(metadata)
    keyed = {operator.id: size for operator in before.operators if (size := _size_of_keyed(operator))}
    for id, size in keyed.items():
        job.classes.write_native(metadata, id, backend, size)
    after = read_metadata(metadata)
    entries = 0
    for id in keyed:
        expected, found = _counted(before, id), _counted(after, id)
        if None not in (expected, found) and expected != found:
            raise RequestError(
                f"{backend} wrote other entries of {id} than were there: nothing is kept. Is the disk sound?"
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
