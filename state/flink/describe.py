"""Handles, headers and serializers as plain dictionaries that JSON can hold.

The keys and values are those of a dump of Flink's own classes; `None` and empty things are missing where such a dump omits
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compat.state.flink.errors import SavepointError
from compat.state.flink.handles import (
    Changelog,
    Channel,
    EmptySegment,
    FileChanges,
    Incremental,
    InlineBytes,
    InMemoryChanges,
    Keyed,
    KeyGroupRange,
    KeyGroups,
    OperatorStream,
    RelativeFile,
    Segment,
    StateFile,
    Stream,
)
from compat.state.flink.headers import BackendHeader, StateMeta
from compat.state.flink.savepoint import MasterState, Properties, SubtaskState
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.states import HeaderReader

Json = dict[str, Any]


def describe_properties(properties: Properties) -> Json:
    """The checkpoint properties, as far as they were recognised."""
    described = {
        "is_savepoint": properties.is_savepoint,
        "type": properties.type_name,
        "class": properties.class_name,
        "savepoint_format": properties.savepoint_format,
    }
    return {key: value for key, value in described.items() if value is not None}


def describe_master_state(state: MasterState) -> Json:
    """A master state, without its bytes."""
    return {"name": state.name, "version": state.version, "bytes": len(state.data)}


def describe_subtask(subtask: SubtaskState, headers: HeaderReader) -> Json:
    """A subtask with its handles and the headers of its managed state."""
    described: Json = {
        "class": "FinishedOperatorSubtaskState" if subtask.finished else "OperatorSubtaskState",
        "index": subtask.index,
        "finished": subtask.finished,
        "has_state": subtask.has_state,
        "state_size": subtask.size,
    }
    if subtask.managed_operator is not None:
        described["managed_operator"] = [describe_operator_stream(subtask.managed_operator, headers)]
    if subtask.raw_operator is not None:
        described["raw_operator"] = [describe_operator_stream(subtask.raw_operator, None)]
    if subtask.managed_keyed is not None:
        described["managed_keyed"] = [describe_keyed(subtask.managed_keyed, headers)]
    if subtask.raw_keyed is not None:
        described["raw_keyed"] = [describe_keyed(subtask.raw_keyed, None)]
    if subtask.input_channels:
        described["input_channel"] = [describe_channel(c) for c in subtask.input_channels]
    if subtask.output_channels:
        described["output_channel"] = [describe_channel(c) for c in subtask.output_channels]
    return described


def describe_stream(stream: Stream) -> Json:
    """A stream handle."""
    match stream:
        case InlineBytes():
            return {"class": "ByteStreamStateHandle", "size": stream.size, "name": stream.name}
        case StateFile():
            return {"class": "FileStateHandle", "size": stream.size, "path": stream.uri}
        case RelativeFile():
            return {
                "class": "RelativeFileStateHandle",
                "size": stream.size,
                "relative_path": stream.relative_path,
            }
        case Segment():
            return {
                "class": "SegmentFileStateHandle",
                "size": stream.size,
                "path": stream.uri,
                "start": stream.start,
                "scope": stream.scope,
                "logical_id": stream.logical_id,
            }
        case EmptySegment():
            return {"class": "EmptySegmentFileStateHandle", "size": 0}
        case KeyGroups():
            return describe_keyed(stream, None)


def describe_keyed(handle: Keyed, headers: HeaderReader | None) -> Json:
    """A keyed state handle; with `headers`, also its stream's header."""
    described = {"size": handle.size, "key_groups": _range(handle.key_groups)}
    match handle:
        case KeyGroups():
            described |= {
                "class": "KeyGroupsSavepointStateHandle" if handle.canonical else "KeyGroupsStateHandle",
                "delegate": describe_stream(handle.stream),
            }
        case Incremental():
            described |= {
                "class": "IncrementalRemoteKeyedStateHandle",
                "checkpoint_id": handle.checkpoint_id,
                "backend_id": handle.backend_id,
                "meta_handle": describe_stream(handle.meta),
                "shared": [[f.local_name, describe_stream(f.stream)] for f in handle.shared],
                "private": [[f.local_name, describe_stream(f.stream)] for f in handle.private],
            }
        case Changelog():
            described |= {
                "class": "ChangelogStateBackendHandleImpl",
                "checkpoint_id": handle.checkpoint_id,
                "materialization_id": handle.materialization_id,
                "checkpointed_size": handle.checkpointed_size,
                "materialized": [describe_keyed(h, headers) for h in handle.materialized],
                "non_materialized": [describe_keyed(h, headers) for h in handle.changes],
            }
        case InMemoryChanges():
            described |= {
                "class": "InMemoryChangelogStateHandle",
                "from": handle.from_sequence,
                "to": handle.to_sequence,
                "changes": len(handle.changes),
            }
        case FileChanges():
            described |= {
                "class": "ChangelogStateHandleStreamImpl",
                "checkpointed_size": handle.checkpointed_size,
                "storage": handle.storage,
                "streams": [[offset, describe_stream(stream)] for offset, stream in handle.streams],
            }
    if headers is not None:
        described |= _header_of(headers, lambda: headers.keyed(handle), "keyed")
    return described


def describe_operator_stream(handle: OperatorStream, headers: HeaderReader | None) -> Json:
    """An operator state handle; with `headers`, also its stream's header."""
    described: Json = {
        "class": _operator_class(handle),
        "size": handle.size,
        "delegate": describe_stream(handle.stream),
        "partitions": {p.name: {"mode": p.mode, "offsets": list(p.offsets)} for p in handle.partitions},
    }
    if headers is not None:
        described |= _header_of(headers, lambda: headers.operator(handle), "operator")
    return described


def describe_channel(channel: Channel) -> Json:
    """The state of one channel, or of all channels of a subtask."""
    kind = "ResultSubpartition" if channel.output else "InputChannel"
    described: Json = {
        "class": f"{'Merged' if channel.info is None else ''}{kind}StateHandle",
        "size": channel.size,
        "subtask": channel.subtask,
        "delegate": describe_stream(channel.stream),
    }
    if channel.info is not None:
        described["info"] = list(channel.info)
    return described


def describe_serializer(snapshot: SerializerSnapshot) -> Json:
    """A serializer with the serializers of its parts."""
    described: Json = {"class": snapshot.class_name, "version": snapshot.version}
    if snapshot.nested:
        described["nested"] = [describe_serializer(nested) for nested in snapshot.nested]
    if snapshot.unknown is not None:
        described["unknown"] = snapshot.unknown
    elif snapshot.serializer is not None:
        described["restored_serializer"] = snapshot.serializer
    if snapshot.details:
        described["details"] = {
            key: list(value) if isinstance(value, tuple) else value for key, value in snapshot.details
        }
    return described


def describe_state(state: StateMeta) -> Json:
    """A state's name, type, options and serializers."""
    return {
        "name": state.name,
        "type": state.type,
        "options": dict(state.options),
        "serializers": {key: describe_serializer(snapshot) for key, snapshot in state.serializers},
    }


def describe_header(header: BackendHeader, kind: str) -> Json:
    """A backend's header; `kind` is `keyed` or `operator`."""
    described: Json = {"proxy_version": header.version, "compressed": header.compressed}
    states = [describe_state(state) for state in header.states]
    if kind == "keyed":
        if header.key_serializer is not None:
            described["key_serializer"] = describe_serializer(header.key_serializer)
        described["states"] = states
    else:
        described["operator_states"] = states
        described["broadcast_states"] = [describe_state(state) for state in header.broadcast_states]
    if header.unreadable is not None:
        described["unknown"] = {"what": header.unreadable.what, "offset": header.unreadable.offset}
    return described


def _header_of(headers: HeaderReader, read: Callable[[], BackendHeader | None], kind: str) -> Json:
    try:
        header = read()
    except SavepointError as error:
        return {"backend_error": str(error)}
    if header is None:
        return {}
    if id(header) not in headers.described:
        headers.described[id(header)] = (header, describe_header(header, kind))
    return {"backend": headers.described[id(header)][1]}


def _operator_class(handle: OperatorStream) -> str:
    if handle.merged is None:
        return "OperatorStreamStateHandle"
    return f"{'Empty' if handle.merged.empty else ''}FileMergingOperatorStreamStateHandle"


def _range(key_groups: KeyGroupRange) -> list[int]:
    return [key_groups.first, key_groups.last]
