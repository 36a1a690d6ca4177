"""Rows of SQL in their own bytes: read and written again they are the same, and fields may stand elsewhere."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.flink import SavepointError, read_metadata
from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Layout, Unconvertible, form_of
from compat.state.flink.header_parts import TypeNames
from compat.state.flink.keyed_transfer import keyed_source
from compat.state.flink.row_data import Slot, read_row, slot_of, write_row
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.states import HeaderReader
from compat.state.flink.transcoding import Fields, transcoder

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
        (("BIGINT",), ("DOUBLE",), Fields(), "BIGINT does not become DOUBLE"),
        (("BIGINT", "BIGINT"), ("BIGINT",), Fields(), "has no field for f1"),
        (("BIGINT",), ("BIGINT", "BIGINT"), Fields(), "has no field f1"),
        (("BIGINT",), ("BIGINT", "DECIMAL(38, 2)"), Fields(constants={"f1": 0}), "has no constants"),
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
