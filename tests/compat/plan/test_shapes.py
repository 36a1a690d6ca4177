"""The serializers that Flink records are those that it would make of the type again."""

from __future__ import annotations

import pytest

from compat.plan.shapes import Shape, of_snapshot, of_type
from compat.state.flink import SerializerSnapshot
from compat.state.types import Types

BASE = "org.apache.flink.api.common.typeutils.base."
RUNTIME = "org.apache.flink.api.java.typeutils.runtime."


def snapshot(serializer, *nested, **details):
    return SerializerSnapshot("any", 3, nested, serializer, tuple(details.items()))


LONG, STRING = snapshot(BASE + "LongSerializer"), snapshot(BASE + "StringSerializer")
LONGS = snapshot(BASE + "ListSerializer", LONG)
BYTES = snapshot(BASE + "array.BytePrimitiveArraySerializer")
SAME = [
    (Types.LONG(), LONG),
    (Types.STRING(), STRING),
    (Types.INT(), snapshot(BASE + "IntSerializer")),
    (Types.CHAR(), snapshot(BASE + "CharSerializer")),
    (Types.BIG_DEC(), snapshot(BASE + "BigDecSerializer")),
    (Types.BIG_INT(), snapshot(BASE + "BigIntSerializer")),
    (Types.INSTANT(), snapshot(BASE + "InstantSerializer")),
    (Types.SQL_TIMESTAMP(), snapshot(BASE + "SqlTimestampSerializer")),
    (Types.PICKLED_BYTE_ARRAY(), BYTES),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), BYTES),
    (Types.ROW([Types.LONG(), Types.STRING()]), snapshot(RUNTIME + "RowSerializer", LONG, STRING)),
    (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]), snapshot(RUNTIME + "RowSerializer", LONG, STRING)),
    (Types.TUPLE([Types.LONG(), Types.STRING()]), snapshot(RUNTIME + "TupleSerializer", LONG, STRING)),
    (Types.LIST(Types.LONG()), LONGS),
    (Types.MAP(Types.STRING(), Types.LIST(Types.LONG())), snapshot(BASE + "MapSerializer", STRING, LONGS)),
    (Types.BASIC_ARRAY(Types.LONG()), snapshot(BASE + "GenericArraySerializer", LONG)),
    (Types.BASIC_ARRAY(Types.STRING()), snapshot(BASE + "array.StringArraySerializer")),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "recorded"), SAME, ids=[str(declared) for declared, _ in SAME])
def test_a_type_and_its_serializer_have_one_shape(declared, recorded):
    assert of_type(str(declared)) == of_snapshot(recorded) is not None


@pytest.mark.parametrize(("declared", "recorded"), SAME[10:15], ids=[str(declared) for declared, _ in SAME[10:15]])
def test_a_shape_reads_as_the_type_does(declared, recorded):
    assert of_type(str(of_snapshot(recorded))) == of_type(str(declared))


def test_other_types_have_other_shapes():
    shapes = [of_type(str(declared)) for declared, _ in SAME if declared.kind not in ("PRIMITIVE_ARRAY", "ROW")]
    assert len(set(shapes)) == len(shapes)


@pytest.mark.parametrize(
    "text", ["", "Nonsense", "Row(", "Map<Long", "Map<Long, ", "Row(f0 Long)", "com.acme.Order", "List<Long>>", "<"]
)
def test_what_is_no_known_type_has_no_shape(text):
    assert of_type(text) is None


def test_deep_nesting_ends():
    assert of_type("List<" * 5000 + "Long" + ">" * 5000) is None


def test_a_users_class_keeps_its_name():
    assert of_snapshot(snapshot("com.acme.Fancy")) == Shape("com.acme.Fancy")
    assert of_snapshot(snapshot(RUNTIME + "PojoSerializer", LONG, pojo_class="com.acme.Order")) == Shape(
        "com.acme.Order"
    )


def test_what_was_not_read_to_its_end_has_no_shape():
    unknown = SerializerSnapshot("com.acme.Odd", 1, unknown="a class whose layout is not known", complete=False)
    assert of_snapshot(unknown) is None
    assert of_snapshot(SerializerSnapshot("any", 3, (unknown,), BASE + "ListSerializer", complete=False)) is None
    assert of_snapshot(None) is None
