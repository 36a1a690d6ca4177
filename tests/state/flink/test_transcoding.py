"""Values of one serializer in the bytes of another: the same stays, what fits becomes the other, and the rest is refused."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.forms import Unconvertible, form_of
from compat.state.flink.headers import KIND, MODE, read_keyed_header, read_operator_header
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.transcoding import Convert, Fields, Held, SerializerConversion, in_state, transcoder
from compat.state.flink.values import decoder_of
from tests.state.flink import writer as w

BASE, RUNTIME = w.BASE, w.RUNTIME


def leaf(name: str) -> SerializerSnapshot:
    return SerializerSnapshot(
        f"{BASE}{name}Serializer${name}SerializerSnapshot", 3, serializer=f"{BASE}{name}Serializer"
    )


def composite(serializer: str, *nested: SerializerSnapshot, **details: object) -> SerializerSnapshot:
    return SerializerSnapshot(f"{serializer}Snapshot", 3, nested, serializer, tuple(details.items()))


def tuple_of(*nested: SerializerSnapshot) -> SerializerSnapshot:
    return composite(RUNTIME + "TupleSerializer", *nested, tuple_class="Tuple")


def row_of(*nested: SerializerSnapshot, kind: bool = True) -> SerializerSnapshot:
    return composite(RUNTIME + "RowSerializer", *nested, row_kind=kind)


def pojo(**fields: SerializerSnapshot) -> SerializerSnapshot:
    return composite(RUNTIME + "PojoSerializer", *fields.values(), pojo_class="acme.P", fields=tuple(fields))


def enum(*constants: str) -> SerializerSnapshot:
    return composite(BASE + "EnumSerializer", enum_class="acme.E", constants=constants)


LONG, INT, STRING, DOUBLE, FLOAT = (leaf(name) for name in ("Long", "Int", "String", "Double", "Float"))
BYTE, SHORT, BIG, BOOLEAN = (leaf(name) for name in ("Byte", "Short", "BigInt", "Boolean"))
DATE, INSTANT = leaf("Date"), leaf("Instant")


def text(value: str) -> bytes:
    return w.byte(len(value) + 1) + value.encode()


def converted(old: SerializerSnapshot, new: SerializerSnapshot, data: bytes, fields: Fields = Fields()) -> Any:  # noqa: B008
    """The value that NEW's serializer reads, which takes all that was written."""
    written = transcoder(form_of(old), form_of(new), fields)(ByteReader(data, ""))
    reader = ByteReader(written, "")
    value = decoder_of(new).read(reader)
    assert reader.remaining == 0
    return value


@pytest.mark.parametrize(
    ("old", "data", "new", "value"),
    [
        (INT, w.integer(-7), LONG, -7),
        (LONG, w.long(-7), INT, -7),
        (LONG, w.long(127), BYTE, 127),
        (LONG, w.long(300), SHORT, 300),
        (LONG, w.long(1 << 40), BIG, 1 << 40),
        (LONG, w.long(10), BIG, 10),
        (LONG, w.long(-129), BIG, -129),
        (BIG, w.integer(3), INT, 10),
        (LONG, w.long(3), DOUBLE, 3.0),
        (DOUBLE, struct.pack(">d", 3.0), LONG, 3),
        (FLOAT, struct.pack(">f", 0.5), DOUBLE, 0.5),
        (LONG, w.long(42), STRING, "42"),
        (STRING, text("-42"), INT, -42),
        (enum("A", "B"), w.integer(1), STRING, "B"),
        (STRING, text("B"), enum("B", "A"), "B"),
        (enum("A", "B"), w.integer(0), enum("B", "A"), "A"),
    ],
    ids=lambda one: one.serializer.rpartition(".")[2] if isinstance(one, SerializerSnapshot) else None,
)
def test_a_value_that_fits_becomes_another(
    old: SerializerSnapshot, data: bytes, new: SerializerSnapshot, value: Any
) -> None:
    found = converted(old, new, data)
    assert (found, type(found)) == (value, type(value))


def test_moments_become_one_another() -> None:
    assert converted(DATE, LONG, w.long(1_500)) == 1_500
    instant = converted(DATE, INSTANT, w.long(-1_500))
    assert (instant.seconds, instant.nanos) == (-2, 500_000_000)
    assert converted(INSTANT, LONG, w.long(2) + w.integer(3_000_000)) == 2_003
    assert converted(DATE, INSTANT, w.long(-(1 << 63))) is None


@pytest.mark.parametrize(
    ("old", "data", "new", "told"),
    [
        (LONG, w.long(1 << 31), INT, "2147483648 is not between"),
        (LONG, w.long((1 << 53) + 1), DOUBLE, "is not exact there"),
        (DOUBLE, struct.pack(">d", 0.5), LONG, "0.5 is not a whole number"),
        (DOUBLE, struct.pack(">d", 0.1), FLOAT, "0.1 is not exact there"),
        (DOUBLE, struct.pack(">d", 1.0), STRING, "is not a text"),
        (STRING, text("x"), LONG, "'x' is not a whole number"),
        (STRING, text("C"), enum("A", "B"), "'C' is not a constant of A, B"),
        (STRING, text("1"), DOUBLE, "is not a number"),
        (BOOLEAN, b"\1", LONG, "is not a whole number"),
        (INSTANT, w.long(2) + w.integer(3_000_001), DATE, "is not in whole milliseconds"),
        (STRING, b"\0", LONG, "None is not a whole number"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(
    old: SerializerSnapshot, data: bytes, new: SerializerSnapshot, told: str
) -> None:
    with pytest.raises(Unconvertible, match=told):
        converted(old, new, data)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (LONG, tuple_of(LONG), "Long does not become Tuple"),
        (tuple_of(LONG), LONG, "Tuple does not become Long"),
        (leaf("Char"), STRING, "Char does not become String"),
        (SerializerSnapshot("acme.Own", 1), LONG, "values of acme.Own cannot be read here"),
        (tuple_of(LONG), tuple_of(LONG, LONG), "Tuple has no field f1: say which it was, or give a constant"),
        (tuple_of(LONG, LONG), tuple_of(LONG), "Tuple has no field for f1: name it, or drop it"),
    ],
)
def test_types_that_no_rule_joins_are_refused(old: SerializerSnapshot, new: SerializerSnapshot, told: str) -> None:
    with pytest.raises(Unconvertible, match=told):
        transcoder(form_of(old), form_of(new))


def test_records_become_one_another_field_by_field() -> None:
    old, new = tuple_of(STRING, LONG), pojo(n=INT, name=STRING, note=STRING)
    fields = Fields({"n": "f1", "name": "f0"}, {"note": "new"})
    found = converted(old, new, text("a") + w.long(3), fields)
    assert (found.n, found.name, found.note) == (3, "a", "new")


def test_a_field_of_old_goes_where_it_is_dropped() -> None:
    data = b"\2" + b"\0" + w.long(1) + b"\0" + text("x")
    found = converted(pojo(a=LONG, b=STRING), pojo(a=LONG), data, Fields(dropped=frozenset(["b"])))
    assert found.as_dict() == {"a": 1}


def test_a_field_that_is_null_stays_null_where_there_is_a_place_for_it() -> None:
    data = b"\2" + b"\1" + b"\0" + w.long(5)
    found = converted(pojo(a=LONG, b=LONG), pojo(a=STRING, b=STRING), data)
    assert found.as_dict() == {"a": None, "b": "5"}
    row = converted(pojo(f0=LONG, f1=LONG), row_of(LONG, INT), data)
    assert list(row) == [None, 5]
    with pytest.raises(Unconvertible, match="a field that is null does not go into"):
        converted(pojo(f0=LONG, f1=LONG), tuple_of(LONG, INT), data)


def test_an_object_that_is_null_or_of_a_subclass() -> None:
    assert converted(pojo(a=LONG), pojo(a=INT), b"\1") is None
    with pytest.raises(Unconvertible, match="an object of a subclass"):
        converted(pojo(a=LONG), pojo(a=INT), b"\4")


def test_a_row_of_a_change_is_refused() -> None:
    with pytest.raises(Unconvertible, match="takes back or updates"):
        converted(row_of(LONG), row_of(INT), b"\x80" + w.long(1))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (Fields({"a": "x"}), "has no field x; it has a"),
        (Fields(constants={"x": 1}), "has no field x; it has a"),
        (Fields(dropped=frozenset(["x"])), "has no field x; it has a"),
    ],
)
def test_fields_that_are_not_there_are_told(fields: Fields, told: str) -> None:
    with pytest.raises(Unconvertible, match=told):
        transcoder(form_of(pojo(a=LONG)), form_of(pojo(a=INT)), fields)


def test_lists_and_maps_become_others_part_by_part() -> None:
    lists = [composite(BASE + "ListSerializer", one) for one in (LONG, STRING)]
    assert converted(*lists, w.integer(2) + w.long(1, 2)) == ["1", "2"]
    maps = [composite(BASE + "MapSerializer", STRING, one) for one in (LONG, INT)]
    data = w.integer(2) + text("a") + b"\0" + w.long(1) + text("b") + b"\1"
    assert converted(*maps, data) == {"a": 1, "b": None}


def test_the_values_of_states_have_their_marks() -> None:
    convert = transcoder(form_of(LONG), form_of(INT))
    whole = in_state(Held("LIST"), Held("LIST"), convert)
    assert whole(w.long(1) + b"," + w.long(2)) == w.integer(1) + b"," + w.integer(2)
    of_map = in_state(Held("MAP"), Held("MAP"), convert)
    assert (of_map(b"\0" + w.long(1)), of_map(b"\1")) == (b"\0" + w.integer(1), b"\1")
    assert in_state(Held("VALUE"), Held("VALUE"), convert)(w.long(1)) == w.integer(1)
    assert in_state(Held("VALUE", timed=True), Held("VALUE", timed=True), convert)(w.long(99, 5)) == w.long(
        99
    ) + w.integer(5)


def converter(kind: str, old: bytes, new: bytes, becomes: str | None = None, **more: Any):
    """What writes the values of a state anew whose header has one serializer, and NEW another one, or another kind."""
    header = w.keyed_header(w.state_meta("s", 0, {KIND: kind}, VALUE_SERIALIZER=old))
    (meta,) = read_keyed_header(header, "").states
    return alone(SerializerConversion(new, options={KIND: becomes or kind}, **more).converter(meta, w.integer(2) + old))


def alone(convert: Convert):
    """The same for one value."""
    return lambda value: convert([value])[0]


def ttl(inner: bytes) -> bytes:
    return w.composite(TTL, w.simple("Long"), inner)


TTL = "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot"


@pytest.mark.parametrize(
    ("kind", "old", "new", "data", "written"),
    [
        ("VALUE", w.simple("Long"), w.simple("Int"), w.long(5), w.integer(5)),
        ("REDUCING", w.simple("Int"), w.simple("Long"), w.integer(5), w.long(5)),
        ("VALUE", ttl(w.simple("Long")), ttl(w.simple("Int")), w.long(99, 5), w.long(99) + w.integer(5)),
        (
            "LIST",
            w.composite(w.BASE + "ListSerializerSnapshot", w.simple("Long")),
            w.composite(w.BASE + "ListSerializerSnapshot", w.simple("Int")),
            w.long(1) + b"," + w.long(2),
            w.integer(1) + b"," + w.integer(2),
        ),
        (
            "MAP",
            w.composite(w.BASE + "MapSerializerSnapshot", w.simple("Long"), w.simple("Long")),
            w.composite(w.BASE + "MapSerializerSnapshot", w.simple("Long"), w.simple("Int")),
            b"\0" + w.long(1),
            b"\0" + w.integer(1),
        ),
    ],
)
def test_a_state_is_converted_as_its_header_has_it(
    kind: str, old: bytes, new: bytes, data: bytes, written: bytes
) -> None:
    assert converter(kind, old, new)(data) == written


def lists(inner: bytes) -> bytes:
    return w.composite(w.BASE + "ListSerializerSnapshot", inner)


def maps(inner: bytes) -> bytes:
    return w.composite(w.BASE + "MapSerializerSnapshot", w.simple("String"), inner)


L, I = w.simple("Long"), w.simple("Int")  # noqa: E741
NOW = w.long(77)
TWO = w.long(9) + w.integer(2) + w.long(1, 2)
"""A list of two elements, last used at 9."""


@pytest.mark.parametrize(
    ("kinds", "old", "new", "data", "written"),
    [
        (("VALUE", "REDUCING"), L, L, w.long(5), w.long(5)),
        (("AGGREGATING", "VALUE"), L, I, w.long(5), w.integer(5)),
        (("VALUE", "LIST"), L, lists(I), w.long(5), w.integer(5)),
        (("LIST", "VALUE"), lists(L), I, w.long(5), w.integer(5)),
        (("VALUE", "LIST"), lists(L), lists(I), w.integer(2) + w.long(1, 2), w.integer(1) + b"," + w.integer(2)),
        (("VALUE", "LIST"), lists(L), lists(I), w.integer(0), b""),
        (("LIST", "VALUE"), lists(L), lists(I), w.long(1) + b"," + w.long(2), w.integer(2, 1, 2)),
        (("VALUE", "VALUE"), L, ttl(L), w.long(5), NOW + w.long(5)),
        (("VALUE", "VALUE"), ttl(L), L, w.long(9, 5), w.long(5)),
        (("LIST", "LIST"), lists(L), lists(ttl(L)), w.long(1) + b"," + w.long(2), NOW + w.long(1) + b"," + NOW + w.long(2)),
        (("LIST", "VALUE"), lists(ttl(L)), ttl(lists(L)), w.long(8, 1) + b"," + w.long(9, 2), TWO),
        (("VALUE", "LIST"), ttl(lists(L)), lists(ttl(L)), w.long(9) + w.integer(1) + w.long(1), w.long(9, 1)),
        (("MAP", "MAP"), maps(L), maps(ttl(L)), b"\0" + w.long(5), b"\0" + NOW + w.long(5)),
        (("MAP", "MAP"), maps(L), maps(ttl(L)), b"\1", b"\1"),
    ],
)  # fmt: skip
def test_a_state_of_one_kind_becomes_another(
    kinds: tuple[str, str], old: bytes, new: bytes, data: bytes, written: bytes
) -> None:
    assert converter(kinds[0], old, new, kinds[1], now=77)(data) == written


def map_key(kind: str, old: bytes, new: bytes, data: bytes, becomes: str = "MAP", **more: Any) -> bytes | None:
    header = w.keyed_header(w.state_meta("s", 0, {KIND: kind}, VALUE_SERIALIZER=old))
    (meta,) = read_keyed_header(header, "").states
    convert = SerializerConversion(new, options={KIND: becomes}, **more).map_keys(meta)
    return None if convert is None else convert.convert(ByteReader(data, ""))


def test_a_value_becomes_an_entry_of_a_map_by_the_key_that_is_told() -> None:
    assert map_key("VALUE", L, maps(I), b"", entry="n") == text("n")
    assert converter("VALUE", L, maps(I), "MAP", entry="n")(w.long(5)) == b"\0" + w.integer(5)
    with pytest.raises(Unconvertible, match="is not a text"):
        map_key("VALUE", L, maps(I), b"", entry=True)


def test_keys_of_maps_become_others() -> None:
    of_long = w.composite(w.BASE + "MapSerializerSnapshot", w.simple("Long"), w.simple("Long"))
    assert map_key("MAP", maps(L), of_long, text("7")) == w.long(7)
    assert map_key("MAP", maps(L), maps(I), text("7")) is None
    assert map_key("VALUE", L, I, b"", "VALUE") is None


def test_a_list_of_several_elements_is_no_single_value() -> None:
    convert = converter("LIST", lists(L), I, "VALUE")
    with pytest.raises(Unconvertible, match="a list of 2 elements is no single value"):
        convert(w.long(1) + b"," + w.long(2))


class OwnClasses:
    """Classes that write every value alike."""

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, bytes, str]] = []

    def convert(
        self, old: bytes, new: bytes, kind: str, fields: Fields, values: Sequence[bytes], keys: bytes = b""
    ) -> list[bytes]:
        self.asked.append((old, new, kind))
        return [b"new" for _ in values]

    def hashes(self, serializer: bytes, keys: Sequence[bytes]) -> list[int]:
        return [len(key) for key in keys]


KRYO = w.snapshot(f"{RUNTIME}kryo.KryoSerializerSnapshot", 2, w.utf("acme.P") + w.optional_map() * 3)


def test_what_only_a_class_reads_is_left_to_the_classes() -> None:
    classes = OwnClasses()
    assert converter("LIST", lists(KRYO), lists(L), classes=classes)(b"kryo") == b"new"
    assert classes.asked == [(lists(KRYO), lists(L), "LIST")]
    with pytest.raises(Unconvertible, match="cannot be read here"):
        converter("VALUE", KRYO, L)
    with pytest.raises(Unconvertible, match="cannot be read here"):
        converter("VALUE", KRYO, lists(L), "LIST", classes=classes)


def test_what_no_rule_joins_is_not_left_to_the_classes() -> None:
    """A serializer may write an object of another class without a word."""
    with pytest.raises(Unconvertible, match="List does not become Long"):
        converter("VALUE", lists(L), L, classes=OwnClasses())


def test_a_field_that_only_a_subclass_may_have_is_left_to_the_classes() -> None:
    fields, state = Fields(constants={"more": 1}), w.pojo("acme.P", a=L)
    assert converter("VALUE", state, state, fields=fields, classes=OwnClasses())(b"") == b"new"
    with pytest.raises(Unconvertible, match="has no field more; it has a"):
        converter("VALUE", state, state, fields=fields)


def test_a_value_that_does_not_fit_is_not_left_to_the_classes() -> None:
    with pytest.raises(Unconvertible, match="is not between"):
        converter("VALUE", L, I, classes=OwnClasses())(w.long(1 << 40))


def test_an_object_of_a_subclass_is_left_to_the_classes() -> None:
    old, new = (w.pojo("acme.P", a=value) for value in (L, I))
    assert converter("VALUE", old, new, classes=OwnClasses())(b"\2\0" + w.long(5)) == b"\2\0" + w.integer(5)
    assert converter("VALUE", old, new, classes=OwnClasses())(b"\4" + w.utf("acme.Q") + b"\2\0" + w.long(5)) == b"new"


def of_operator(type: int, *, keys: bytes | None = None, **given: Any):
    serializers = {"VALUE_SERIALIZER": L} | ({} if keys is None else {"KEY_SERIALIZER": keys})
    meta = w.state_meta("s", type, {MODE: "UNION"}, **serializers)
    header = w.operator_header(*([[meta], []] if type == 1 else [[], [meta]]))
    read = read_operator_header(header, "")
    (found,) = (*read.states, *read.broadcast_states)
    return alone(SerializerConversion(I, **given).converter(found, w.integer(2) + L))


def of_broadcast(*, keys: bytes, value: bytes, of_new: bytes | None, classes: OwnClasses):
    header = w.operator_header([], [w.state_meta("s", 2, VALUE_SERIALIZER=value, KEY_SERIALIZER=keys)])
    (found,) = read_operator_header(header, "").broadcast_states
    return alone(SerializerConversion(I, classes=classes, keys=of_new).converter(found, w.integer(2) + value))


def test_a_broadcast_state_that_only_a_class_reads_is_left_to_the_classes_with_its_keys() -> None:
    """They stay as they are: where NEW has others, or does not tell, nothing is written."""
    classes, texts = OwnClasses(), w.simple("String")
    given = {"keys": texts, "value": KRYO, "classes": classes}
    for other in (None, L):
        with pytest.raises(Unconvertible, match="cannot be read here"):
            of_broadcast(of_new=other, **given)
    assert of_broadcast(of_new=texts, **given)(b"kryo") == b"new"
    assert classes.asked == [(KRYO, I, "BROADCAST")]


def test_elements_of_operator_state_are_converted() -> None:
    assert of_operator(1)(w.long(5)) == w.integer(5)
    with pytest.raises(SavepointError, match="1 bytes left over"):
        of_operator(1)(w.long(5) + b"x")


def test_the_values_of_a_broadcast_state_are_converted_and_its_keys_stay() -> None:
    convert = of_operator(2, keys=w.simple("String"))
    assert convert(w.integer(2) + text("a") + w.long(1) + text("b") + w.long(2)) == (
        w.integer(2) + text("a") + w.integer(1) + text("b") + w.integer(2)
    )


def test_a_single_value_becomes_a_field_of_a_record_and_one_again() -> None:
    single, record = Fields(constants={"b": "x"}, single="a"), pojo(a=INT, b=STRING)
    there = transcoder(form_of(LONG), form_of(record), single)(ByteReader(w.long(5), ""))
    assert there == b"\2\0" + w.integer(5) + b"\0" + text("x")
    back = Fields(dropped=frozenset({"b"}), single="a")
    assert transcoder(form_of(record), form_of(LONG), back)(ByteReader(there, "")) == w.long(5)
    with pytest.raises(Unconvertible, match="are both records"):
        transcoder(form_of(record), form_of(record), Fields(single="a"))


def test_a_broadcast_state_becomes_no_list() -> None:
    for type, mode in ((1, "BROADCAST"), (2, "UNION")):
        with pytest.raises(Unconvertible, match="a broadcast state becomes no list"):
            of_operator(type, keys=L, options={MODE: mode})


def test_states_that_no_rule_joins_are_refused() -> None:
    for kinds in (("VALUE", "MAP"), ("MAP", "VALUE"), ("LIST", "MAP")):
        with pytest.raises(Unconvertible, match="entries of a map become no single value"):
            converter(kinds[0], maps(w.simple("Long")), maps(w.simple("Long")), kinds[1])


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.text(alphabet="abc", max_size=9), st.booleans())
def test_there_and_back_gives_the_same_bytes(number: int, name: str, null: bool) -> None:
    old, new = pojo(a=INT, b=STRING), pojo(a=STRING, b=STRING)
    data = b"\2" + (b"\1" if null else b"\0" + w.integer(number)) + b"\0" + text(name)
    there = transcoder(form_of(old), form_of(new))(ByteReader(data, ""))
    assert transcoder(form_of(new), form_of(old))(ByteReader(there, "")) == data
