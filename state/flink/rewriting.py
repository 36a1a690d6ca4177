"""Rewrites a metadata file with other operators and other places of its files; everything else stays byte for byte.

The readers note the places of ids, uids, state and file handles, and only these bytes are replaced. This module writes nothing
to disk.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink.binary import ByteReader, Part, Place
from compat.state.flink.errors import DamagedSavepoint, IdConflict, UnknownOperator
from compat.state.flink.handles import KeyGroups, OperatorStream, RelativeFile, StateFile
from compat.state.flink.metadata import METADATA_FILE, parse_reader, read_all
from compat.state.flink.savepoint import OperatorState, Savepoint, SubtaskState
from compat.state.flink.splicing import splice
from compat.state.flink.storage import LOCAL_FILES
from compat.state.flink.stream_handles import read_file
from compat.state.flink.writing import (
    NO_COORDINATOR,
    write_file,
    write_keyed,
    write_operator_stream,
    write_stream,
    write_subtask,
    write_utf,
)

FIRST_WITH_NAMES = 5
"""The first format of the metadata that has names and uids of operators."""

_ID = re.compile(r"[0-9a-f]{32}")

FileHandle = RelativeFile | StateFile


class NewId(Struct, frozen=True):
    """The id that an operator is to have, as 32 hex digits, and the uid that it is made of if it is made of one."""

    id: str
    uid: str | None = None

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"an operator id has 32 hex digits, in small letters: {self.id!r}")


class Handles(Struct, frozen=True):
    """The new managed state of an operator's subtasks, by their numbers; other state stays."""

    keyed: Mapping[int, KeyGroups | None]
    operator: Mapping[int, OperatorStream | None]

    def subtask(self, index: int) -> bytes:
        """A subtask with only this state."""
        return write_subtask(index, self.operator.get(index), self.keyed.get(index))


class NewOperator(Struct, frozen=True):
    """A new operator of the savepoint."""

    id: NewId
    name: str | None
    parallelism: int
    max_parallelism: int
    handles: Handles


class Changes(Struct, frozen=True, kw_only=True):
    """The changes to the operators of a savepoint, by their present ids: other ids, other state, or removal.

    ``coordinators`` is what their coordinators keep from now on.
    """

    ids: Mapping[str, NewId] = {}
    dropped: frozenset[str] = frozenset()
    handles: Mapping[str, Handles] = {}
    added: tuple[NewOperator, ...] = ()
    coordinators: Mapping[str, bytes] = {}


class Draft(Struct, frozen=True):
    """A savepoint's metadata, its bytes, and the places of the parts that can be replaced."""

    savepoint: Savepoint
    data: bytes
    places: tuple[Place, ...]

    @property
    def merges_files(self) -> bool:
        """True if file merging wrote it: its handles name folders that subtasks share, and no files of their own."""
        return any(place.part is Part.MERGED_FILE for place in self.places)

    def files(self) -> Iterator[FileHandle]:
        """The handles of whole files, as often as they occur in the metadata."""
        for place in self.places:
            if place.part is Part.FILE:
                yield self._file(place)

    def _file(self, place: Place) -> FileHandle:
        return read_file(ByteReader(self.data, self.savepoint.path, start=place.begin, end=place.end))


def read_draft(savepoint: Savepoint) -> Draft:
    """The draft of a savepoint that was read, from its file once more. Raises a `SavepointError`."""
    # The path of a savepoint on other storage is shown as the user named it, its folder is the one on that storage.
    local = savepoint.storage is LOCAL_FILES
    file = savepoint.path if local else os.path.join(savepoint.folder, METADATA_FILE)
    return draft_of(read_all(file, savepoint.storage), savepoint)


def draft_of(data: bytes, savepoint: Savepoint) -> Draft:
    """The draft of metadata in memory; `savepoint` gives its name and the place of its files."""
    places: list[Place] = []
    found = parse_reader(ByteReader(data, savepoint.path, places=places), savepoint.storage)
    # The folder of a savepoint on other storage is not that of the path which it is shown by.
    return Draft(replace(found, folder=savepoint.folder), data, tuple(places))


def rewrite(draft: Draft, changes: Changes, files: Callable[[FileHandle], FileHandle]) -> bytes:
    """The metadata with the changes, and with the files where `files` says.

    As in Flink's `SavepointWriter.changeOperatorIdentifier` all changes are made at once, so that two operators can change
    places. The uid becomes that of the new id, or none if the id has no uid; the name stays. An operator stays unchanged if it
    gets its present id and no uid. Raises `UnknownOperator` for an id that no operator has, and
    `IdConflict` if two operators would have one.
    """
    _require(draft.savepoint, changes)
    rewriting = _Rewriting(draft, changes, files)
    written = splice(draft.data, draft.places, rewriting.new, rewriting.added)
    _verify(draft.savepoint, changes, draft_of(written, draft.savepoint).savepoint)
    return written


class _Rewriting:
    """Gives the new bytes of the parts of a metadata file, in the file's order: an operator, its subtasks, and so on."""

    def __init__(self, draft: Draft, changes: Changes, files: Callable[[FileHandle], FileHandle]) -> None:
        self._draft = draft
        self._changes = changes
        self._files = files
        self._operators = iter(draft.savepoint.operators)
        self._operator: OperatorState | None = None
        self._subtasks: Iterator[SubtaskState] = iter(())
        self._subtask: SubtaskState | None = None

    def new(self, place: Place) -> bytes | None:
        """The new bytes of a part; None if it stays."""
        match place.part:
            case Part.OPERATOR:
                self._operator = next(self._operators)
                self._subtasks = iter(self._operator.subtasks)
                return b"" if self._operator.id in self._changes.dropped else None
            case Part.SUBTASK:
                self._subtask = next(self._subtasks)
                return self._begun_again(self._subtask)
            case Part.COORDINATOR:
                return self._coordinator()
            case Part.OPERATOR_ID | Part.OPERATOR_UID:
                return self._identity(place.part)
            case Part.KEYED_STATE | Part.OPERATOR_STATE:
                return self._state(place.part)
            case Part.FILE:
                old = self._draft._file(place)
                new = self._files(old)
                return None if new == old else _written(new, self._draft, place)
        return None

    def added(self, place: Place) -> list[bytes]:
        """The operators that are new, and the subtasks of one that had none if it has state now."""
        if place.part is Part.OPERATORS:
            return [self._written(operator) for operator in self._changes.added]
        handles = self._handles
        if handles is None or self._operator is None:
            return []
        there = {subtask.index for subtask in self._operator.subtasks}
        missing = sorted((handles.keyed.keys() | handles.operator.keys()) - there)
        return [handles.subtask(index) for index in missing]

    @property
    def _handles(self) -> Handles | None:
        return None if self._operator is None else self._changes.handles.get(self._operator.id)

    def _identity(self, part: Part) -> bytes | None:
        operator = self._operator
        target = None if operator is None else self._changes.ids.get(operator.id)
        if operator is None or target is None or _stays(operator, target):
            return None
        return bytes.fromhex(target.id) if part is Part.OPERATOR_ID else write_utf(target.uid or "")

    def _coordinator(self) -> bytes | None:
        operator = self._operator
        new = None if operator is None else self._changes.coordinators.get(operator.id)
        if operator is None or operator.coordinator is None or new is None:
            return None
        return write_stream(replace(operator.coordinator, data=new))

    def _begun_again(self, subtask: SubtaskState) -> bytes | None:
        """A subtask that had finished and is given state."""
        handles = self._handles
        return handles.subtask(subtask.index) if handles is not None and subtask.finished else None

    def _state(self, part: Part) -> bytes | None:
        handles, subtask = self._handles, self._subtask
        if handles is None or subtask is None:
            return None
        if part is Part.KEYED_STATE:
            return write_keyed(handles.keyed[subtask.index]) if subtask.index in handles.keyed else None
        return write_operator_stream(handles.operator[subtask.index]) if subtask.index in handles.operator else None

    def _written(self, operator: NewOperator) -> bytes:
        named = self._draft.savepoint.format_version >= FIRST_WITH_NAMES
        names = write_utf(operator.name or "") + write_utf(operator.id.uid or "") if named else b""
        sizes = struct.pack(">ii", operator.parallelism, operator.max_parallelism)
        subtasks = [operator.handles.subtask(index) for index in range(operator.parallelism)]
        counted = struct.pack(">i", len(subtasks)) + b"".join(subtasks)
        return names + bytes.fromhex(operator.id.id) + sizes + NO_COORDINATOR + counted


def _written(file: FileHandle, draft: Draft, place: Place) -> bytes:
    try:
        return write_file(file)
    except ValueError as error:
        what = "a file whose name cannot be written anew"
        raise DamagedSavepoint(what, path=draft.savepoint.path, offset=place.begin, why=str(error)) from error


def _stays(operator: OperatorState, target: NewId) -> bool:
    return target.id == operator.id and target.uid in (None, operator.uid)


def _require(savepoint: Savepoint, changes: Changes) -> None:
    """Raise unless each operator that is changed is there, and all have ids of their own afterwards."""
    there = {operator.id for operator in savepoint.operators}
    for old in (*changes.ids, *changes.dropped, *changes.handles, *changes.coordinators):
        if old not in there:
            raise UnknownOperator(f"no operator has the id {old}", path=savepoint.path)
    owners: dict[str, str] = {}
    for shown, id in (
        *((_shown(operator), _id_of(operator, changes)) for operator in _left(savepoint, changes)),
        *((_called(operator.id.uid or operator.name, operator.id.id), operator.id.id) for operator in changes.added),
    ):
        if id in owners:
            raise IdConflict(
                f"{owners[id]} and {shown} would both have the id {id}",
                path=savepoint.path,
                why="an id belongs to one operator",
            )
        owners[id] = shown


def _left(savepoint: Savepoint, changes: Changes) -> list[OperatorState]:
    return [operator for operator in savepoint.operators if operator.id not in changes.dropped]


def _id_of(operator: OperatorState, changes: Changes) -> str:
    return changes.ids[operator.id].id if operator.id in changes.ids else operator.id


def _shown(operator: OperatorState) -> str:
    return _called(operator.uid or operator.name, operator.id)


def _called(told: str | None, id: str) -> str:
    return f"operator {id}" if told is None else f"operator `{told}` ({id})"


def _verify(old: Savepoint, changes: Changes, new: Savepoint) -> None:
    """Raise unless what was written reads back as the operators asked for, and those without other state as they were."""
    left = _left(old, changes)
    expected = [_id_of(operator, changes) for operator in left] + [operator.id.id for operator in changes.added]
    same = all(
        _apart_from_places(before) == _apart_from_places(after)
        for before, after in zip(left, new.operators, strict=False)
        if before.id not in {*changes.handles, *changes.coordinators}
    )
    if [operator.id for operator in new.operators] != expected or not same:
        raise DamagedSavepoint("the metadata does not read back as it was written", path=old.path)


def _apart_from_places(operator: OperatorState) -> tuple[object, ...]:
    """What neither ids nor the places of files change."""
    sizes = tuple(
        (subtask.index, subtask.finished, len(subtask.handles), subtask.size) for subtask in operator.subtasks
    )
    return operator.name, operator.parallelism, operator.max_parallelism, operator.coordinator, sizes
