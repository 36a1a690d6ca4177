"""Writes metadata and state headers byte by byte, for what no savepoint at hand shows.

Each function gives the bytes of one thing; larger things take the bytes of their parts.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

MAGIC = bytes.fromhex("4960672d")
MASTER_MAGIC = bytes.fromhex("c96b1696")
NULL = b"\0"
EMPTY_SEGMENT = b"\x10"
OPERATOR_ID = bytes(range(16))

BASE = "org.apache.flink.api.common.typeutils.base."
RUNTIME = "org.apache.flink.api.java.typeutils.runtime."


def byte(value: int) -> bytes:
    return struct.pack(">B", value)


def short(value: int) -> bytes:
    return struct.pack(">H", value)


def integer(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def long(*values: int) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


def utf(*texts: str) -> bytes:
    """Modified UTF-8 of characters up to U+FFFF."""
    encoded = [text.encode().replace(b"\0", b"\xc0\x80") for text in texts]
    return b"".join(short(len(e)) + e for e in encoded)


def sized(data: bytes) -> bytes:
    return integer(len(data)) + data


def listed(items: Sequence[bytes]) -> bytes:
    return integer(len(items)) + b"".join(items)


# ---- streams ----


def inline(data: bytes, name: str = "bytes") -> bytes:
    return byte(1) + utf(name) + sized(data)


def file(uri: str, size: int = 10) -> bytes:
    return byte(2) + long(size) + utf(uri)


def relative(path: str, size: int = 10) -> bytes:
    return byte(6) + utf(path) + long(size)


def segment(uri: str, start: int = 0, size: int = 10, scope: int = 0) -> bytes:
    return byte(15) + long(start, size) + integer(scope) + utf(uri, "logical")


# ---- keyed state ----


def full(stream: bytes, first: int = 0, offsets: Sequence[int] = (0,), tag: int = 7) -> bytes:
    body = byte(tag) + integer(first, len(offsets)) + long(*offsets) + stream
    return body + (utf("handle") if tag == 12 else b"")


def incremental(meta: bytes, shared: Sequence[bytes] = (), private: Sequence[bytes] = (), tag: int = 11) -> bytes:
    head = byte(tag) + long(4) + utf("backend") + integer(0, 128) + (long(99) if tag == 11 else b"")
    return head + meta + listed(shared) + listed(private) + (utf("handle") if tag == 11 else b"")


def local_file(name: str, stream: bytes) -> bytes:
    return utf(name) + stream


def changelog(materialized: Sequence[bytes] = (), changes: Sequence[bytes] = (), tag: int = 14) -> bytes:
    body = byte(tag) + integer(0, 128) + long(77) + listed(materialized) + listed(changes) + long(3)
    return body + (long(8) if tag == 14 else b"") + utf("handle")


def memory_changes(*changes: tuple[int, bytes]) -> bytes:
    items = [integer(group) + sized(data) for group, data in changes]
    return byte(9) + integer(0, 128) + long(1, 5) + listed(items) + utf("handle")


def file_changes(*streams: bytes, tag: int = 13) -> bytes:
    items = [long(12) + stream for stream in streams]
    body = byte(tag) + integer(0, 128) + listed(items) + long(30, 20) + utf("handle")
    return body + (utf("filesystem") if tag == 13 else b"")


# ---- operator state and channels ----


def partition(name: str, mode: int = 0, offsets: Sequence[int] = ()) -> bytes:
    return utf(name) + byte(mode) + integer(len(offsets)) + long(*offsets)


def operator_stream(stream: bytes, *partitions: bytes) -> bytes:
    return byte(4) + listed(partitions) + stream


def merged_operator_stream(stream: bytes, *partitions: bytes, empty: bool = False) -> bytes:
    return byte(17) + listed(partitions) + utf("file:/owned", "file:/shared") + byte(empty) + stream


def channel(stream: bytes, info: tuple[int, int] = (0, 1), tag: int | None = None) -> bytes:
    head = b"" if tag is None else byte(tag)
    return head + integer(3, *info, 2) + long(5, 6) + long(40) + stream


def merged_channel(stream: bytes, tag: int) -> bytes:
    return byte(tag) + integer(3) + long(40) + stream + sized(b"offsets")


# ---- metadata ----


def subtask(
    index: int = 0,
    *,
    version: int = 6,
    managed_operator: bytes = b"",
    raw_operator: bytes = b"",
    managed_keyed: bytes = NULL,
    raw_keyed: bytes = NULL,
    inputs: Sequence[bytes] = (),
    outputs: Sequence[bytes] = (),
) -> bytes:
    head = integer(index) + (long(-1) + integer(0) if version == 2 else b"")
    streams = [integer(1) + s if s else integer(0) for s in (managed_operator, raw_operator)]
    channels = b"" if version == 2 else listed(inputs) + listed(outputs)
    return head + b"".join(streams) + managed_keyed + raw_keyed + channels


def finished_subtask(index: int) -> bytes:
    return integer(-index - 1)


def operator(
    *subtasks: bytes,
    version: int = 6,
    identity: bytes = OPERATOR_ID,
    name: str = "",
    uid: str = "",
    parallelism: int | None = None,
    max_parallelism: int = 128,
    coordinator: bytes = NULL,
    finished: bool = False,
) -> bytes:
    names = utf(name, uid) if version >= 5 else b""
    numbers = integer(max(1, len(subtasks)) if parallelism is None else parallelism, max_parallelism)
    head = names + identity + numbers + (integer(1) if version == 2 else coordinator)
    return head + (integer(-1) if finished else listed(subtasks))


def master_state(name: str, data: bytes, version: int = 1) -> bytes:
    return MASTER_MAGIC + sized(integer(version) + utf(name) + sized(data))


JAVA_STREAM = bytes.fromhex("aced0005")
JAVA_NULL = b"p"


def java_class(name: str, *fields: tuple[str, str], flags: int = 2, parent: bytes = JAVA_NULL) -> bytes:
    """The description of a serializable class; fields are (type, name) with the types of Java's class files."""
    written = [type[0].encode() + utf(field) + (b"t" + utf(type) if type[0] in "L[" else b"") for type, field in fields]
    return (
        b"r" + utf(name) + long(1) + bytes([flags]) + len(fields).to_bytes(2, "big") + b"".join(written) + b"x" + parent
    )


def java_object(described: bytes, *values: bytes) -> bytes:
    return b"s" + described + b"".join(values)


def java_string(text: str) -> bytes:
    return b"t" + utf(text)


def java_enum(class_name: str, constant: str) -> bytes:
    base = java_class("java.lang.Enum", flags=0x12)
    return b"~" + java_class(class_name, flags=0x12, parent=base) + java_string(constant)


def properties(
    type_class: str = "SavepointType", type_name: str = "Savepoint", savepoint_format: str | None = None
) -> bytes:
    """A Java-serialized `CheckpointProperties`, with a flag and what kind of snapshot it is."""
    package = "org.apache.flink.runtime.checkpoint."
    of_kind = java_class(package + type_class, ("LFormat;", "formatType"), ("Ljava/lang/String;", "name"))
    form = JAVA_NULL if savepoint_format is None else java_enum("SavepointFormatType", savepoint_format)
    kind = java_object(of_kind, form, java_string(type_name))
    of_all = java_class(package + "CheckpointProperties", ("Z", "forced"), ("LSnapshotType;", "checkpointType"))
    return JAVA_STREAM + java_object(of_all, b"\0", kind)


def metadata(
    *operators: bytes,
    version: int = 6,
    checkpoint_id: int = 7,
    master_states: Sequence[bytes] = (),
    tail: bytes | None = None,
) -> bytes:
    end = (properties() if version >= 4 else b"") if tail is None else tail
    return MAGIC + integer(version) + long(checkpoint_id) + listed(master_states) + listed(operators) + end


# ---- serializer snapshots and headers ----


def snapshot(class_name: str, version: int = 3, body: bytes = b"") -> bytes:
    return utf(class_name) + integer(version) + body


def simple(name: str) -> bytes:
    return snapshot(f"{BASE}{name}Serializer${name}SerializerSnapshot")


def composite(class_name: str, *nested: bytes, outer: bytes = b"", outer_version: int = 1) -> bytes:
    body = integer(911108, outer_version) + outer + integer(1333245, 1) + listed(nested)
    return snapshot(class_name, 3, body)


def optional_map(*entries: tuple[str, bytes | None, bytes | None]) -> bytes:
    def framed(value: bytes | None) -> bytes:
        return byte(0) if value is None else byte(1) + sized(value)

    return long(0x4F2C69A3D70) + listed([utf(name) + framed(k) + framed(v) for name, k, v in entries])


def pojo(class_name: str, **fields: bytes) -> bytes:
    entries = [(name, utf(class_name, name), value) for name, value in fields.items()]
    body = utf(class_name) + optional_map(*entries) + optional_map() + optional_map()
    return snapshot(RUNTIME + "PojoSerializerSnapshot", 2, body)


def long_string(text: str) -> bytes:
    """A string as `StringValue` writes it, for characters and lengths below 128."""
    return byte(len(text) + 1) + text.encode("ascii")


def state_meta(name: str, kind: int = 0, options: dict[str, str] | None = None, **serializers: bytes) -> bytes:
    pairs = [utf(k, v) for k, v in (options or {}).items()]
    snapshots = [utf(key) + integer(2) + body for key, body in serializers.items()]
    return utf(name) + integer(kind) + listed(pairs) + listed(snapshots)


def keyed_header(*states: bytes, key: bytes | None = None, compressed: bool = False) -> bytes:
    key_snapshot = integer(2) + (simple("Long") if key is None else key)
    return integer(6) + byte(compressed) + key_snapshot + short(len(states)) + b"".join(states)


def operator_header(lists: Sequence[bytes] = (), broadcast: Sequence[bytes] = (), *, version: int = 6) -> bytes:
    head = integer(version) + (byte(0) if version >= 6 else b"")
    return head + short(len(lists)) + b"".join(lists) + short(len(broadcast)) + b"".join(broadcast)
