"""Avro records in Flink's own bytes: what is written is read again, and fields become others by their names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink.avro_values import avro_fields, avro_reader
from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import AVRO, Layout, Unconvertible, form_of
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.transcoding import Fields, transcoder

SIDE = {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "acme",
    "fields": [
        {"name": "n", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "side", "type": SIDE},
        {"name": "other", "type": "Side"},
        {"name": "prices", "type": {"type": "array", "items": "double"}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 2}},
        {"name": "raw", "type": "bytes"},
        {"name": "ok", "type": "boolean"},
        {"name": "next", "type": ["null", "Order"]},
    ],
}


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": type} for name, type in fields.items()]}


def snapshot(schema: Any) -> SerializerSnapshot:
    return SerializerSnapshot(f"{AVRO}Snapshot", 3, (), AVRO, (("schema", json.dumps(schema)),))


def written(schema: Any, value: dict[str, Any]) -> bytes:
    return b"".join(codec.write(value[name]) for name, codec in avro_fields(json.dumps(schema)).items())


def converted(old: Any, new: Any, value: dict[str, Any], **fields: Any) -> dict[str, Any]:
    convert = transcoder(form_of(snapshot(old)), form_of(snapshot(new)), Fields(**fields))
    data = convert(ByteReader(written(old, value), ""))
    reader = ByteReader(data, "")
    found: dict[str, Any] = avro_reader(json.dumps(new))(reader)
    assert not reader.remaining
    return found


SMALL = st.integers(-(1 << 31), (1 << 31) - 1)
VALUES = st.fixed_dictionaries(
    {
        "n": st.integers(-(1 << 63), (1 << 63) - 1),
        "name": st.none() | st.text(),
        "side": st.sampled_from(["BUY", "SELL"]),
        "other": st.sampled_from(["BUY", "SELL"]),
        "prices": st.lists(st.floats(allow_nan=False), max_size=200),
        "tags": st.dictionaries(st.text(max_size=5), SMALL, max_size=5),
        "id": st.binary(min_size=2, max_size=2),
        "raw": st.binary(max_size=9),
        "ok": st.booleans(),
        "next": st.none(),
    }
)


@given(VALUES, st.none() | VALUES)
def test_what_was_written_is_read_again(value: dict[str, Any], within: dict[str, Any] | None) -> None:
    value = {**value, "next": within}
    reader = ByteReader(written(ORDER, value), "")
    assert avro_reader(json.dumps(ORDER))(reader) == value
    assert not reader.remaining


@pytest.mark.parametrize(
    ("old", "new", "value", "fields", "found"),
    [
        (record(n="long"), record(n="int"), {"n": 7}, {}, {"n": 7}),
        (record(n="int"), record(n="double"), {"n": 7}, {}, {"n": 7.0}),
        (record(a="int", b="int"), record(b="int", a="int"), {"a": 1, "b": 2}, {}, {"b": 2, "a": 1}),
        (record(n="int"), record(total="int"), {"n": 7}, {"sources": {"total": "n"}}, {"total": 7}),
        (record(n="int", x="int"), record(n="int"), {"n": 7, "x": 1}, {"dropped": frozenset({"x"})}, {"n": 7}),
        (record(n="int"), record(n="int", x="string"), {"n": 7}, {"constants": {"x": "-"}}, {"n": 7, "x": "-"}),
        (
            record(n="int"),
            record(n="int", x=["null", "int"]),
            {"n": 7},
            {"constants": {"x": None}},
            {"n": 7, "x": None},
        ),
        (record(n="int"), record(n=["null", "int"]), {"n": 7}, {}, {"n": 7}),
        (record(n=SIDE), record(n={**SIDE, "symbols": ["SELL", "BUY"]}), {"n": "SELL"}, {}, {"n": "SELL"}),
    ],
)
def test_fields_become_others_by_their_names(
    old: Any, new: Any, value: dict[str, Any], fields: dict[str, Any], found: dict[str, Any]
) -> None:
    assert converted(old, new, value, **fields) == found


@pytest.mark.parametrize(
    ("old", "new", "value", "fields"),
    [
        (record(n="long"), record(n="int"), {"n": 1 << 40}, {}),
        (record(n="int"), record(n="string"), {"n": 7}, {}),
        (record(n="double"), record(n="float"), {"n": 0.1}, {}),
        (record(n="int"), record(n=["null", "int", "long"]), {"n": 7}, {}),
        (record(n=["null", "int"]), record(n="int"), {"n": None}, {}),
        (record(n="int"), record(n="int", x="int"), {"n": 7}, {"constants": {"x": None}}),
        (record(n="int"), record(n="int", x="int"), {"n": 7}, {"constants": {"x": True}}),
        (record(n="int"), record(n="int", x="int"), {"n": 7}, {}),
        (record(n="int", x="int"), record(n="int"), {"n": 7, "x": 1}, {}),
        (record(n=SIDE), record(n={**SIDE, "symbols": ["SELL"]}), {"n": "BUY"}, {}),
    ],
)
def test_what_does_not_fit_is_refused(old: Any, new: Any, value: dict[str, Any], fields: dict[str, Any]) -> None:
    with pytest.raises(Unconvertible):
        converted(old, new, value, **fields)


def test_a_field_of_another_name_is_not_the_same_by_its_place() -> None:
    assert form_of(snapshot(record(a="int"))).same != form_of(snapshot(record(b="int"))).same
    with pytest.raises(Unconvertible, match="has no field b"):
        converted(record(a="int"), record(b="int"), {"a": 1})


def test_records_are_known_by_their_fields() -> None:
    form = form_of(snapshot(ORDER))
    assert (form.layout, form.names[:2]) == (Layout.TUPLE, ("n", "name"))


@pytest.mark.parametrize(
    "schema", ['{"type": "record"}', '"nothing"', "[", '{"type": "record", "name": "a", "fields": 1}']
)
def test_what_is_no_schema_is_told(schema: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - JSON's own, too
        avro_fields(schema)
