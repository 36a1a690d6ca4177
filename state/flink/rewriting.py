"""Writing a metadata file anew with other operator ids and other places of its files; everything else byte for byte.

The readers note where ids, uids and file handles stand, and only these bytes are replaced. Nothing is written on disk here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink.binary import ByteReader, Part, Place
from compat.state.flink.errors import DamagedSavepoint, IdConflict, UnknownOperator
from compat.state.flink.handles import RelativeFile, StateFile
from compat.state.flink.metadata import METADATA_FILE, parse_reader, read_all
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.storage import LOCAL_FILES
from compat.state.flink.stream_handles import read_file
from compat.state.flink.writing import write_file, write_utf

_ID = re.compile(r"[0-9a-f]{32}")

FileHandle = RelativeFile | StateFile


class NewId(Struct, frozen=True):
    """The id that an operator is to have, as 32 hex digits, and the uid that it is made of if it is made of one."""

    id: str
    uid: str | None = None

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"an operator id has 32 hex digits, in small letters: {self.id!r}")


class Draft(Struct, frozen=True):
    """A savepoint's metadata, its bytes, and where in them the parts are that can be replaced."""

    savepoint: Savepoint
    data: bytes
    places: tuple[Place, ...]

    @property
    def merges_files(self) -> bool:
        """Whether file merging wrote it: its handles name folders that subtasks share, and no files of their own."""
        return any(place.part is Part.MERGED_FILE for place in self.places)

    def files(self) -> Iterator[FileHandle]:
        """The handles of whole files, each time that the metadata has one."""
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
    """The draft of metadata in memory; `savepoint` tells what it is called and where its files are."""
    places: list[Place] = []
    found = parse_reader(ByteReader(data, savepoint.path, places=places), savepoint.storage)
    # The folder of a savepoint on other storage is not that of the path which it is shown by.
    return Draft(replace(found, folder=savepoint.folder), data, tuple(places))


def rewrite(draft: Draft, ids: Mapping[str, NewId], files: Callable[[FileHandle], FileHandle]) -> bytes:
    """The metadata with new ids for some operators, by their old ones, and with the files where `files` says.

    As in Flink's `SavepointWriter.changeOperatorIdentifier` all changes are made at once, so that two operators can change
    places; the uid is that of the new id, none where that is not made of a uid, and the name stays. An operator that is
    given the id that it has, and no uid, stays as it is. Raises `UnknownOperator` for an id that no operator has, and
    `IdConflict` if two operators would have one.
    """
    _require(draft.savepoint, ids)
    operators = iter(draft.savepoint.operators)
    operator = next(operators, None)
    pieces, done = [], 0
    for place in draft.places:
        kept = draft.data[place.begin : place.end]
        new = kept
        if place.part is Part.FILE:
            old_file = draft._file(place)
            new_file = files(old_file)
            new = kept if new_file == old_file else _written(new_file, draft, place)
        elif place.part is not Part.MERGED_FILE and operator is not None:
            target = ids.get(operator.id)
            if target is not None and not _stays(operator, target):
                new = bytes.fromhex(target.id) if place.part is Part.OPERATOR_ID else write_utf(target.uid or "")
            if place.part is Part.OPERATOR_ID:  # the uid, where there is one, stands before it
                operator = next(operators, None)
        pieces += [draft.data[done : place.begin], new]
        done = place.end
    written = b"".join([*pieces, draft.data[done:]])
    _verify(draft.savepoint, ids, draft_of(written, draft.savepoint).savepoint)
    return written


def _written(file: FileHandle, draft: Draft, place: Place) -> bytes:
    try:
        return write_file(file)
    except ValueError as error:
        what = "a file whose name cannot be written anew"
        raise DamagedSavepoint(what, path=draft.savepoint.path, offset=place.begin, why=str(error)) from error


def _stays(operator: OperatorState, target: NewId) -> bool:
    return target.id == operator.id and target.uid in (None, operator.uid)


def _require(savepoint: Savepoint, ids: Mapping[str, NewId]) -> None:
    """Raise unless each operator in `ids` is there, and all have ids of their own afterwards."""
    there = {operator.id for operator in savepoint.operators}
    for old in ids:
        if old not in there:
            raise UnknownOperator(f"no operator has the id {old}", path=savepoint.path)
    owners: dict[str, OperatorState] = {}
    for operator in savepoint.operators:
        id = ids[operator.id].id if operator.id in ids else operator.id
        if id in owners:
            other = owners[id]
            raise IdConflict(
                f"{_shown(other)} and {_shown(operator)} would both have the id {id}",
                path=savepoint.path,
                why="an id belongs to one operator",
            )
        owners[id] = operator


def _shown(operator: OperatorState) -> str:
    told = operator.uid or operator.name
    return f"operator {operator.id}" if told is None else f"operator `{told}` ({operator.id})"


def _verify(old: Savepoint, ids: Mapping[str, NewId], new: Savepoint) -> None:
    """Raise unless what was written reads back as the same operators under the ids asked for."""
    expected = [ids[operator.id].id if operator.id in ids else operator.id for operator in old.operators]
    same = [_apart_from_places(operator) for operator in old.operators]
    if [operator.id for operator in new.operators] != expected or same != [
        _apart_from_places(operator) for operator in new.operators
    ]:
        raise DamagedSavepoint("the metadata does not read back as it was written", path=old.path)


def _apart_from_places(operator: OperatorState) -> tuple[object, ...]:
    """What neither ids nor the places of files change."""
    sizes = tuple(
        (subtask.index, subtask.finished, len(subtask.handles), subtask.size) for subtask in operator.subtasks
    )
    return operator.name, operator.parallelism, operator.max_parallelism, operator.coordinator, sizes
