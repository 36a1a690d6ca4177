"""Reading operator state handles and the channel state of unaligned checkpoints."""

from __future__ import annotations

from collections.abc import Callable

from compat.state.flink.binary import ByteReader
from compat.state.flink.handles import Channel, MergedFolders, OperatorStream, Partition
from compat.state.flink.stream_handles import read_present_stream

_NULL = 0
_NORMAL = 4
_FILE_MERGING = 17

MODES = ("SPLIT_DISTRIBUTE", "UNION", "BROADCAST")
"""The distribution modes of operator state at a restore, by their numbers."""

_SMALLEST_PARTITION = 7
_SMALLEST_CHANNEL = 13

ChannelReader = Callable[[ByteReader, bool], Channel]
"""Reads one channel handle; the flag says whether it belongs to an output."""


def read_operator_stream(reader: ByteReader) -> OperatorStream | None:
    """Read an operator state handle that may be null (`deserializeOperatorStateHandle`)."""
    tag = reader.byte()
    if tag == _NULL:
        return None
    if tag not in (_NORMAL, _FILE_MERGING):
        reader.damaged(f"operator state handle of type {tag}", "no Flink version writes that type")
    number = reader.count("operator states", _SMALLEST_PARTITION)
    partitions = tuple(_read_partition(reader) for _ in range(number))
    merged = None
    if tag == _FILE_MERGING:
        merged = MergedFolders(reader.utf(), reader.utf(), reader.boolean())
    return OperatorStream(partitions, read_present_stream(reader), merged)


def read_optional_operator_stream(reader: ByteReader) -> OperatorStream | None:
    """Read a flag, and the operator state handle behind it if the flag is not 0."""
    return read_operator_stream(reader) if reader.integer() != 0 else None


def read_channels(reader: ByteReader, read_one: ChannelReader, output: bool) -> tuple[Channel, ...]:
    """Read a count and that many channel handles."""
    number = reader.count("channel handles", _SMALLEST_CHANNEL)
    return tuple(read_one(reader, output) for _ in range(number))


def read_channel(reader: ByteReader, output: bool) -> Channel:
    """Read the state of one channel (`ChannelStateHandleSerializerV1`, formats 3 to 5)."""
    subtask = reader.integer()
    info = (reader.integer(), reader.integer())
    offsets = reader.longs(reader.integer(), "channel offsets")
    size = reader.long()
    return Channel(output, subtask, info, offsets, size, read_present_stream(reader))


def read_tagged_channel(reader: ByteReader, output: bool) -> Channel:
    """Read the state of one channel or of all of a subtask (`ChannelStateHandleSerializerV2`, format 6)."""
    tag = reader.byte()
    single, merged = (2, 4) if output else (1, 3)
    if tag == single:
        return read_channel(reader, output)
    if tag != merged:
        reader.damaged(f"channel handle of type {tag}", f"only {single} and {merged} can stand here")
    subtask = reader.integer()
    size = reader.long()
    stream = read_present_stream(reader)
    reader.window(reader.integer(), "merged channel offsets")
    return Channel(output, subtask, None, (), size, stream)


def _read_partition(reader: ByteReader) -> Partition:
    name = reader.utf()
    mode = reader.byte()
    if mode >= len(MODES):
        reader.damaged(f"distribution mode {mode}", "only 0 (split), 1 (union) and 2 (broadcast) exist")
    return Partition(name, MODES[mode], reader.longs(reader.integer(), "offsets of operator state parts"))
