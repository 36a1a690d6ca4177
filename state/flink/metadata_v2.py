"""Format 2: Flink 1.3 to 1.10 (`MetadataV2Serializer`). No channels, coordinators, finished operators."""

from __future__ import annotations

from compat.state.flink.binary import ByteReader
from compat.state.flink.operators import check_index, read_contents, read_identity, read_subtask
from compat.state.flink.savepoint import Contents, OperatorState, SubtaskState

_SMALLEST_SUBTASK = 26


def read(reader: ByteReader) -> Contents:
    """Read the metadata after the version number."""
    return read_contents(reader, _read_operator)


def _read_operator(reader: ByteReader) -> OperatorState:
    identity, parallelism, max_parallelism = read_identity(reader)
    reader.integer()  # was the length of the chain before Flink 1.3, and kept its place
    number = reader.count("subtask states", _SMALLEST_SUBTASK)
    subtasks = tuple(_read_subtask(reader, parallelism) for _ in range(number))
    return OperatorState(identity, None, None, parallelism, max_parallelism, None, subtasks)


def _read_subtask(reader: ByteReader, parallelism: int) -> SubtaskState:
    index = check_index(reader, reader.integer(), parallelism)
    reader.long()  # was the duration of the checkpoint
    legacy = reader.integer()
    if legacy > 0:
        reader.damaged(f"{legacy} states of the `Checkpointed` interface", "Flink 1.4 and later do not read them")
    return read_subtask(reader, index)
