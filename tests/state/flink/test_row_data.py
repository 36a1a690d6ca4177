"""Rows of SQL in their own bytes: read and written again they are the same, and fields may stand elsewhere."""

from __future__ import annotations

import struct
from contextlib import suppress
from decimal import Context, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink import SavepointError, read_metadata
from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Layout, Unconvertible, form_of
from compat.state.flink.header_parts import TypeNames
from compat.state.flink.headers import KIND, VALUES, StateMeta
from compat.state.flink.keyed_transfer import keyed_source
from compat.state.flink.row_data import Slot, read_row, slot_of, write_row
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.states import HeaderReader
from compat.state.flink.transcoding import Fields, SerializerConversion, transcoder

JAVA = Path(__file__).parents[2] / "golden" / "java" / "2.3.0"
ROW_DATA = "org.apache.flink.table.runtime.typeutils.RowDataSerializer"


def rows_of(*types: str, names: tuple[str, ...] = ()) -> SerializerSnapshot:
    details = (("types", types), *((("fields", names),) if names else ()))
    return SerializerSnapshot(f"{ROW_DATA}$RowDataSerializerSnapshot", 3, (), ROW_DATA, details)


@pytest.mark.parametrize(
    ("type", "slot"),
    [
        ("BIGINT NOT NULL", Slot.VALUE),
        ("DECIMAL(18, 2)", Slot.VALUE),
        ("DECIMAL(19, 2)", Slot.DECIMAL),
        ("TIMESTAMP(3)", Slot.VALUE),
        ("TIMESTAMP_LTZ(3) *ROWTIME*", Slot.VALUE),
        ("TIMESTAMP(6)", Slot.TIMESTAMP),
        ("TIMESTAMP_LTZ(9)", Slot.TIMESTAMP),
        ("TIME(0)", Slot.VALUE),
        ("INTERVAL DAY(3) TO SECOND(6)", Slot.VALUE),
        ("VARCHAR(2147483647)", Slot.BYTES),
        ("VARBINARY(10)", Slot.BYTES),
        ("ARRAY<INT>", Slot.ELSEWHERE),
        ("ROW<`a` INT>", Slot.ELSEWHERE),
        ("RAW('x', '…')", Slot.ELSEWHERE),
    ],
)
def test_types_say_where_their_fields_stand(type: str, slot: Slot) -> None:
    assert slot_of(type) is slot


FIELDS = {
    Slot.VALUE: st.binary(min_size=8, max_size=8),
    Slot.BYTES: st.binary(max_size=20),
    Slot.ELSEWHERE: st.binary(min_size=8, max_size=40),
    Slot.DECIMAL: st.binary(min_size=1, max_size=16),
    Slot.TIMESTAMP: st.binary(min_size=12, max_size=12),
}


@given(st.lists(st.sampled_from(Slot), max_size=70), st.data())
def test_what_was_written_is_read_again(slots: list[Slot], data: st.DataObject) -> None:
    fields = [data.draw(st.none() | FIELDS[slot]) for slot in slots]
    written = write_row(2, fields, slots)
    assert len(written) % 8 == 4, "whole words behind the length"
    assert read_row(ByteReader(written, ""), slots) == (2, fields)


@given(st.binary(max_size=60), st.lists(st.sampled_from(Slot), max_size=5))
def test_damaged_bytes_are_told(data: bytes, slots: list[Slot]) -> None:
    with suppress(SavepointError):
        read_row(ByteReader(data, ""), slots)


@pytest.mark.parametrize("pair", ["q_agg_reordered", "q_dedup_col_added", "q_topn_n", "q_join_left_inner"])
def test_rows_that_flink_wrote_are_the_same_byte_for_byte(pair: str) -> None:
    savepoint, seen = read_metadata(JAVA / pair / "savepoint"), 0
    headers = HeaderReader(savepoint)
    for operator in savepoint.operators:
        for subtask in operator.subtasks:
            source = keyed_source(headers, operator, subtask, TypeNames(), {})
            for group in () if source is None else source.groups.numbers:
                assert source is not None
                for entry in source.groups.entries(group):
                    serializer = source.parts.header.key_serializer
                    assert serializer is not None
                    slots = [slot_of(part.called) for part in form_of(serializer).parts]
                    key = ByteReader(entry.key, "", start=1)
                    begin = key.position
                    assert write_row(*read_row(key, slots), slots) == entry.key[begin : key.position]
                    seen += 1
    assert seen


def converted(old: SerializerSnapshot, new: SerializerSnapshot, row: bytes, fields: Fields = Fields()) -> bytes:  # noqa: B008
    return transcoder(form_of(old), form_of(new), fields)(ByteReader(row, ""))


def long(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def test_fields_stand_where_the_new_row_has_them() -> None:
    old, new = rows_of("BIGINT", "VARCHAR(9)"), rows_of("VARCHAR(9)", "BIGINT NOT NULL", "BIGINT")
    row = write_row(1, [long(-5), b"a long text"], [Slot.VALUE, Slot.BYTES])
    fields = Fields({"f0": "f1", "f1": "f0"}, {"f2": None})
    found = converted(old, new, row, fields)
    assert read_row(ByteReader(found, ""), [Slot.BYTES, Slot.VALUE, Slot.VALUE]) == (
        1,
        [b"a long text", long(-5), None],
    )
    found = converted(old, new, row, Fields({"f0": "f1", "f1": "f0"}, {"f2": 7}))
    assert read_row(ByteReader(found, ""), [Slot.BYTES, Slot.VALUE, Slot.VALUE])[1][2] == long(7)


def test_whole_numbers_become_wider_and_no_other_ones() -> None:
    row = write_row(0, [(-5 & 0xFFFFFFFF).to_bytes(8, "little")], [Slot.VALUE])
    assert read_row(ByteReader(converted(rows_of("INT"), rows_of("BIGINT"), row), ""), [Slot.VALUE])[1] == [long(-5)]
    wide = write_row(0, [long(1 << 40)], [Slot.VALUE])
    with pytest.raises(Unconvertible, match="is not between"):
        converted(rows_of("BIGINT"), rows_of("INT"), wide)


@pytest.mark.parametrize(
    ("old", "new", "fields", "told"),
    [
        (("BIGINT",), ("BOOLEAN",), Fields(), "BIGINT does not become BOOLEAN"),
        (("BIGINT", "BIGINT"), ("BIGINT",), Fields(), "has no field for f1"),
        (("BIGINT",), ("BIGINT", "BIGINT"), Fields(), "has no field f1"),
        (("BIGINT",), ("BIGINT", "DATE"), Fields(constants={"f1": 0}), "has no constants"),
        (("BIGINT",), ("BIGINT", "DECIMAL(4, 2)"), Fields(constants={"f1": 100}), r"is not a DECIMAL\(4, 2\)"),
        (("BIGINT",), ("BIGINT", "DECIMAL(4, 2)"), Fields(constants={"f1": "0.001"}), r"is not a DECIMAL\(4, 2\)"),
    ],
)
def test_rows_that_no_rule_joins_are_refused(
    old: tuple[str, ...], new: tuple[str, ...], fields: Fields, told: str
) -> None:
    with pytest.raises(Unconvertible, match=told):
        transcoder(form_of(rows_of(*old)), form_of(rows_of(*new)), fields)


def test_fields_have_the_names_of_the_header_where_it_has_some() -> None:
    form = form_of(rows_of("BIGINT", "INT", names=("id", "v")))
    assert (form.layout, form.names) == (Layout.ROW_DATA, ("id", "v"))
    assert form_of(rows_of("BIGINT", "INT")).names == ("f0", "f1")


BASE = "org.apache.flink.api.common.typeutils.base."
INT = SerializerSnapshot(f"{BASE}IntSerializer$IntSerializerSnapshot", 3, serializer=f"{BASE}IntSerializer")
LONG = SerializerSnapshot(f"{BASE}LongSerializer$LongSerializerSnapshot", 3, serializer=f"{BASE}LongSerializer")


def composite(name: str, *nested: SerializerSnapshot) -> SerializerSnapshot:
    return SerializerSnapshot(f"{name}Snapshot", 3, nested, name)


def lists_of(inner: SerializerSnapshot) -> SerializerSnapshot:
    return composite(f"{BASE}ListSerializer", inner)


def tuples_of(*inner: SerializerSnapshot) -> SerializerSnapshot:
    return composite("org.apache.flink.api.java.typeutils.runtime.TupleSerializer", *inner)


def maps_of(key: SerializerSnapshot, value: SerializerSnapshot) -> SerializerSnapshot:
    return composite(f"{BASE}MapSerializer", key, value)


def two_longs(one: int, two: int) -> bytes:
    return write_row(0, [long(one), long(two)], [Slot.VALUE] * 2)


def test_rows_in_lists_and_tuples_are_read_past_and_written_anew() -> None:
    """What an interval join and a top-N keep: lists of rows, or of rows with something of the operator's own."""
    rows = rows_of("BIGINT", "BIGINT")
    flagged = lists_of(tuples_of(rows, INT))
    data = b"".join(
        (struct.pack(">i", 2), two_longs(1, 2), struct.pack(">i", 7), two_longs(3, 4), struct.pack(">i", 8))
    )
    reader = ByteReader(data, "")
    form_of(flagged).read(reader)
    assert not reader.remaining
    swapped = transcoder(form_of(flagged), form_of(flagged), Fields({"f0": "f1", "f1": "f0"}))(ByteReader(data, ""))
    assert swapped == data.replace(two_longs(1, 2), two_longs(2, 1)).replace(two_longs(3, 4), two_longs(4, 3))
    held = maps_of(LONG, flagged)
    whole = struct.pack(">i", 1) + long(5)[::-1] + b"\0" + data
    reader = ByteReader(whole, "")
    form_of(held).read(reader)
    assert not reader.remaining


def conversion(new: SerializerSnapshot, **fields: object) -> SerializerConversion:
    """A conversion to a serializer that is not read from bytes."""

    class Known(SerializerConversion, frozen=True):
        @property
        def _new(self) -> SerializerSnapshot:
            return new

    return Known(b"", Fields(**fields), {KIND: "MAP"})  # type: ignore[arg-type]


def meta(old: SerializerSnapshot) -> StateMeta:
    return StateMeta("left-records", "KEY_VALUE", ((KIND, "MAP"),), ((VALUES, old),))


SWAP = {"sources": {"f0": "f1", "f1": "f0"}}


def test_the_fields_are_those_of_the_keys_where_only_these_are_rows() -> None:
    """A join keeps its rows as the keys of a map, also where another order of columns is of the same types."""
    old = maps_of(rows_of("BIGINT", "BIGINT"), INT)
    swapping = conversion(old, **SWAP)
    keys = swapping.map_keys(meta(old))
    assert keys is not None
    assert keys.convert(ByteReader(two_longs(1, 2), "")) == two_longs(2, 1)
    (count,) = swapping.converter(meta(old), bytes(4))([b"\0" + struct.pack(">i", 3)])
    assert (count, swapping.places) == (b"\0" + struct.pack(">i", 3), (1, 0))


def test_the_fields_are_those_of_the_values_where_these_have_rows() -> None:
    """A top-N has the rows of its order as keys: these stay."""
    old = maps_of(rows_of("BIGINT"), lists_of(rows_of("BIGINT", "BIGINT")))
    swapping = conversion(old, **SWAP)
    assert swapping.map_keys(meta(old)) is None
    data = b"\0" + struct.pack(">i", 1) + two_longs(1, 2)
    assert swapping.converter(meta(old), bytes(4))([data]) == [b"\0" + struct.pack(">i", 1) + two_longs(2, 1)]
    assert swapping.places == (1, 0)


@pytest.mark.parametrize(
    ("counts", "one", "two", "both"),
    [
        (INT, (2,), (3,), (5,)),
        (tuples_of(INT, INT), (2, 4), (3, 4), (5, 4)),
    ],
)
def test_rows_of_a_join_that_become_equal_are_counted_together(
    counts: SerializerSnapshot, one: tuple[int, ...], two: tuple[int, ...], both: tuple[int, ...]
) -> None:
    old = maps_of(rows_of("BIGINT", "BIGINT"), counts)
    keys = conversion(maps_of(rows_of("BIGINT"), counts), dropped=frozenset({"f1"})).map_keys(meta(old))
    assert keys is not None
    assert keys.merge is not None

    def value(numbers: tuple[int, ...]) -> bytes:
        return b"\0" + struct.pack(f">{len(numbers)}i", *numbers)

    assert keys.merge(value(one), value(two)) == value(both)


def test_other_keys_that_become_equal_have_no_value_together() -> None:
    old = maps_of(rows_of("BIGINT", "BIGINT"), LONG)
    keys = conversion(maps_of(rows_of("BIGINT"), LONG), dropped=frozenset({"f1"})).map_keys(meta(old))
    assert keys is not None
    assert keys.merge is None


@given(st.integers(1, 38), st.data())
def test_decimals_are_read_as_they_were_written(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, precision))
    number = Decimal(data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))).scaleb(-scale, Context(prec=60))
    form = form_of(rows_of(f"DECIMAL({precision}, {scale})")).parts[0]
    assert form.write is not None
    written = form.write(number)
    assert len(written) == 8 or precision > 18
    assert form.read(ByteReader(written, "")) == number


@pytest.mark.parametrize(("type", "value"), [("FLOAT", 1.5), ("DOUBLE", 0), ("DOUBLE", -0.1)])
def test_floating_numbers_stand_in_their_slot(type: str, value: float) -> None:
    form = form_of(rows_of(type)).parts[0]
    assert form.write is not None
    written = form.write(value)
    assert (len(written), form.read(ByteReader(written, ""))) == (8, value)


@pytest.mark.parametrize("value", [True, "x", float("nan"), float("inf"), "1e400"])
def test_what_is_no_number_is_no_decimal(value: object) -> None:
    form = form_of(rows_of("DECIMAL(38, 2)")).parts[0]
    assert form.write is not None
    with pytest.raises(Unconvertible):
        form.write(value)


def test_a_constant_beside_a_field_stands_in_the_place_of_a_null() -> None:
    old, new = rows_of("BIGINT", "BIGINT"), rows_of("BIGINT NOT NULL", "BIGINT")
    fields = Fields({"f0": "f1", "f1": "f0"}, {"f0": 0})
    for value, written in ((None, long(0)), (long(-5), long(-5))):
        row = write_row(0, [None, value], [Slot.VALUE] * 2)
        found = converted(old, new, row, fields)
        assert read_row(ByteReader(found, ""), [Slot.VALUE] * 2) == (0, [written, None])
    assert (fields.filled, fields.of(("f0", "f1", "f2"))) == ({"f0"}, {"f0": "f1", "f1": "f0", "f2": "f2"})


def test_only_rows_of_sql_are_filled() -> None:
    tuples = SerializerSnapshot("T", 1, (LONG,), "org.apache.flink.api.java.typeutils.runtime.TupleSerializer")
    with pytest.raises(Unconvertible, match="f0 has a constant and a field"):
        transcoder(form_of(tuples), form_of(tuples), Fields({"f0": "f0"}, {"f0": 0}))


LONG = SerializerSnapshot("L", 3, (), "org.apache.flink.api.common.typeutils.base.LongSerializer")
INT = SerializerSnapshot("I", 3, (), "org.apache.flink.api.common.typeutils.base.IntSerializer")


def counted(part: SerializerSnapshot) -> SerializerSnapshot:
    """Something with how many partners it found, as an outer join has it."""
    return SerializerSnapshot("T", 1, (part, INT), "org.apache.flink.api.java.typeutils.runtime.TupleSerializer")


def test_a_number_behind_a_row_goes_and_the_row_stays_as_it_is() -> None:
    rows = rows_of("BIGINT", "VARCHAR(9)")
    row = write_row(0, [long(7), b"seven"], [Slot.VALUE, Slot.BYTES])
    fields = Fields(dropped=frozenset({"f1"}), single="f0")
    assert converted(counted(rows), rows, row + struct.pack(">i", 3), fields) == row
    assert converted(counted(INT), INT, struct.pack(">ii", 2, 3), fields) == struct.pack(">i", 2)


def test_two_records_of_fields_need_no_single_one() -> None:
    with pytest.raises(Unconvertible, match="are both records"):
        transcoder(form_of(counted(INT)), form_of(counted(LONG)), Fields(single="f0"))


def test_arrays_and_maps_of_sql_are_taken_as_they_are() -> None:
    arrays = SerializerSnapshot("A", 3, (), f"{TABLE}ArrayDataSerializer", (("types", ("BIGINT",)),))
    maps = SerializerSnapshot("M", 3, (), f"{TABLE}MapDataSerializer", (("types", ("INT", "BIGINT")),))
    data = struct.pack(">i", 5) + b"bytes"
    assert (form_of(arrays).called, form_of(maps).called) == ("ARRAY<BIGINT>", "MAP<INT, BIGINT>")
    assert converted(arrays, arrays, data) == data
    with pytest.raises(Unconvertible, match="does not become"):
        transcoder(form_of(arrays), form_of(maps))


TABLE = "org.apache.flink.table.runtime.typeutils."
