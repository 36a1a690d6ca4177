"""The OLD side of a check of a running job: its latest snapshot, or the cluster's information if that cannot be read."""

from __future__ import annotations

import os
import tempfile
import time

from msgspec import Struct

from compat.escaping import visible
from compat.loader.failure import Failure, Side, Undecidable
from compat.loader.inputs import Input, InputError, InputKind
from compat.running.jobs import Asked, Kept, RunningJob, running_job
from compat.running.rest import ClusterError, Vertex
from compat.savepoint.load import OldSavepoint
from compat.savepoint.names import Entry, Names
from compat.savepoint.recorded import Recorded, RecordedOperator, recorded
from compat.state.flink import Changes, Savepoint, SavepointError, read_draft, self_contained, write_folder
from compat.state.flink.metadata import format_written_by
from compat.state.flink.remote import read_savepoint
from compat.state.flink.ttl import version_of
from compat.state.stores.schemes import is_remote, why_not_local

_LOOKS = 5
"""The number of attempts to read the latest snapshot, if it is removed meanwhile."""
_LARGEST_COPY = 1 << 28
"""The most bytes of state that are copied."""
_TAKE = "Have one taken for this check: --take-savepoint DIR, or wait for the job's next checkpoint."


class _Snapshot(Struct, frozen=True):
    """A snapshot that was read, and where a copy of it is, if there is one."""

    recorded: Recorded
    copy: str


class OldJob(Struct, frozen=True):
    """A running job as the OLD side of a check. Its savepoint has no path if it cannot be read from here."""

    job: RunningJob
    input: Input
    savepoint: OldSavepoint


def old_job(argument: str, asked: Asked, folder: str | None = None) -> OldJob:
    """The job behind an argument, with its snapshot. Raises InputError if there is none, or no state of it is known.

    A checkpoint may be gone as soon as the next one is complete: then that one is read. With ``folder``, it is copied
    there for later readers, unless the state is large.
    """
    job, kept = _kept(argument, asked)
    found = _read(kept, folder)
    for _ in range(_LOOKS):
        if not isinstance(found, str) or kept.path is None or asked.savepoint is not None:
            break
        former = kept.path
        job, kept = _kept(argument, asked)
        if kept.path == former:
            break
        found = _read(kept, folder)
    return OldJob(job, Input(argument, kept.path or argument, InputKind.SAVEPOINT), _old(job, kept, found))


def _kept(argument: str, asked: Asked) -> tuple[RunningJob, Kept]:
    job = _found(argument, asked)
    if job.kept is None:
        raise _undecided(argument, f"{visible(job.name)} has no completed checkpoint or savepoint.", _TAKE)
    return job, job.kept


def _found(argument: str, asked: Asked) -> RunningJob:
    try:
        return running_job(argument, asked)
    except ClusterError as error:
        raise _undecided(argument, str(error)) from error


def _undecided(argument: str, message: str, hint: str | None = None) -> InputError:
    rule = Undecidable.SAVEPOINT_UNREADABLE
    return InputError(Failure(rule=rule, message=message, name=argument, side=Side.OLD, hint=hint))


def _read(kept: Kept, folder: str | None) -> _Snapshot | str:
    """The snapshot, or why it cannot be read."""
    if kept.path is None:
        return f"which is in the memory of the JobManager: no other process can read it. {_TAKE}"
    if "::" in kept.path or not (is_remote(kept.path) or why_not_local(kept.path) is None):
        # Nothing else is fetched at a cluster's word; fsspec reads on behind two colons.
        return f"which lies on storage that is not read here: {visible(kept.path)}"
    try:
        savepoint = read_savepoint(kept.path)
        found = recorded(savepoint)
        try:
            copy = "" if folder is None else _copied(savepoint, folder)
        except SavepointError:
            read_savepoint(kept.path)  # it may be gone by now
            copy = ""
        return _Snapshot(found, copy)
    except SavepointError as error:
        return f"which cannot be read from here: {str(error).removesuffix(f' {error.advice}')}"


def _copied(savepoint: Savepoint, folder: str) -> str:
    """A copy of a snapshot in a folder; empty if it is too large for that. Raises SavepointError."""
    copy = self_contained(read_draft(savepoint), Changes())
    if sum(file.size for file in copy.copies) > _LARGEST_COPY:
        return ""
    place = os.path.join(tempfile.mkdtemp(dir=folder), "snapshot")
    write_folder(place, copy)
    return place


def _old(job: RunningJob, kept: Kept, found: _Snapshot | str) -> OldSavepoint:
    when = f" of {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(kept.at))}" if kept.at else ""
    flink = "" if job.flink is None else f" on Flink {job.flink}"
    of_job = f"OLD is {kept.what}{when} of {visible(job.name)} ({job.state}{flink})"
    if isinstance(found, str):
        return _told(job, kept, f"{of_job}, {found}")
    return OldSavepoint(found.recorded, _names(job), (f"{of_job}: {visible(kept.path or '')}",), found.copy)


def _names(job: RunningJob) -> Names:
    """The names of the first operators of the job's vertices, by their ids."""
    vertices = () if job.details is None else job.details.vertices
    return Names(table={vertex.id: Entry(None, vertex.chain[0]) for vertex in vertices})


def _told(job: RunningJob, kept: Kept, why: str) -> OldSavepoint:
    """What the cluster tells of a snapshot that cannot be read: which vertices have state, which is that of their one operator.

    Raises InputError if nothing is told, or a vertex with state has several operators: which of them has it is not told.
    """
    version = version_of(job.flink or "")
    vertices = () if job.details is None else job.details.vertices
    sizes = kept.sizes or {}
    stateful = [vertex for vertex in vertices if sizes.get(vertex.id)]
    if version is None or not stateful or any(len(vertex.chain) > 1 for vertex in stateful):
        told = [f"{visible(vertex.name)} ({vertex.id}) has {sizes[vertex.id]:,} bytes of state" for vertex in stateful]
        tells = [f"The cluster tells that {', '.join(told)}."] if told else []
        raise _undecided(job.argument, " ".join([why, *tells]), "Check where the snapshot can be read.")
    untold = Recorded(
        metadata="",
        format_version=format_written_by(version),
        is_savepoint=None,
        operators=tuple(_untold(vertex, sizes[vertex.id]) for vertex in stateful),
        files=(),
    )
    return OldSavepoint(untold, _names(job), (why,))


def _untold(vertex: Vertex, size: int) -> RecordedOperator:
    return RecordedOperator(
        id=vertex.id,
        name=vertex.name,
        uid=None,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        has_state=True,
        coordinated=False,
        key=None,
        states=(),
        unreadable=(f"the cluster tells that it has {size:,} bytes, and not of which states",),
        finished=None,
        channels=(False, False),
        format=None,
        bytes=size,
    )
