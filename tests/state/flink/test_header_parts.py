"""The parts of headers: other names of states, classes and fields, other serializers, and not one other byte."""

from __future__ import annotations

import pytest

from compat.state.flink import NotWritten
from compat.state.flink.header_parts import (
    Field,
    StateForm,
    TypeNames,
    keyed_header,
    keyed_parts,
    operator_header,
    operator_parts,
)
from compat.state.flink.headers import KIND, read_keyed_header, read_operator_header
from compat.state.flink.snapshots import in_header
from tests.state.flink import writer as w

LONG = w.simple("Long")
NOTHING = TypeNames()


def order(subclass: str | None = None, **fields: bytes) -> bytes:
    """The snapshot of a POJO `Order`, with a subclass that has no number."""
    others = [] if subclass is None else [(subclass, w.utf(subclass), w.pojo(subclass, **fields))]
    whole = w.pojo("Order", **fields)
    return whole[: -len(w.optional_map())] + w.optional_map(*others)


def test_the_parts_make_the_header_again() -> None:
    data = w.keyed_header(w.state_meta("a", VALUE_SERIALIZER=LONG), w.state_meta("b", VALUE_SERIALIZER=order(id=LONG)))
    parts = keyed_parts(data, "", NOTHING, {})
    assert keyed_header(parts.header.version, parts.key_serializer, parts.states.items()) == data
    assert list(parts.states) == ["a", "b"]
    assert parts.met == frozenset()


def test_the_parts_of_operator_state_make_its_header_again() -> None:
    lists, broadcast = [w.state_meta("l", 1, VALUE_SERIALIZER=LONG)], [w.state_meta("b", 2, VALUE_SERIALIZER=LONG)]
    data = w.operator_header(lists, broadcast)
    parts = operator_parts(data, "", NOTHING, {})
    named = list(parts.states.items())
    assert operator_header(parts.header.version, parts.header.compressed, named[:1], named[1:]) == data
    read = read_operator_header(data, "")
    assert [meta.name for meta in (*read.states, *read.broadcast_states)] == ["l", "b"]


def test_names_of_types_are_others_within_the_frames_that_hold_them() -> None:
    data = w.keyed_header(w.state_meta("s", VALUE_SERIALIZER=order(id=LONG, inner=order(id=LONG))))
    types = TypeNames({"Order": "acme.sales.Order"}, {Field("Order", "id"): "number"})
    parts = keyed_parts(data, "", types, {})
    assert parts.met == {"Order", Field("Order", "id")}
    written = keyed_header(parts.header.version, parts.key_serializer, parts.states.items())
    (state,) = read_keyed_header(written, "").states
    snapshot = state.serializer("VALUE_SERIALIZER")
    assert snapshot is not None
    assert dict(snapshot.details) == {"pojo_class": "acme.sales.Order", "fields": ("number", "inner")}
    assert dict(snapshot.nested[1].details) == {"pojo_class": "acme.sales.Order", "fields": ("number", "inner")[:1]}
    back = TypeNames({"acme.sales.Order": "Order"}, {Field("acme.sales.Order", "number"): "id"})
    again = keyed_parts(written, "", back, {})
    assert keyed_header(again.header.version, again.key_serializer, again.states.items()) == data


def test_a_class_that_values_name_keeps_its_name() -> None:
    data = w.keyed_header(w.state_meta("s", VALUE_SERIALIZER=order("Express", id=LONG)))
    assert keyed_parts(data, "", TypeNames({"Order": "Sale"}), {}).met == {"Order"}
    with pytest.raises(NotWritten, match="its objects stand in states of a superclass"):
        keyed_parts(data, "", TypeNames({"Express": "Fast"}), {})


def test_a_state_has_another_serializer_of_its_values_and_another_kind() -> None:
    data = w.keyed_header(
        w.state_meta("s", 0, {KIND: "VALUE", "other": "VALUE"}, VALUE_SERIALIZER=LONG, NAMESPACE_SERIALIZER=LONG),
        w.state_meta("t", 0, {KIND: "VALUE"}, VALUE_SERIALIZER=LONG),
    )
    parts = keyed_parts(data, "", NOTHING, {"s": StateForm(in_header(w.simple("Int")), {KIND: "LIST"})})
    written = keyed_header(parts.header.version, parts.key_serializer, parts.states.items())
    read = {
        meta.name: [str(one.serializer) for _, one in meta.serializers]
        for meta in read_keyed_header(written, "").states
    }
    assert {name: [one.rpartition(".")[2] for one in found] for name, found in read.items()} == {
        "s": ["IntSerializer", "LongSerializer"],
        "t": ["LongSerializer"],
    }
    options = {meta.name: dict(meta.options) for meta in read_keyed_header(written, "").states}
    assert options == {"s": {KIND: "LIST", "other": "VALUE"}, "t": {KIND: "VALUE"}}


def test_a_header_that_cannot_be_read_to_its_end_is_refused() -> None:
    data = w.keyed_header(w.state_meta("s", VALUE_SERIALIZER=w.snapshot("acme.Own", 1)), w.state_meta("t"))
    with pytest.raises(NotWritten, match="whose header cannot be read to its end"):
        keyed_parts(data, "", NOTHING, {})
