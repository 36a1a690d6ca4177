"""The state files that a savepoint needs, and whether they exist."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compat.state.flink.handles import (
    Changelog,
    Channel,
    FileChanges,
    Incremental,
    InMemoryChanges,
    Keyed,
    KeyGroups,
    OperatorStream,
    RelativeFile,
    Segment,
    StateFile,
    Stream,
)
from compat.state.flink.locate import LOCAL, REMOTE, Location, locate
from compat.state.flink.savepoint import OperatorState, Savepoint


class NeededFile(Struct, frozen=True):
    """A state file that handles point to: `size` is the bytes up to the end of the last part they use."""

    location: Location
    size: int
    operators: tuple[str, ...]

    @property
    def missing(self) -> bool:
        """Whether a restore on this machine would fail for lack of this file."""
        return self.location.status not in (LOCAL, REMOTE)


def list_files(savepoint: Savepoint) -> tuple[NeededFile, ...]:
    """Every state file that the savepoint names, once, in order of first mention; looked up, not opened."""
    sizes: dict[str, int] = {}
    places: dict[str, StateFile | RelativeFile | Segment] = {}
    users: dict[str, dict[str, None]] = {}
    for operator in savepoint.operators:
        for file in files_of(operator):
            name = file.relative_path if isinstance(file, RelativeFile) else file.uri
            end = file.start + file.size if isinstance(file, Segment) else file.size
            if end >= sizes.get(name, end):
                sizes[name], places[name] = end, file
            users.setdefault(name, {})[operator.id] = None
    return tuple(NeededFile(locate(savepoint, places[name]), sizes[name], tuple(users[name])) for name in sizes)


def streams_of(handle: Keyed | OperatorStream | Channel) -> Iterator[Stream]:
    """The streams that a handle points to, without the bytes inside a changelog."""
    if isinstance(handle, Incremental):
        yield handle.meta
        yield from (file.stream for file in handle.shared + handle.private)
    elif isinstance(handle, Changelog):
        for inner in handle.materialized + handle.changes:
            yield from streams_of(inner)
    elif isinstance(handle, FileChanges):
        yield from (stream for _, stream in handle.streams)
    elif not isinstance(handle, InMemoryChanges):
        yield handle.stream


def files_of(operator: OperatorState) -> Iterator[StateFile | RelativeFile | Segment]:
    """The file handles among an operator's, as often as they occur."""
    for subtask in operator.subtasks:
        for handle in subtask.handles:
            for stream in streams_of(handle):
                while isinstance(stream, KeyGroups):
                    stream = stream.stream
                if isinstance(stream, StateFile | RelativeFile | Segment):
                    yield stream
