"""Opens a savepoint: finds its `_metadata`, checks it, and hands it to its version's module."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import (
    NotASavepoint,
    SavepointTooLarge,
    UnknownVersion,
    UnreadableSavepoint,
)
from compat.state.flink.savepoint import Contents, Savepoint
from compat.state.flink.storage import LOCAL_FILES, Storage

METADATA_FILE = "_metadata"
MAGIC = 0x4960672D
VERSIONS = (2, 3, 4, 5, 6)
_CHECKPOINT = re.compile(r"chk-(\d{1,19})")
FIRST_TO_WRITE = {6: (2, 1), 5: (2, 0), 4: (1, 15), 3: (1, 11), 2: (1, 3)}
"""The first version of Flink that writes each format of the metadata, the latest first; a version reads up to its own."""


def format_written_by(flink: tuple[int, int]) -> int:
    """The format of metadata that a version of Flink writes, which is the latest one it reads."""
    return next(format for format, since in FIRST_TO_WRITE.items() if flink >= since)


def of_other_kryo(format: int, flink: tuple[int, int]) -> bool:
    """True if Kryo wrote bytes into a savepoint of this format that the Kryo of a version of Flink cannot read.

    Flink 1 has Kryo 2, and Flink 2 has Kryo 5, which has other bytes.
    """
    return FIRST_TO_WRITE[format] < (2, 0) <= flink


MAX_METADATA_BYTES = 1 << 30
"""The maximum bytes of a metadata file. Flink builds it in one go in its coordinator's memory; a gigabyte is no savepoint."""


def read_metadata(path: str | os.PathLike[str], storage: Storage | None = None) -> Savepoint:
    """Read a savepoint's or checkpoint's metadata; state files are not opened.

    `path` is the folder with `_metadata`, or that file, or the folder of a job's checkpoints, of which the newest complete one
    is read. It may be a `file:` URI; with `storage` it is an absolute path there. Raises only `SavepointError`, whatever the
    bytes are. The layouts are those of Flink's `MetadataV2Serializer` to
    `MetadataV6Serializer`.
    """
    if storage is not None:
        there = os.fspath(path).rstrip("/")
        there = there if os.path.basename(there) == METADATA_FILE else f"{there}/{METADATA_FILE}"
        return parse_metadata(read_all(there, storage), there, storage)
    file = str(locate_metadata(path))
    return parse_metadata(read_all(file, LOCAL_FILES), file)


def parse_metadata(data: bytes, path: str, storage: Storage = LOCAL_FILES) -> Savepoint:
    """Read metadata from bytes that were taken from `path`, a name for errors and for finding state files."""
    return parse_reader(ByteReader(data, path), storage)


def parse_reader(reader: ByteReader, storage: Storage = LOCAL_FILES) -> Savepoint:
    """Read metadata from its beginning to its end."""
    data, path = reader.data, reader.path
    if len(data) < 8 or reader.integer() != MAGIC:
        raise NotASavepoint("this is not a savepoint's metadata", path=path, offset=0, why="it begins with other bytes")
    version = reader.integer()
    contents = _reader_of(version, path)(reader)
    return Savepoint(
        path=path,
        folder=os.path.dirname(os.path.abspath(path) if storage is LOCAL_FILES else path),
        format_version=version,
        metadata_bytes=len(data),
        checkpoint_id=contents.checkpoint_id,
        master_states=contents.master_states,
        operators=contents.operators,
        properties=contents.properties,
        storage=storage,
        digest=f"sha256:{sha256(data).hexdigest()}",
    )


def locate_metadata(path: str | os.PathLike[str]) -> Path:
    """The `_metadata` file for `path`. Raises `NotASavepoint`."""
    given = os.fspath(path)
    if given.startswith("file:"):
        given = given.removeprefix("file:")
        given = "/" + given[2:].partition("/")[2] if given.startswith("//") else given
    elif "://" in given:
        raise NotASavepoint(
            "this is remote storage",
            path=given,
            why="remote files are shown, never fetched",
            advice="Copy the savepoint's folder to this machine and name the copy.",
        )
    try:
        file = Path(given)
        if file.is_dir():
            file = metadata_in(file) or file / METADATA_FILE
        if not file.is_file():
            raise NotASavepoint(f"no file `{METADATA_FILE}` here", path=str(file))
    except (OSError, ValueError) as error:
        raise UnreadableSavepoint("cannot look there", path=given, why=str(error)) from error
    return file


def metadata_in(folder: str | os.PathLike[str]) -> Path | None:
    """The `_metadata` in a folder, or that of the newest complete checkpoint, where it is the folder of a job's checkpoints.

    None if there is neither. Raises `OSError`.
    """
    own = Path(folder, METADATA_FILE)
    if own.is_file():
        return own
    below = (Path(folder, name, METADATA_FILE) for name in newest_first(os.listdir(folder)))
    return next((file for file in below if file.is_file()), None)


def newest_first(names: Iterable[str]) -> list[str]:
    """The names that Flink gives to the folders of checkpoints, such as `chk-7`, among some names; the newest first."""
    numbers = {name: int(found[1]) for name in names if (found := _CHECKPOINT.fullmatch(name))}
    return sorted(numbers, key=lambda name: -numbers[name])


def _reader_of(version: int, path: str) -> Callable[[ByteReader], Contents]:
    if version not in VERSIONS:
        raise UnknownVersion(
            f"metadata format version {version}",
            path=path,
            offset=4,
            why=f"known are {VERSIONS[0]} to {VERSIONS[-1]}",
        )
    read: Callable[[ByteReader], Contents] = import_module(f"compat.state.flink.metadata_v{version}").read
    return read


def read_all(file: str, storage: Storage) -> bytes:
    """The bytes of a metadata file. Raises a `SavepointError`."""
    try:
        size = storage.size(file)
        if size is None:
            raise NotASavepoint("not a regular file", path=file)
        if size > MAX_METADATA_BYTES:
            raise SavepointTooLarge(f"{size} bytes of metadata", path=file)
        return storage.read(file, 0, size)
    except FileNotFoundError as error:
        raise NotASavepoint(f"no file `{METADATA_FILE}` here", path=file) from error
    except (OSError, ValueError) as error:
        raise UnreadableSavepoint("cannot read this file", path=file, why=str(error)) from error
