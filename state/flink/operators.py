"""The parts that all metadata versions share: master states, operators, subtasks.

Each format version composes them in its own module; what differs is handed in as a function.
"""

from __future__ import annotations

from collections.abc import Callable

from compat.state.flink.binary import ByteReader, Part
from compat.state.flink.handles import InlineBytes
from compat.state.flink.keyed_handles import read_keyed
from compat.state.flink.operator_handles import ChannelReader, read_channels, read_optional_operator_stream
from compat.state.flink.savepoint import Contents, MasterState, OperatorState, Properties, SubtaskState
from compat.state.flink.stream_handles import read_stream
from compat.state.key_groups import HIGHEST_MAX_PARALLELISM

_MASTER_STATE_MAGIC = 0xC96B1696 - (1 << 32)

_SMALLEST_MASTER_STATE = 18
_SMALLEST_OPERATOR = 28
_SMALLEST_SUBTASK = 4

OperatorReader = Callable[[ByteReader], OperatorState]


def read_contents(
    reader: ByteReader,
    read_operator: OperatorReader,
    read_properties: Callable[[ByteReader], Properties] | None = None,
) -> Contents:
    """Read everything after the version number."""
    checkpoint_id = reader.long()
    if checkpoint_id < 0:
        reader.damaged(f"checkpoint id {checkpoint_id}", "ids are not negative")
    number = reader.count("master states", _SMALLEST_MASTER_STATE)
    master_states = tuple(_read_master_state(reader) for _ in range(number))
    begin = reader.position
    number = reader.count("operators", _SMALLEST_OPERATOR)
    operators = tuple(_read_noted(reader, read_operator) for _ in range(number))
    reader.note(Part.OPERATORS, begin)
    properties = read_properties(reader) if read_properties else None
    return Contents(checkpoint_id, master_states, operators, properties)


def _read_noted(reader: ByteReader, read_operator: OperatorReader) -> OperatorState:
    begin = reader.position
    operator = read_operator(reader)
    reader.note(Part.OPERATOR, begin)
    return operator


def read_modern_operator(
    reader: ByteReader, read_one_channel: ChannelReader, name: str | None = None, uid: str | None = None
) -> OperatorState:
    """Read an operator in the layout that formats 3 and up share, from its id on."""
    identity, parallelism, max_parallelism = read_identity(reader)
    coordinator = _read_coordinator(reader)
    begin = reader.position
    number = reader.integer()
    if number < 0:
        if coordinator is not None:
            reader.damaged("a finished operator with coordinator state", "Flink drops it when all finish")
        return OperatorState(identity, name, uid, parallelism, max_parallelism, None, (), True)
    reader.require(number * _SMALLEST_SUBTASK, f"{number} subtask states")
    subtasks = tuple(_read_modern_subtask(reader, parallelism, read_one_channel) for _ in range(number))
    reader.note(Part.SUBTASKS, begin)
    return OperatorState(identity, name, uid, parallelism, max_parallelism, coordinator, subtasks)


def read_identity(reader: ByteReader) -> tuple[str, int, int]:
    """Read an operator's id as hex digits, its parallelism and its max parallelism."""
    begin = reader.position
    identity = reader.raw(16, "an operator id").hex()
    reader.note(Part.OPERATOR_ID, begin)
    parallelism = reader.integer()
    max_parallelism = reader.integer()
    if not 0 <= parallelism <= max_parallelism <= HIGHEST_MAX_PARALLELISM:
        reader.damaged(
            f"parallelism {parallelism} of at most {max_parallelism}",
            f"parallelism is never above max parallelism, nor that above {HIGHEST_MAX_PARALLELISM}",
        )
    return identity, parallelism, max_parallelism


def check_index(reader: ByteReader, index: int, parallelism: int) -> int:
    """Return the subtask's index, which has to be below the parallelism (`OperatorState.putState`)."""
    if not 0 <= index < parallelism:
        reader.damaged(f"subtask {index} of {parallelism}", "subtasks are counted from 0")
    return index


def read_subtask(reader: ByteReader, index: int, read_one_channel: ChannelReader | None = None) -> SubtaskState:
    """Read the handles of one subtask; without a channel reader there are no channel handles."""
    begin = reader.position
    managed_operator = read_optional_operator_stream(reader)
    reader.note(Part.OPERATOR_STATE, begin)
    raw_operator = read_optional_operator_stream(reader)
    begin = reader.position
    managed_keyed = read_keyed(reader)
    reader.note(Part.KEYED_STATE, begin)
    raw_keyed = read_keyed(reader)
    inputs = read_channels(reader, read_one_channel, output=False) if read_one_channel else ()
    outputs = read_channels(reader, read_one_channel, output=True) if read_one_channel else ()
    return SubtaskState(index, False, managed_operator, raw_operator, managed_keyed, raw_keyed, inputs, outputs)


def _read_modern_subtask(reader: ByteReader, parallelism: int, read_one_channel: ChannelReader) -> SubtaskState:
    begin = reader.position
    index = reader.integer()
    if index < 0:
        # Finished subtasks are counted down from -1, so that subtask 0 can be one of them.
        subtask = SubtaskState(check_index(reader, -index - 1, parallelism), finished=True)
    else:
        subtask = read_subtask(reader, check_index(reader, index, parallelism), read_one_channel)
    reader.note(Part.SUBTASK, begin)
    return subtask


def _read_coordinator(reader: ByteReader) -> InlineBytes | None:
    begin = reader.position
    stream = read_stream(reader)
    reader.note(Part.COORDINATOR, begin)
    if stream is not None and not isinstance(stream, InlineBytes):
        reader.damaged("coordinator state outside the metadata", "Flink always keeps it in place")
    return stream


def _read_master_state(reader: ByteReader) -> MasterState:
    magic = reader.integer()
    if magic != _MASTER_STATE_MAGIC:
        reader.damaged("a master state without its magic number")
    body = reader.window(reader.integer(), "a master state")
    version = body.integer()
    name = body.utf()
    data = body.sized("a master state")
    if body.remaining:
        body.damaged(f"{body.remaining} bytes left over in a master state")
    return MasterState(name, version, data)
