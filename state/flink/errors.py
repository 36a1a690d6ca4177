"""Errors of reading a savepoint.

    SavepointError
    ├── NotASavepoint          no `_metadata` there, or a file that does not begin like one
    ├── UnknownVersion         a format version this reader has no module for
    ├── TruncatedSavepoint     the bytes end before the thing they announce
    ├── DamagedSavepoint       a length, a tag or a number that Flink never writes
    ├── SavepointTooLarge      more bytes than a reader should hold in memory
    ├── MissingStateFile       a state file that the metadata names is not there
    ├── RefusedStateFile       a state file whose name leads out of the savepoint's folders
    ├── UnreadableSavepoint    the operating system would not let us read
    ├── UnreadableTable        a table file of RocksDB's of a kind that is not known
    ├── UnreadableValue        a value that only a class of the program can read, where none has a length
    ├── UnknownOperator        the savepoint has no operator of that id, uid or name
    ├── IdConflict             two operators would have one id
    └── NotWritten             a folder for a new savepoint that cannot be made, or is there already

Nothing else leaves `compat.state.flink`, whatever the bytes are.
"""

from __future__ import annotations

from functools import partial


class SavepointError(Exception):
    """A savepoint could not be read.

    `path` is the file, `offset` the byte in it where reading stopped (None if the fault is the file as a whole), `why` the
    reason, and `advice` the action for the person who operates the job.
    """

    advice = "Check that the folder was copied completely and that nothing else wrote into it."

    def __init__(self, what: str, *, path: str, offset: int | None = None, why: str = "", advice: str = "") -> None:
        self.what = what
        self.path = path
        self.offset = offset
        self.why = why
        self.advice = advice or type(self).advice
        super().__init__(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        again = partial(type(self), self.what, path=self.path, offset=self.offset, why=self.why, advice=self.advice)
        return again, ()

    def __str__(self) -> str:
        where = self.path if self.offset is None else f"{self.path}, byte {self.offset}"
        why = f" ({self.why})" if self.why else ""
        return f"{where}: {self.what}{why}. {self.advice}"


class NotASavepoint(SavepointError):
    """The path holds no `_metadata`, or one that does not start with Flink's magic number."""

    advice = "Name the folder that contains the file `_metadata`, or that file itself."


class UnknownVersion(SavepointError):
    """The format version is one that this reader does not know.

    Version 1 is older than Flink 1.3. A Flink newer than this tool wrote a version above the newest known one.
    """

    advice = "Take a savepoint with a Flink version between 1.3 and 2.3, or update this tool."


class TruncatedSavepoint(SavepointError):
    """The file ends in the middle of something. Copies that were interrupted look like this."""

    advice = "Copy the savepoint again: the file is shorter than when Flink wrote it."


class DamagedSavepoint(SavepointError):
    """The bytes hold something that Flink never writes, such as a negative count or an unknown tag."""

    advice = "Copy the savepoint again, or take another one: these are not the bytes that Flink wrote."


class SavepointTooLarge(SavepointError):
    """The file is larger than what this reader is willing to hold in memory."""

    advice = "Check that this is the savepoint's `_metadata` and not one of its state files."


class MissingStateFile(SavepointError):
    """The metadata names a state file that is not in the savepoint's folders, or lies on remote storage."""

    advice = "Copy the savepoint with all its files; a checkpoint also needs `shared/` and `taskowned/` beside it."


class RefusedStateFile(SavepointError):
    """A state file's name leads out of the savepoint's folders, by `..` or by a symbolic link."""

    advice = "Flink never writes such a name: do not trust this savepoint unless you know where it comes from."


class UnreadableSavepoint(SavepointError):
    """The operating system refused: permissions, a broken disk, a network mount that is gone."""

    advice = "Check permissions and mounts, then try again."


class UnreadableTable(SavepointError):
    """A table file of RocksDB's that is not of a kind that is read here; the message names what it has."""

    advice = "Take a canonical savepoint of the job (flink savepoint --type canonical)."


class UnreadableValue(SavepointError):
    """A value that only a class of the program can read, in a layout that does not tell where the next one begins."""

    advice = "Take a canonical savepoint of the job: there each value has a length."


class UnknownOperator(SavepointError):
    """No operator of the savepoint has that id, uid or name."""

    advice = "List the operators first; format versions 2 to 4 know operators by their ids alone."


class IdConflict(SavepointError):
    """Two operators would have the same id, or have it already; Flink would restore one of them and lose the other."""

    advice = "Give each of the two an id of its own; where they change places, name both."


class NotWritten(SavepointError):
    """The new savepoint could not be written, or something is there already; nothing was changed."""

    advice = "Name a folder that does not exist yet, on a disk with space."
