"""Reads serializer snapshots: the serializer that wrote a state, down to its elements.

A snapshot is a class name, a version and a body whose layout only that class knows; there is no length in
front of it. So an unknown class ends the reading of the structure around it: its name is kept, and the bytes after it are not
guessed. Inside a POJO each field has a length, so the reading goes on after it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink.binary import ByteReader, Part
from compat.state.flink.java_objects import JavaArray, JavaObject, JavaValue, read_java_object
from compat.state.flink.logical_types import read_logical_type
from compat.state.flink.snapshot_classes import COMPOSITE, GENERIC, SIMPLE, serializer_of

MAX_DEPTH = 48
"""Serializers within serializers; types of real programs stay below ten."""

_LAYOUT = 2
_LAYOUT_OF_HEADERS = struct.Struct(">i")
"""The layout in which `TypeSerializerSnapshotSerializationUtil` writes snapshots into headers, since Flink 1.8."""
_COMPOSITE_MAGIC = 911108
_NESTED_MAGIC = 1333245
_OPTIONAL_MAP_MAGIC = 0x4F2C69A3D70

_SMALLEST_SNAPSHOT = 6
_SMALLEST_JAVA_OBJECT = 5


class SerializerSnapshot(Struct, frozen=True):
    """One serializer as a state header records it.

    `serializer` is the class that Flink restores from it, None if this reader does not know the snapshot's
    class. `details` are the class's own facts: a POJO's class and fields, an enum's constants. `unknown` says why the reading
    ended here, None if it did not; `complete` is false if it ended here or further inside. `subclasses` are those of a POJO:
    first the registered ones, by their tags, then those found by their names. `owners` are the classes that declare its fields.
    Neither counts when snapshots are compared.
    """

    class_name: str
    version: int
    nested: tuple[SerializerSnapshot, ...] = ()
    serializer: str | None = None
    details: tuple[tuple[str, object], ...] = ()
    unknown: str | None = None
    complete: bool = True
    subclasses: tuple[tuple[str, SerializerSnapshot], ...] = ()
    owners: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SerializerSnapshot) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def texts(self, name: str) -> tuple[str, ...]:
        """A detail that consists of texts, such as a POJO's ``fields``; empty if there is none."""
        found = dict(self.details).get(name)
        return tuple(map(str, found)) if isinstance(found, tuple) else ()

    @property
    def _identity(self) -> tuple[object, ...]:
        names = "class_name", "version", "nested", "serializer", "details", "unknown", "complete"
        return tuple(getattr(self, name) for name in names)


def classes_in(serializer: SerializerSnapshot) -> frozenset[str]:
    """The names of the program's classes that a serializer and its nested ones are for."""
    details = dict(serializer.details)
    own = (details[name] for name in ("pojo_class", "enum_class", "case_class", "serialized_class") if name in details)
    within = (classes_in(one) for one in (*serializer.nested, *(one for _, one in serializer.subclasses)))
    named = (*map(str, own), *(name for name, _ in serializer.subclasses), *serializer.texts("registrations"))
    return frozenset(named).union(*within)


Nested = list[SerializerSnapshot]
Body = Callable[[ByteReader, SerializerSnapshot, int], SerializerSnapshot]


def read_snapshot(reader: ByteReader) -> SerializerSnapshot:
    """Read a snapshot as `TypeSerializerSnapshotSerializationUtil` writes it.

    Raises a `SavepointError` if the bytes are damaged; an unknown class is no error.
    """
    util_version = reader.integer()
    if util_version != _LAYOUT:
        reader.damaged(f"serializer snapshot layout {util_version}", "Flink 1.8 and later write layout 2")
    return read_versioned(reader, 0)


def in_header(snapshot: bytes) -> bytes:
    """A snapshot in the form of `writeVersionedSnapshot`, with the bytes that precede it in a header."""
    return _LAYOUT_OF_HEADERS.pack(_LAYOUT) + snapshot


def out_of_header(data: bytes) -> bytes:
    """The snapshot of a header, in the form of `writeVersionedSnapshot`."""
    return data[_LAYOUT_OF_HEADERS.size :]


def read_versioned(reader: ByteReader, depth: int) -> SerializerSnapshot:
    """Read a snapshot's class name, version and body (`TypeSerializerSnapshot.writeVersionedSnapshot`)."""
    if depth > MAX_DEPTH:
        reader.damaged(f"more than {MAX_DEPTH} serializers within each other", "no program's types are so deep")
    class_name = reader.utf()
    head = SerializerSnapshot(class_name, reader.integer(), serializer=serializer_of(class_name))
    if class_name in SIMPLE:
        return _read_simple(reader, head)
    if class_name in COMPOSITE:
        return _read_composite(reader, head, depth)
    if class_name in GENERIC:
        return _with(head, serialized_class=_read_name(reader, Part.CLASS_NAME))
    body = _BODIES.get(class_name)
    return body(reader, head, depth) if body else _unknown(head, "a class whose layout is not known")


def _read_simple(reader: ByteReader, head: SerializerSnapshot) -> SerializerSnapshot:
    if head.version == 2:
        reader.utf()  # the serializer's class again
    elif head.version != 3:
        return _unknown_version(head)
    return head


def _read_composite(reader: ByteReader, head: SerializerSnapshot, depth: int) -> SerializerSnapshot:
    """The layout of `CompositeTypeSerializerSnapshot`; below version 3 without magic and outer version."""
    outer_version = head.version
    if head.version >= 3:
        magic = reader.integer()
        if magic != _COMPOSITE_MAGIC:
            reader.damaged(f"a composite serializer with the magic number {magic}")
        outer_version = reader.integer()
    for name, read in COMPOSITE[head.class_name]:
        value = read(reader, outer_version)
        if value is not None:
            head = _with(head, **{name: value})
    return _read_nested(reader, head, depth)


def _read_nested(reader: ByteReader, head: SerializerSnapshot, depth: int) -> SerializerSnapshot:
    """The layout of `NestedSerializersSnapshotDelegate`."""
    magic = reader.integer()
    version = reader.integer()
    if (magic, version) != (_NESTED_MAGIC, 1):
        reader.damaged(f"nested serializers with the numbers {magic}, {version}")
    number = reader.count("nested serializers", _SMALLEST_SNAPSHOT)
    nested: Nested = []
    for _ in range(number):
        begin = reader.position
        nested.append(read_versioned(reader, depth + 1))
        reader.note(Part.NESTED, begin)
        if not nested[-1].complete:
            return replace(head, nested=tuple(nested), complete=False)
    return replace(head, nested=tuple(nested))


def _read_enum(reader: ByteReader, head: SerializerSnapshot, _: int) -> SerializerSnapshot:
    enum = _read_name(reader, Part.CLASS_NAME)
    number = reader.count("enum constants", 2)
    constants = tuple(_read_name(reader, Part.FIELD_NAME, enum) for _ in range(number))
    return _with(head, enum_class=enum, constants=constants)


def _read_scala_enum(reader: ByteReader, head: SerializerSnapshot, _: int) -> SerializerSnapshot:
    enum = reader.utf()
    number = reader.count("enum constants", 6)
    return _with(head, enum_class=enum, constants=tuple(_scala_constant(reader) for _ in range(number)))


def _scala_constant(reader: ByteReader) -> str:
    name = reader.utf()
    reader.integer()
    return name


def _read_pojo(reader: ByteReader, head: SerializerSnapshot, depth: int) -> SerializerSnapshot:
    """The layout of `PojoSerializerSnapshotData`: fields, then registered and other subclasses."""
    if head.version != 2:
        return _unknown_version(head)
    pojo = _read_name(reader, Part.CLASS_NAME)
    head = _with(head, pojo_class=pojo)
    fields = _read_optional_map(reader, Part.FIELD_NAME, pojo)
    registered = _read_optional_map(reader, Part.CLASS_NAME)
    others = _read_optional_map(reader, Part.SUBCLASS_NAME)
    head = _with(head, fields=tuple(name for name, _, _ in fields))
    subclasses = tuple(name for name, _, _ in registered + others)
    if subclasses:
        head = _with(head, subclasses=subclasses)
    return replace(
        head,
        nested=tuple(_read_field(value, depth) for _, _, value in fields),
        owners=tuple("" if key is None else _read_owner(key, pojo) for _, key, _ in fields),
        subclasses=tuple((name, _read_field(value, depth)) for name, _, value in registered + others),
    )


def _read_owner(key: ByteReader, pojo: str) -> str:
    """The class that declares a field; behind it stands the field's name once more (`PojoFieldUtils.writeField`)."""
    owner = _read_name(key, Part.CLASS_NAME)
    if key.places is not None:
        _read_name(key, Part.FIELD_NAME, pojo)
    return owner


def _read_field(value: ByteReader | None, depth: int) -> SerializerSnapshot:
    if value is None:
        return _unknown(SerializerSnapshot("", 0), "no serializer recorded")
    # The frame ends with the field, so an unknown class inside does not end the reading of the POJO.
    return read_versioned(value, depth + 1)


def _read_kryo(reader: ByteReader, head: SerializerSnapshot, _: int) -> SerializerSnapshot:
    """The layout of `KryoSerializerSnapshotData`; serializer instances are Java objects and stay unread."""
    if head.version != 2:
        return _unknown_version(head)
    serialized = reader.utf()
    registrations = _read_optional_map(reader)
    _read_optional_map(reader)
    _read_optional_map(reader)
    return _with(head, serialized_class=serialized, registrations=tuple(name for name, _, _ in registrations))


def _read_avro(reader: ByteReader, head: SerializerSnapshot, _: int) -> SerializerSnapshot:
    if head.version == 1:
        return _with(head, schema=reader.utf())
    if head.version == 2:
        return _with(head, serialized_class=reader.utf(), schema=reader.utf())
    if head.version == 3:
        return _with(head, serialized_class=reader.text() or "", schema=reader.text() or "")
    return _unknown_version(head)


def _read_ttl_aware(reader: ByteReader, head: SerializerSnapshot, depth: int) -> SerializerSnapshot:
    head = _with(head, ttl=reader.boolean())
    inner = read_versioned(reader, depth + 1)
    return replace(head, nested=(inner,), complete=inner.complete)


def _read_row_data(reader: ByteReader, head: SerializerSnapshot, depth: int) -> SerializerSnapshot:
    """The layout of `RowDataSerializerSnapshot`: a stream of Java objects for each type, serializers, field names."""
    if head.version not in (3, 4):
        return _unknown_version(head)
    number = reader.count("types of fields", _SMALLEST_JAVA_OBJECT)
    head = _with(head, types=tuple(read_logical_type(reader) for _ in range(number)))
    head = _read_nested(reader, head, depth)
    if not head.complete or head.version < 4 or not reader.boolean():
        return head
    return _with(head, fields=tuple(reader.utf() for _ in range(number)))


def _of_collection(*, types: int) -> Body:
    """The layout of `ArrayDataSerializerSnapshot` and `MapDataSerializerSnapshot`: a stream of Java objects for each type, and
    behind these for each serializer."""

    def read(reader: ByteReader, head: SerializerSnapshot, _: int) -> SerializerSnapshot:
        if head.version != 3:
            return _unknown_version(head)
        found = tuple(read_logical_type(reader) for _ in range(types))
        for _ in range(types):
            read_java_object(reader)
        return _with(head, types=found)

    return read


def _read_sorted_map(reader: ByteReader, head: SerializerSnapshot, depth: int) -> SerializerSnapshot:
    """The layout of `SortedMapSerializerSnapshot`: the comparator of the keys as a Java object, and serializers.

    Two comparators are equal if they compare the same fields in the same order (`ComparableRecordComparator`).
    """
    comparator = read_java_object(reader)
    fields = comparator.fields if isinstance(comparator, JavaObject) else {}
    head = _with(head, order=tuple((name, _of_array(fields.get(name))) for name in _COMPARED))
    return _read_nested(reader, head, depth)


_COMPARED = ("compareKeyPositions", "compareOrders", "nullsIsLast")


def _of_array(value: JavaValue) -> str:
    items = value.items if isinstance(value, JavaArray) else ()
    return b"".join(item for item in items if isinstance(item, bytes)).hex()


def _integers(*names: str) -> Body:
    """A body that is one integer for each name."""

    def read(reader: ByteReader, head: SerializerSnapshot, _: int) -> SerializerSnapshot:
        return _with(head, **{name: reader.integer() for name in names})

    return read


_TABLE = "org.apache.flink.table.runtime.typeutils."
_RUNTIME = "org.apache.flink.api.java.typeutils.runtime."

_BODIES: dict[str, Body] = {
    "org.apache.flink.api.common.typeutils.base.EnumSerializer$EnumSerializerSnapshot": _read_enum,
    "org.apache.flink.api.scala.typeutils.ScalaEnumSerializerSnapshot": _read_scala_enum,
    _RUNTIME + "PojoSerializerSnapshot": _read_pojo,
    _RUNTIME + "kryo.KryoSerializerSnapshot": _read_kryo,
    "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot": _read_avro,
    "org.apache.flink.runtime.state.ttl.TtlAwareSerializerSnapshot": _read_ttl_aware,
    _TABLE + "RowDataSerializer$RowDataSerializerSnapshot": _read_row_data,
    _TABLE + "SortedMapSerializerSnapshot": _read_sorted_map,
    _TABLE + "ArrayDataSerializer$ArrayDataSerializerSnapshot": _of_collection(types=1),
    _TABLE + "MapDataSerializer$MapDataSerializerSnapshot": _of_collection(types=2),
    _TABLE + "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot": _integers("fields"),
    _TABLE + "DecimalDataSerializer$DecimalSerializerSnapshot": _integers("precision", "scale"),
    _TABLE + "TimestampDataSerializer$TimestampDataSerializerSnapshot": _integers("precision"),
}


Entry = tuple[str, ByteReader | None, ByteReader | None]


def _read_optional_map(reader: ByteReader, names: Part | None = None, owner: str = "") -> list[Entry]:
    """The layout of `LinkedOptionalMapSerializer`: names, each with a framed key and value, or without.

    ``names`` is what the names are, of ``owner``, where who asked for the places is to know them.
    """
    magic = reader.long()
    if magic != _OPTIONAL_MAP_MAGIC:
        reader.damaged(f"a map with the magic number {magic:x}")
    number = reader.count("entries", 4)
    return [(_read_name(reader, names, owner), _read_frame(reader), _read_frame(reader)) for _ in range(number)]


def _read_name(reader: ByteReader, part: Part | None, owner: str = "") -> str:
    begin = reader.position
    name = reader.utf()
    if part is not None:
        reader.note(part, begin, owner)
    return name


def _read_frame(reader: ByteReader) -> ByteReader | None:
    if not reader.boolean():
        return None
    begin = reader.position
    frame = reader.window(reader.integer(), "a framed value")
    reader.note(Part.FRAME, begin)
    return frame


def _with(head: SerializerSnapshot, **details: object) -> SerializerSnapshot:
    return replace(head, details=head.details + tuple(details.items()))


def _unknown(head: SerializerSnapshot, why: str) -> SerializerSnapshot:
    return replace(head, unknown=why, complete=False)


def _unknown_version(head: SerializerSnapshot) -> SerializerSnapshot:
    return _unknown(head, f"version {head.version} of this class is not known")
