"""Savepoints of jobs in Java and SQL: the same states and serializers as Flink's own classes read in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat.state.flink import HeaderReader, OperatorStates, SerializerSnapshot, StateMeta, read_metadata, read_states
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import DamagedSavepoint, SavepointError
from compat.state.flink.headers import read_keyed_header
from compat.state.flink.snapshots import read_snapshot
from tests.counting import calls_of
from tests.state.flink import writer as w

SAVEPOINTS = Path(__file__).parents[2] / "golden" / "java_savepoints"
NAMES = sorted(path.name for path in SAVEPOINTS.iterdir() if path.is_dir())
OF_THE_PROGRAM = {"custom_ser_incompatible": "CustomSerIncompatible$Snap"}
"""Jobs with a snapshot class of their own: nobody else can tell where it ends."""

TABLE = "org.apache.flink.table."
ROW_DATA = TABLE + "runtime.typeutils.RowDataSerializer$RowDataSerializerSnapshot"
EXTERNAL = TABLE + "runtime.typeutils.ExternalSerializer$ExternalSerializerSnapshot"
LOGICAL = TABLE + "types.logical."


def contents(name: str) -> list[dict[str, Any]]:
    told = json.loads((SAVEPOINTS / name / "contents.json").read_text(encoding="utf-8"))
    return list(told["operators"])


def states(name: str) -> dict[str, OperatorStates]:
    savepoint = read_metadata(str(SAVEPOINTS / name))
    headers = HeaderReader(savepoint)
    return {operator.id: read_states(savepoint, operator, headers) for operator in savepoint.operators}


def metas(found: OperatorStates) -> dict[tuple[str, str], StateMeta]:
    return {(meta.name, meta.type): meta for meta in (*found.keyed, *found.lists, *found.broadcast)}


def compared(ours: SerializerSnapshot | None, theirs: dict[str, Any] | None) -> None:
    if ours is None or theirs is None:
        assert ours is theirs is None
        return
    assert (ours.class_name, ours.version, ours.serializer) == (
        theirs["snapshot"],
        theirs["version"],
        theirs["serializer"],
    )
    nested = theirs.get("nested", [])
    if nested:
        assert len(ours.nested) == len(nested)
        for mine, other in zip(ours.nested, nested, strict=True):
            compared(mine, other)


@pytest.mark.parametrize("name", sorted(set(NAMES) - OF_THE_PROGRAM.keys()))
def test_states_and_serializers_are_those_that_flink_reads(name: str) -> None:
    ours, number = states(name), 0
    for operator in contents(name):
        found = ours[operator["operatorId"]]
        assert not found.unreadable
        compared(found.key_serializer, operator.get("keySerializer"))
        mine = metas(found)
        assert sorted(mine) == sorted((state["name"], state["type"]) for state in operator["states"])
        for state in operator["states"]:
            meta = mine[state["name"], state["type"]]
            assert {key: meta.option(key) for key in state["options"]} == state["options"]
            for key, serializer in state["serializers"].items():
                compared(meta.serializer(key), serializer)
                number += 1
    assert number


@pytest.mark.parametrize("name", OF_THE_PROGRAM)
def test_a_snapshot_class_of_the_program_ends_the_reading_and_is_named(name: str) -> None:
    found = [one for one in states(name).values() if one.unreadable]
    assert [OF_THE_PROGRAM[name] in why for one in found for why in one.unreadable] == [True]


def test_the_types_of_rows_are_told() -> None:
    (joined,) = [one for one in states("q_join_left_inner").values() if any("left" in meta.name for meta in one.keyed)]
    told = {
        dict(part.details).get("types")
        for meta in joined.keyed
        for part in every(meta.serializer("VALUE_SERIALIZER"))
        if part.class_name == ROW_DATA
    }
    assert told
    assert all(text.removesuffix(" NOT NULL") in KNOWN for types in told for text in types)


KNOWN = {"INT", "BIGINT", "STRING", "TIMESTAMP_LTZ(3) *ROWTIME*"}


def every(snapshot: SerializerSnapshot | None) -> list[SerializerSnapshot]:
    return [] if snapshot is None else [snapshot, *(deep for part in snapshot.nested for deep in every(part))]


# ---- what no savepoint at hand shows ----

ROOT = w.java_class(LOGICAL + "LogicalType", ("Z", "isNullable"))


def logical(name: str, *fields: tuple[str, str], values: tuple[bytes, ...] = (), nullable: bool = True) -> bytes:
    """An object of a logical type, as the first of a stream."""
    return w.java_object(w.java_class(LOGICAL + name, *fields, parent=ROOT), bytes([nullable]), *values)


def array_list(*items: bytes) -> bytes:
    kind = w.java_class("java.util.ArrayList", ("I", "size"), flags=3)
    return w.java_object(kind, w.integer(len(items)), b"w\x04" + w.integer(len(items)), *items, b"x")


def unmodifiable(items: bytes) -> bytes:
    base = w.java_class("java.util.Collections$UnmodifiableCollection", ("Ljava/util/Collection;", "c"))
    kind = w.java_class("java.util.Collections$UnmodifiableList", ("Ljava/util/List;", "list"), parent=base)
    return w.java_object(kind, items, w.JAVA_NULL)


def row(*fields: tuple[str, bytes]) -> bytes:
    field = LOGICAL + "RowType$RowField"
    kind = w.java_class(field, ("Ljava/lang/String;", "name"), ("LLogicalType;", "type"))
    items = [w.java_object(kind, w.java_string(name), type) for name, type in fields]
    return logical("RowType", ("Ljava/util/List;", "fields"), values=(unmodifiable(array_list(*items)),))


INT = logical("IntType")
SIZE = (("I", "length"),)
TYPES = [
    (INT, "INT"),
    (logical("BigIntType", nullable=False), "BIGINT NOT NULL"),
    (logical("VarCharType", *SIZE, values=(w.integer(2**31 - 1),)), "STRING"),
    (logical("VarCharType", *SIZE, values=(w.integer(20),), nullable=False), "VARCHAR(20) NOT NULL"),
    (
        logical("DecimalType", ("I", "precision"), ("I", "scale"), values=(w.integer(10), w.integer(2))),
        "DECIMAL(10, 2)",
    ),
    (
        logical(
            "TimestampType",
            ("I", "precision"),
            ("LTimestampKind;", "kind"),
            values=(w.integer(3), w.java_enum("TimestampKind", "ROWTIME")),
        ),
        "TIMESTAMP(3) *ROWTIME*",
    ),
    (logical("ArrayType", ("LLogicalType;", "elementType"), values=(INT,)), "ARRAY<INT>"),
    (
        logical("MapType", ("LLogicalType;", "keyType"), ("LLogicalType;", "valueType"), values=(INT, INT)),
        "MAP<INT, INT>",
    ),
    (row(("a", INT), ("b", row(("c", INT)))), "ROW<`a` INT, `b` ROW<`c` INT>>"),
    (w.java_object(w.java_class("com.example.Odd")), "com.example.Odd"),
]


def row_data(version: int, *types: bytes, names: tuple[str, ...] | None = None) -> bytes:
    body = w.listed([w.JAVA_STREAM + type for type in types])
    body += w.integer(1333245, 1) + w.listed([w.simple("Int") for _ in types])
    if version >= 4:
        body += w.byte(names is not None) + w.utf(*(names or ()))
    return w.snapshot(ROW_DATA, version, body)


def read(body: bytes) -> SerializerSnapshot:
    reader = ByteReader(w.integer(2) + body + b"behind", "header")
    found = read_snapshot(reader)
    assert reader.raw(6, "the rest") == b"behind"
    return found


@pytest.mark.parametrize(("written", "text"), TYPES, ids=[text for _, text in TYPES])
def test_a_logical_type_is_read_as_flink_shows_it(written: bytes, text: str) -> None:
    assert dict(read(row_data(3, written)).details) == {"types": (text,)}


def test_a_row_of_version_4_has_field_names_or_none() -> None:
    assert dict(read(row_data(4, INT, INT, names=("a", "b"))).details)["fields"] == ("a", "b")
    assert "fields" not in dict(read(row_data(4, INT)).details)
    assert read_keyed_header(w.keyed_header(key=row_data(4, INT, names=("k",))), "header").unreadable is None


def test_a_row_of_tomorrow_is_unknown() -> None:
    header = read_keyed_header(w.keyed_header(key=w.snapshot(ROW_DATA, 5, b"who knows")), "header")
    assert header.unreadable is not None
    assert "version 5 of this class is not known" in header.unreadable.what


@pytest.mark.parametrize(("name", "types"), [("Array", ("INT",)), ("Map", ("INT", "ROW<`a` INT>"))])
def test_a_collection_has_its_types_and_behind_them_its_serializers(name: str, types: tuple[str, ...]) -> None:
    logicals = {"INT": INT, "ROW<`a` INT>": row(("a", INT))}
    serializer = w.JAVA_STREAM + w.java_object(w.java_class("acme.Serializer"))
    body = b"".join(w.JAVA_STREAM + logicals[one] for one in types) + serializer * len(types)
    class_name = f"{TABLE}runtime.typeutils.{name}DataSerializer${name}DataSerializerSnapshot"
    found = read(w.snapshot(class_name, 3, body))
    assert (dict(found.details), found.complete) == ({"types": types}, True)
    header = read_keyed_header(w.keyed_header(key=w.snapshot(class_name, 4, body)), "header")
    assert header.unreadable is not None


def test_an_external_type_is_read() -> None:
    base = w.java_class(TABLE + "types.DataType", ("LClass;", "conversionClass"), ("LLogicalType;", "logicalType"))
    kept = b"v" + w.java_class("com.example.Order")
    described = w.java_object(w.java_class(TABLE + "types.AtomicDataType", parent=base), kept, INT)
    found = read(w.composite(EXTERNAL, w.simple("Int"), outer=w.JAVA_STREAM + described + b"\1"))
    assert dict(found.details) == {"data_type": "INT as com.example.Order", "internal_input": True}
    assert found.serializer == TABLE + "runtime.typeutils.ExternalSerializer"
    assert [part.serializer for part in found.nested] == [w.BASE + "IntSerializer"]


# ---- hostile ----


def nested_arrays(depth: int) -> bytes:
    value = INT
    for _ in range(depth):
        value = logical("ArrayType", ("LLogicalType;", "elementType"), values=(value,))
    return value


def test_a_row_that_is_cut_at_any_byte_is_no_row() -> None:
    whole = w.integer(2) + row_data(4, row(("a", INT)), INT, names=("a", "b"))
    for end in range(len(whole)):
        with pytest.raises(SavepointError):
            read_snapshot(ByteReader(whole[:end], "header"))


def test_types_within_each_other_without_end() -> None:
    with pytest.raises(DamagedSavepoint, match="inside of each other"):
        read(row_data(3, nested_arrays(5000)))


def test_a_type_that_holds_itself_has_an_end() -> None:
    itself = w.java_class(LOGICAL + "ArrayType", ("LLogicalType;", "elementType"), parent=ROOT)
    # Handles: the class 0, its field's type 1, the parent 2, the object 3.
    (text,) = dict(read(row_data(3, w.java_object(itself, b"\1", b"q" + w.integer(0x7E0003)))).details)["types"]
    assert text.startswith("ARRAY<ARRAY<")
    assert "…" in text


def test_types_that_share_their_parts_take_no_time() -> None:
    """Each map has the one before it twice: written out, that would be 2^20 types."""

    def doubled(levels: int) -> bytes:
        # Each level: one class description of its own, so that handles are easy to count.
        value, handles = INT, 0
        for level in range(levels):
            kind = w.java_class(f"{LOGICAL}MapType", ("LX;", "keyType"), ("LX;", "valueType"), parent=ROOT)
            handles = 5 * (levels - 1 - level)
            # The object's own handle is the fifth of its level; its key begins a level further on.
            first = 0x7E0000 + handles + 5 + (4 if level else 2)
            value = w.java_object(kind, b"\1", value, b"q" + w.integer(first))
        return value

    (text,) = dict(read(row_data(3, doubled(2))).details)["types"]
    assert text == "MAP<MAP<INT, INT>, MAP<INT, INT>>"
    assert calls_of(lambda: read(row_data(3, doubled(20)))) < 1_000_000


def test_a_count_of_types_is_held_against_the_bytes() -> None:
    with pytest.raises(SavepointError, match="types of fields"):
        read_snapshot(ByteReader(w.integer(2) + w.snapshot(ROW_DATA, 3, w.integer(2**31 - 1)), "header"))
