"""A savepoint under other operator ids, in a folder of its own: its state files are referred to, or copied beside it.

    draft = read_draft(read_metadata("savepoint-1a2b3c"))
    remapped = with_references(draft, Changes(ids={"cbc3…": NewId("7df1…", "count")}))
    write_folder("savepoint-1a2b3c-remapped", remapped)

Savepoints name the files beside their `_metadata` by relative paths. In another folder these would name other files, so they
become absolute, or the files are copied. All else stays byte for byte (`rewrite`).
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from compat.state.flink.crew import write_whole
from compat.state.flink.errors import MissingStateFile, NotWritten, RefusedStateFile, UnreadableSavepoint
from compat.state.flink.handles import RelativeFile, StateFile
from compat.state.flink.locate import LOCAL, REFUSED, Location, locate
from compat.state.flink.metadata import METADATA_FILE, read_metadata
from compat.state.flink.rewriting import Changes, Draft, FileHandle, read_draft, rewrite
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.storage import LOCAL_FILES, Storage

_PIECE = 1 << 24
_UNFINISHED = "metadata.unfinished"


class StateCopy(Struct, frozen=True):
    """A state file to copy: where it is on the savepoint's storage, its name in the new folder, the bytes that it must have."""

    source: str
    name: str
    size: int


class Remapped(Struct, frozen=True):
    """A savepoint's new metadata, and its state files. `references` tells whether it also needs those of other savepoints."""

    metadata: bytes
    copies: tuple[StateCopy, ...]
    references: bool
    storage: Storage


def with_references(draft: Draft, changes: Changes, location: str | None = None) -> Remapped:
    """The savepoint under new ids, whose state files stay where they are.

    `location` is the savepoint's folder as Flink knows it, if it has another name here; then its files are not checked. Raises
    `MissingStateFile` if a file is not there, `RefusedStateFile` if its name leads out of the
    folder.
    """
    savepoint = draft.savepoint
    base = (location or _uri_of(savepoint)).rstrip("/")
    known: dict[str, None] = {}

    kept = False

    def absolute(file: FileHandle) -> FileHandle:
        nonlocal kept
        kept = True
        if isinstance(file, StateFile):
            return file
        if file.relative_path not in known:
            _require(savepoint, locate(savepoint, file), looked_for=location is None)
            known[file.relative_path] = None
        return StateFile(f"{base}/{file.relative_path}", file.size)

    metadata = rewrite(draft, changes, absolute)
    return Remapped(metadata, (), draft.merges_files or kept, savepoint.storage)


def self_contained(draft: Draft, changes: Changes) -> Remapped:
    """The savepoint under new ids, with copies of its state files, which it names by relative paths; it can be moved.

    Raises `MissingStateFile` and `RefusedStateFile` as `with_references` does, and `NotWritten` for a checkpoint with file
    merging.
    """
    savepoint = draft.savepoint
    if draft.merges_files:
        raise NotWritten(
            "a checkpoint whose files were merged cannot be copied",
            path=savepoint.path,
            why="Flink keeps the folders that its subtasks share, by their full names",
            advice="Leave --copy out and keep the checkpoint, or take a savepoint.",
        )
    copies: dict[str, StateCopy] = {}
    taken = {METADATA_FILE}

    def beside(file: FileHandle) -> FileHandle:
        found = locate(savepoint, file)
        _require(savepoint, found, looked_for=True)
        assert found.path is not None
        copy = copies.get(found.path)
        if copy is None:
            name = _free(os.path.basename(_name(file)), taken)
            taken.add(name.casefold())
            copy = copies[found.path] = StateCopy(found.path, name, file.size)
        return RelativeFile(copy.name, file.size)

    metadata = rewrite(draft, changes, beside)
    return Remapped(metadata, tuple(copies.values()), False, savepoint.storage)


def write_folder(folder: str, remapped: Remapped) -> None:
    """Make a folder of the savepoint, all of it or nothing: never over something that is there, an empty folder aside.

    Raises `NotWritten`, or `UnreadableSavepoint` and `MissingStateFile` for a state file that cannot be copied.
    """
    with unfinished(folder) as making:
        making.take(remapped)
        making.finish()


class Unfinished:
    """A folder that is being made beside the one that it is to be, under a name that nobody takes for a savepoint's: with a
    ``suffix`` that is random, or that the machines that make it together agree on.
    """

    def __init__(self, target: str, suffix: str, together: bool = False) -> None:
        parent, name = os.path.split(target)
        self._target = target
        self._together = together
        self.folder = os.path.join(parent, f".{name}.{suffix}")
        self.metadata = os.path.join(self.folder, _UNFINISHED)

    def take(self, remapped: Remapped) -> None:
        """Take the state files, and the metadata under a temporary name."""
        with writing(self._target):
            for copy in remapped.copies:
                _copy(copy, os.path.join(self.folder, copy.name), remapped.storage)
            write_whole(self.metadata, remapped.metadata)

    def finish(self) -> None:
        """Become the wanted folder; its metadata comes last."""
        with writing(self._target):
            if self._together:
                self._clear()
            os.rename(self.folder, self._target)
            os.rename(os.path.join(self._target, _UNFINISHED), os.path.join(self._target, METADATA_FILE))

    def _clear(self) -> None:
        """Remove what machines told one another, and what interrupted ones have left."""
        files = read_draft(read_metadata(self.metadata)).files()
        named = {one.relative_path.split("/")[0] for one in files if isinstance(one, RelativeFile)}
        for entry in os.scandir(self.folder):
            if entry.path != self.metadata and entry.name not in named:
                shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)


@contextmanager
def unfinished(folder: str) -> Iterator[Unfinished]:
    """A folder to fill in place of a missing one; if it is not finished, it is removed. Raises `NotWritten`."""
    require_free(folder)
    making = Unfinished(os.path.abspath(folder), secrets.token_hex(4))
    with writing(folder):
        os.makedirs(os.path.dirname(making.folder), exist_ok=True)
        os.mkdir(making.folder)
    try:
        yield making
    finally:
        shutil.rmtree(making.folder, ignore_errors=True)


@contextmanager
def unfinished_together(folder: str, suffix: str, leads: bool) -> Iterator[Unfinished]:
    """The same for machines that fill one folder together: each finds what the others have put there, and what it put there
    before it was interrupted. The one that ``leads`` removes it. Raises `NotWritten`.
    """
    require_free(folder)
    making = Unfinished(os.path.abspath(folder), suffix, together=True)
    with writing(folder):
        os.makedirs(making.folder, exist_ok=True)
    try:
        yield making
    finally:
        if leads:
            shutil.rmtree(making.folder, ignore_errors=True)


@contextmanager
def writing(folder: str) -> Iterator[None]:
    """Turns system errors into `NotWritten` for a folder."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise NotWritten("the folder cannot be made", path=folder, why=str(error)) from error


def require_free(folder: str) -> None:
    """Raise `NotWritten` if something is at the path already, an empty folder aside."""
    try:
        if os.path.lexists(folder) and (os.path.islink(folder) or not os.path.isdir(folder) or os.listdir(folder)):
            raise NotWritten("something is there already", path=folder, why="nothing is ever written over")
    except (OSError, ValueError) as error:
        raise NotWritten("cannot look there", path=folder, why=str(error)) from error


def _copy(copy: StateCopy, to: str, storage: Storage) -> None:
    done = 0
    with open(to, "xb") as file:
        while True:
            try:
                piece = storage.read(copy.source, done, _PIECE)
            except (OSError, ValueError) as error:
                raise UnreadableSavepoint("cannot read a state file", path=copy.source, why=str(error)) from error
            if not piece:
                break
            file.write(piece)
            done += len(piece)
    if done < copy.size:
        raise MissingStateFile(f"{done} bytes of {copy.size}", path=copy.source, why="it became shorter")


def _require(savepoint: Savepoint, found: Location, *, looked_for: bool) -> None:
    if found.status == REFUSED:
        raise RefusedStateFile(f"`{found.name}` leads out of the savepoint's folders", path=savepoint.path)
    if looked_for and found.status != LOCAL:
        raise MissingStateFile(f"no state file `{found.name}` here", path=savepoint.path, why=found.status)


def _uri_of(savepoint: Savepoint) -> str:
    """The folder's name as Flink's `Path` spells it."""
    return (
        f"file:{savepoint.folder}" if savepoint.storage is LOCAL_FILES else savepoint.path.removesuffix(METADATA_FILE)
    )


def _name(file: FileHandle) -> str:
    return (file.relative_path if isinstance(file, RelativeFile) else file.uri).replace("\\", "/")


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it if another file has it, whatever the case of its letters."""
    free, number = name, 1
    while free.casefold() in taken:
        number += 1
        free = f"{name}-{number}"
    return free
