"""Backend headers and the serializers in them."""

from __future__ import annotations

import pytest

from compat.state.flink import SerializerSnapshot, TruncatedSavepoint
from compat.state.flink.binary import ByteReader
from compat.state.flink.describe import describe_serializer
from compat.state.flink.headers import read_keyed_header, read_operator_header
from compat.state.flink.snapshots import read_snapshot
from tests.state.flink import writer as w

MINE = "com.example.MySnapshot"


def read(body: bytes) -> SerializerSnapshot:
    reader = ByteReader(w.integer(2) + body, "header")
    found = read_snapshot(reader)
    assert reader.remaining == 0 or not found.complete
    return found


def test_a_keyed_header() -> None:
    counts = w.state_meta("counts", 0, {"KEYED_STATE_TYPE": "VALUE"}, VALUE_SERIALIZER=w.simple("Long"))
    timers = w.state_meta("timers", 3)
    header = read_keyed_header(w.keyed_header(counts, timers, compressed=True) + b"key groups", "header")
    assert header.unreadable is None
    assert (header.version, header.compressed) == (6, True)
    assert [(s.name, s.type) for s in header.states] == [("counts", "KEY_VALUE"), ("timers", "PRIORITY_QUEUE")]
    assert header.states[0].option("KEYED_STATE_TYPE") == "VALUE"
    value = header.states[0].serializer("VALUE_SERIALIZER")
    assert value is not None
    assert value.serializer == w.BASE + "LongSerializer"
    assert header.length == len(w.keyed_header(counts, timers))


@pytest.mark.parametrize("version", [5, 6])
def test_an_operator_header(version: int) -> None:
    data = w.operator_header(
        [w.state_meta("offsets", 1)], [w.state_meta("rules", 2, KEY_SERIALIZER=w.simple("Int"))], version=version
    )
    header = read_operator_header(data, "header")
    assert (header.unreadable, header.length) == (None, len(data))
    assert [s.name for s in header.states] == ["offsets"]
    assert [s.name for s in header.broadcast_states] == ["rules"]


def test_states_before_an_unknown_serializer_are_kept() -> None:
    known = w.state_meta("known", VALUE_SERIALIZER=w.simple("Long"))
    mine = w.state_meta("mine", VALUE_SERIALIZER=w.composite(w.BASE + "ListSerializerSnapshot", w.snapshot(MINE)))
    header = read_keyed_header(w.keyed_header(known, mine, known), "header")
    assert [s.name for s in header.states] == ["known", "mine"]
    assert header.length is None
    assert header.unreadable is not None
    assert header.unreadable.what.startswith(f"VALUE_SERIALIZER of state `mine` holds `{MINE}`")
    value = header.states[1].serializer("VALUE_SERIALIZER")
    assert value is not None
    assert [n.class_name for n in value.nested] == [MINE]
    assert describe_serializer(value.nested[0]) == {
        "class": MINE,
        "version": 3,
        "unknown": "a class whose layout is not known",
    }


def test_an_unknown_key_serializer_ends_the_header() -> None:
    header = read_keyed_header(w.keyed_header(w.state_meta("s"), key=w.snapshot(MINE)), "header")
    assert header.states == ()
    assert header.key_serializer is not None
    assert header.key_serializer.class_name == MINE
    assert header.unreadable is not None


def test_an_old_header_is_named_not_guessed() -> None:
    header = read_keyed_header(w.integer(5) + bytes(50), "header")
    assert header.unreadable is not None
    assert "backend header version 5" in header.unreadable.what


def test_the_beginning_of_a_header_asks_for_more() -> None:
    data = w.keyed_header(w.state_meta("s", VALUE_SERIALIZER=w.simple("Long")))
    with pytest.raises(TruncatedSavepoint):
        read_keyed_header(data[:-1], "header", whole=False)
    assert read_keyed_header(data[:-1], "header").unreadable is not None


def test_simple_snapshots_of_flink_1_7_repeat_their_class() -> None:
    found = read(w.snapshot(w.BASE + "LongSerializer$LongSerializerSnapshot", 2, w.utf("again")))
    assert found.complete


@pytest.mark.parametrize(
    ("outer_version", "outer", "row_kind"), [(2, b"", False), (3, b"", True), (4, b"\0", False), (4, b"\1", True)]
)
def test_rows(outer_version: int, outer: bytes, row_kind: bool) -> None:
    found = read(
        w.composite(
            w.RUNTIME + "RowSerializer$RowSerializerSnapshot",
            w.simple("Int"),
            w.simple("String"),
            outer=outer,
            outer_version=outer_version,
        )
    )
    assert [n.serializer for n in found.nested] == [w.BASE + "IntSerializer", w.BASE + "StringSerializer"]
    assert dict(found.details) == {"row_kind": row_kind}


def test_composites_below_version_3_have_no_outer_version() -> None:
    body = w.utf("org.apache.flink.api.java.tuple.Tuple1") + w.integer(1333245, 1) + w.listed([w.simple("Int")])
    found = read(w.snapshot(w.RUNTIME + "TupleSerializerSnapshot", 2, body))
    assert dict(found.details) == {"tuple_class": "org.apache.flink.api.java.tuple.Tuple1"}
    assert len(found.nested) == 1


def test_a_pojo_with_a_field_of_unknown_class_is_read_to_its_end() -> None:
    found = read(w.pojo("Order", id=w.simple("Long"), price=w.snapshot(MINE, 1, b"whatever"), note=w.simple("String")))
    assert found.complete
    assert dict(found.details) == {"pojo_class": "Order", "fields": ("id", "price", "note")}
    assert [n.unknown is None for n in found.nested] == [True, False, True]
    assert found.serializer == w.RUNTIME + "PojoSerializer"


def test_enums() -> None:
    body = w.utf("Color") + w.listed([w.utf("RED"), w.utf("GREEN")])
    found = read(w.snapshot(w.BASE + "EnumSerializer$EnumSerializerSnapshot", 3, body))
    assert dict(found.details) == {"enum_class": "Color", "constants": ("RED", "GREEN")}


def test_scala_enums() -> None:
    body = w.utf("Color") + w.listed([w.utf("RED") + w.integer(0)])
    found = read(w.snapshot("org.apache.flink.api.scala.typeutils.ScalaEnumSerializerSnapshot", 3, body))
    assert dict(found.details) == {"enum_class": "Color", "constants": ("RED",)}


def test_kryo_gives_the_class_and_leaves_java_objects_alone() -> None:
    gadget = bytes.fromhex("aced0005") + b"sr planted"
    maps = w.optional_map(("Thread", w.utf("Thread"), gadget)) + w.optional_map(("x", None, gadget)) + w.optional_map()
    found = read(w.snapshot(w.RUNTIME + "kryo.KryoSerializerSnapshot", 2, w.utf("Thread") + maps))
    assert dict(found.details) == {"serialized_class": "Thread", "registrations": ("Thread",)}


@pytest.mark.parametrize(
    ("version", "body", "details"),
    [
        (1, w.utf("{}"), {"schema": "{}"}),
        (2, w.utf("Order", "{}"), {"serialized_class": "Order", "schema": "{}"}),
        (3, w.long_string("Order") + w.long_string("{}"), {"serialized_class": "Order", "schema": "{}"}),
    ],
)
def test_avro(version: int, body: bytes, details: dict[str, str]) -> None:
    found = read(w.snapshot("org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot", version, body))
    assert dict(found.details) == details


@pytest.mark.parametrize(
    ("class_name", "version", "body", "serializer"),
    [
        (w.RUNTIME + "ValueSerializer$ValueSerializerSnapshot", 2, w.utf("V"), w.RUNTIME + "ValueSerializer"),
        (
            "org.apache.flink.runtime.state.ttl.TtlAwareSerializerSnapshot",
            1,
            b"\1" + w.simple("Long"),
            "org.apache.flink.runtime.state.ttl.TtlAwareSerializer",
        ),
        (
            "org.apache.flink.table.runtime.typeutils.DecimalDataSerializer$DecimalSerializerSnapshot",
            3,
            w.integer(10, 2),
            "org.apache.flink.table.runtime.typeutils.DecimalDataSerializer",
        ),
    ],
)
def test_snapshots_with_bodies_of_their_own(class_name: str, version: int, body: bytes, serializer: str) -> None:
    assert read(w.snapshot(class_name, version, body)).serializer == serializer


@pytest.mark.parametrize(
    "class_name",
    [
        w.BASE + "LongSerializer$LongSerializerSnapshot",
        w.RUNTIME + "PojoSerializerSnapshot",
        w.RUNTIME + "kryo.KryoSerializerSnapshot",
        "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot",
    ],
)
def test_a_version_of_tomorrow_is_unknown(class_name: str) -> None:
    found = read(w.snapshot(class_name, 99, b"who knows"))
    assert found.unknown == "version 99 of this class is not known"


@pytest.mark.parametrize(
    ("snapshot", "serializer"),
    [
        ("JavaEitherSerializerSnapshot", "EitherSerializer"),
        ("NullableSerializer$NullableSerializerSnapshot", "NullableSerializer"),
    ],
)
def test_serializers_are_named_as_flink_restores_them(snapshot: str, serializer: str) -> None:
    outer = w.integer(8) if "Nullable" in snapshot else b""
    found = read(w.composite(w.RUNTIME + snapshot, w.simple("Long"), outer=outer))
    assert found.serializer == w.RUNTIME + serializer
