"""Values that Flink's own serializers wrote, read by their snapshots; see `tests/golden/flink_values`."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest

from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.snapshots import SerializerSnapshot, read_snapshot
from compat.state.flink.values import VARIABLE, Undecodable, decoder_of
from compat.state.rows import Row, RowKind, make_row
from compat.state.time import Instant

LINES = (Path(__file__).parents[2] / "golden" / "flink_values" / "values.jsonl").read_text().splitlines()
RECORDED = {line["label"]: line for line in map(json.loads, LINES)}

BIG = -123456789012345678901234567890
NAMES = ("name", "age", "total")


def changed(kind, *values):
    return make_row(("f0", "f1", "f2"), kind.value, list(values))


def person(**fields):
    """A POJO's fields in the order of their names, as its serializer has them."""
    return Row(**dict(sorted(fields.items())))


ORDER = {
    "id": 5, "count": -2, "name": None, "tags": [], "prices": {}, "kind": "OLD", "hash": b"\x01\x02", "next": None,
}  # fmt: skip
ALICE = person(name="Alice", age=11, marks=[1, 2], colour="RED")
EXPECTED = {
    "boolean": [True, False],
    "byte": [-5, 127],
    "short": [-3000, 3],
    "int": [-5, 2**31 - 1],
    "long": [-5, 2**63 - 1],
    "float": [1.5, -0.25],
    "double": [1.1, -1e300],
    "char": ["a", "é"],
    "string": ["", "plain", "é\0😀", "x" * 300, None],
    "big_int": [BIG, 0, 1, 10, 2, None],
    "big_dec": [Decimal("-1234.5600"), Decimal(0), Decimal(1), Decimal(10), Decimal("1E+3"), None],
    "date": [datetime(2023, 11, 14, 22, 13, 20, 123000), None],
    "sql_date": [date(2023, 11, 15), None],
    "sql_time": [time(1, 2, 3), None],
    "sql_timestamp": [datetime(2023, 11, 14, 22, 13, 20, 123456), datetime(1969, 12, 31, 23, 59, 59, 999000), None],
    "local_date": [date(2024, 2, 29), None],
    "local_time": [time(23, 59, 58, 123456), None],
    "local_date_time": [datetime(2024, 2, 29, 1, 2, 3, 4), None],
    "instant": [Instant(1700000000, 5), None],
    "void": [None],
    "bytes": [b"\x01\x02\xff", b""],
    "longs": [[1, -2]],
    "booleans": [[True, False]],
    "chars": [["a", "b"]],
    "doubles": [[0.5]],
    "strings": [["a", None, "é"]],
    "list": [["a", "b"], []],
    "map": [{"a": 1, "b": None}],
    "tuple": [(5, "x")],
    "tuple_of_numbers": [(5, 6)],
    "objects": [["a", None]],
    "row": [
        changed(RowKind.INSERT, "a", 1, 2),
        changed(RowKind.UPDATE_AFTER, "a", None, 3),
        changed(RowKind.DELETE, None, 2, None),
    ],
    "wide_row": [make_row(tuple(f"f{place}" for place in range(9)), 0, [0, None, 2, 3, 4, 5, 6, None, 8])],
    "nullable": [5, None],
    "nullable_padded": [5, None],
    "enum": ["GREEN", "BLUE"],
    "pojo": [ALICE, person(name=None, age=0, marks=None, colour=None), None],
    "pojo_of_subclass": [person(name="Bob", age=12, marks=None, colour=None, number=77), ALICE],
    "avro": [ORDER, {**ORDER, "name": "é", "tags": ["a", "b"], "prices": {"x": 0.5}, "next": ORDER}],
    "avro_list": [{"n": list(range(300))}],
}


def reader(hexadecimal):
    return ByteReader(bytes.fromhex(hexadecimal), "recorded")


@pytest.mark.parametrize("label", RECORDED)
def test_values_are_those_that_were_written(label):
    line = RECORDED[label]
    decoder = decoder_of(read_snapshot(reader(line["snapshot"])))
    assert decoder.length == max(line["length"], VARIABLE)
    found = []
    for value in line["values"]:
        source = reader(value)
        found.append(decoder.read(source))
        assert source.remaining == 0
    assert found == EXPECTED[label]
    assert [type(value) for value in found] == [type(value) for value in EXPECTED[label]]


def test_everything_recorded_is_expected():
    assert RECORDED.keys() == EXPECTED.keys()


@pytest.mark.parametrize("label", RECORDED)
def test_values_that_are_cut_off_are_refused_or_shorter(label):
    line = RECORDED[label]
    decoder = decoder_of(read_snapshot(reader(line["snapshot"])))
    longest = max(line["values"], key=len)[:400]
    for end in range(0, len(longest) - 2, 2):
        source = reader(longest[:end])
        with pytest.raises(SavepointError):
            decoder.read(source)


def test_what_only_a_class_of_the_program_reads_has_no_decoder():
    kryo = SerializerSnapshot("K", 2, serializer="org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializer")
    with pytest.raises(Undecodable, match="KryoSerializer"):
        decoder_of(kryo)


def test_an_object_of_a_class_that_is_not_recorded_is_named():
    line = RECORDED["pojo_of_subclass"]
    snapshot = read_snapshot(reader(line["snapshot"]))
    (name, _), *_ = snapshot.subclasses
    bare = SerializerSnapshot(
        snapshot.class_name, 2, snapshot.nested, snapshot.serializer, snapshot.details, complete=True
    )
    with pytest.raises(Undecodable, match=name.replace("$", r"\$")):
        decoder_of(bare).read(reader(line["values"][0]))
