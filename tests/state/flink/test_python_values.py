"""Values that PyFlink's own coders wrote, read by declared types; see `tests/golden/flink_values/coders.py`."""

from __future__ import annotations

import importlib.util
import json
import pickle
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest

from compat.state.flink import SavepointError
from compat.state.flink.python_values import as_declared, coder_of, decoded, decoded_all
from compat.state.flink.values import Undecodable
from compat.state.rows import Row, RowKind, make_row
from compat.state.time import Instant
from compat.state.types import GenericRecordAvroTypeInfo, OpaqueTypeInfo, Types

FOLDER = Path(__file__).parents[2] / "golden" / "flink_values"
NAMES = {
    "Types": Types, "Row": Row, "Instant": Instant, "Decimal": Decimal, "date": date, "datetime": datetime, "time": time,
    "GenericRecordAvroTypeInfo": GenericRecordAvroTypeInfo,
}  # fmt: skip


def given():
    spec = importlib.util.spec_from_file_location("coders", FOLDER / "coders.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.VALUES


VALUES = given()
RECORDED = {
    line["type"]: line["values"] for line in map(json.loads, (FOLDER / "coders.jsonl").read_text().splitlines())
}


def named(type, value):
    """Rows come back with the names of their type."""
    if isinstance(value, Row) and not hasattr(value, "name"):
        return make_row(type.field_names, 0, list(value))
    return value


@pytest.mark.parametrize("spelled", VALUES)
def test_values_are_those_that_were_written(spelled):
    type = eval(spelled, NAMES)
    read = coder_of(type, pickle.loads)
    expected = [named(type, eval(value, NAMES)) for value in VALUES[spelled]]
    written = [bytes.fromhex(value) for value in RECORDED[spelled]]
    assert [decoded(read, data) for data in written] == expected
    assert decoded_all(read, [b"".join(written), written[0]]) == [*expected, expected[0]]


@pytest.mark.parametrize("spelled", VALUES)
def test_bytes_of_another_length_are_refused(spelled):
    read = coder_of(eval(spelled, NAMES), pickle.loads)
    data = bytes.fromhex(RECORDED[spelled][0])
    for wrong in (data[:-1], data + b"\0"):
        with pytest.raises(SavepointError):
            decoded(read, wrong)


@pytest.mark.parametrize(
    ("wrote", "reads"),
    [
        ("Types.LONG()", "Types.INT()"),
        ("Types.STRING()", "Types.LONG()"),
        ("Types.LONG()", "Types.STRING()"),
        ("Types.PICKLED_BYTE_ARRAY()", "Types.DOUBLE()"),
        ("Types.DOUBLE()", "Types.BIG_DEC()"),
        ("Types.BYTE()", "Types.BOOLEAN()"),
    ],
)
def test_values_of_another_type_are_refused(wrote, reads):
    read = coder_of(eval(reads, NAMES), pickle.loads)
    with pytest.raises(SavepointError):
        decoded(read, bytes.fromhex(RECORDED[wrote][0]))


def test_avro_with_arrays_is_refused_as_pyflink_does_not_read_it_back():
    schema = '{"type": "record", "name": "R", "fields": [{"name": "l", "type": {"type": "array", "items": "int"}}]}'
    with pytest.raises(Undecodable, match="arrays"):
        coder_of(GenericRecordAvroTypeInfo(schema), pickle.loads)


def test_a_type_without_a_coder_is_named():
    with pytest.raises(Undecodable, match="Thing"):
        coder_of(OpaqueTypeInfo("Thing"), pickle.loads)


def test_what_java_wrote_becomes_what_the_program_declares():
    row = Types.ROW_NAMED(["name", "any"], [Types.STRING(), Types.PICKLED_BYTE_ARRAY()])
    nested = Types.MAP(Types.STRING(), Types.LIST(Types.TUPLE([row, Types.LONG()])))
    found = make_row(("f0", "f1"), RowKind.DELETE.value, ["a", pickle.dumps({1})])
    made = as_declared(nested, pickle.loads)({"k": [(found, 5), None], "none": None})
    expected = make_row(("name", "any"), RowKind.DELETE.value, ["a", {1}])
    assert made == {"k": [(expected, 5), None], "none": None}
