"""Formats: records to bytes and back, and what is set on readers and writers."""

import json
import pickle
from datetime import UTC, datetime
from io import BytesIO

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.datastream.common.serialization import (
    ByteArraySchema,
    Encoder,
    RowFieldExtractorSchema,
    SimpleStringSchema,
)
from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.file_system import FileSource
from compat.compiler.datastream.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from compat.compiler.datastream.formats.csv import (
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from compat.compiler.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from compat.compiler.datastream.formats.orc import OrcBulkWriters
from compat.compiler.datastream.formats.parquet import (
    AvroParquetReaders,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.state.types import Types

ORDER = Types.ROW_NAMED(
    ["id", "name", "price", "day", "tags", "buyer"],
    [
        Types.LONG(),
        Types.STRING(),
        Types.DOUBLE(),
        Types.SQL_DATE(),
        Types.LIST(Types.STRING()),
        Types.ROW_NAMED(["name"], [Types.STRING()]),
    ],
)
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "name", "type": ["null", "string"]},
            {"name": "tags", "type": {"type": "array", "items": "long"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        ],
    }
)


@pytest.mark.parametrize(
    ("schema", "value", "data"),
    [
        (SimpleStringSchema(), "grüß", "grüß".encode()),
        (SimpleStringSchema("UTF-16-LE"), "a", b"a\0"),
        (ByteArraySchema(), b"\0\1", b"\0\1"),
    ],
)
def test_simple_schemas(schema, value, data) -> None:
    assert schema.serialize(value) == data
    assert schema.deserialize(data) == value


def test_one_field_of_a_row() -> None:
    assert RowFieldExtractorSchema(1).serialize(Row("a", b"b")) == b"b"
    with pytest.raises(TypeError, match="must hold bytes, not str"):
        RowFieldExtractorSchema(0).serialize(Row("a", b"b"))
    with pytest.raises(ValueError, match="non-negative"):
        RowFieldExtractorSchema(-1)


def test_lines_of_text() -> None:
    stream = BytesIO()
    Encoder.simple_string_encoder().encode(5, stream)
    assert stream.getvalue() == b"5\n"


texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=10)
orders = st.builds(
    lambda *values: Row(**dict(zip(ORDER.field_names, values, strict=True))),
    st.integers(-(2**63), 2**63 - 1),
    texts,
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.lists(texts, max_size=3),
    st.builds(lambda name: Row(name=name), st.none() | texts),
)


@given(orders)
def test_json_brings_back_the_row(row: Row) -> None:
    writer = JsonRowSerializationSchema.builder().with_type_info(ORDER).build()
    reader = JsonRowDeserializationSchema.builder().type_info(ORDER).build()
    assert reader.deserialize(writer.serialize(row)) == row
    assert reader.get_produced_type() == ORDER


def test_missing_fields_and_errors_in_json() -> None:
    def builder():
        return JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["a"], [Types.INT()]))

    assert builder().build().deserialize(b"{}") == Row(a=None)
    with pytest.raises(ValueError, match="Could not find fields"):
        builder().fail_on_missing_field().build().deserialize(b"{}")
    with pytest.raises(ValueError, match="Failed to read a row of type"):
        builder().build().deserialize(b"{")
    assert builder().ignore_parse_errors().build().deserialize(b"{") is None
    with pytest.raises(ValueError, match="both enabled"):
        builder().ignore_parse_errors().fail_on_missing_field().build()


def test_a_json_schema_gives_a_type() -> None:
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}},
            "at": {"type": ["null", "string"], "format": "date-time"},
        },
        "definitions": {"tag": {"type": "string"}},
    }
    made = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()
    assert str(made.get_produced_type()) == "Row(id: BigDecimal, tags: ObjectArrayTypeInfo<String>, at: Timestamp)"


PERSON = Types.ROW_NAMED(["name", "age", "likes", "ok"], [Types.STRING(), Types.INT(), Types.LIST(Types.STRING()), Types.BOOLEAN()])  # fmt: skip  # noqa: E501


@pytest.mark.parametrize(
    ("settings", "row", "line"),
    [
        ({}, Row("Al, ice", 3, ["a", "b"], True), b'"Al, ice",3,a;b,true\n'),
        ({"set_field_delimiter": "|"}, Row("a", 3, ["x"], False), b"a|3|x|false\n"),
        ({"set_array_element_delimiter": "/"}, Row("a", 3, ["x", "y"], False), b"a,3,x/y,false\n"),
        ({"set_null_literal": "n/a"}, Row("a", None, ["x"], True), b"a,n/a,x,true\n"),
        ({"set_quote_character": "'"}, Row("a,b", 1, ["x"], True), b"'a,b',1,x,true\n"),
    ],
)
def test_csv_lines(settings, row, line) -> None:
    writer, reader = CsvRowSerializationSchema.Builder(PERSON), CsvRowDeserializationSchema.Builder(PERSON)
    for name, value in settings.items():
        getattr(writer, name)(value)
        getattr(reader, name)(value)
    assert writer.build().serialize(row) == line
    assert list(reader.build().deserialize(line)) == list(row)


def test_errors_in_csv() -> None:
    builder = CsvRowDeserializationSchema.Builder(PERSON)
    with pytest.raises(ValueError, match="4 columns expected, but 1 found"):
        builder.build().deserialize(b"x")
    assert builder.set_ignore_parse_errors(True).build().deserialize(b"x") is None
    assert builder.set_allow_comments(True).build().deserialize(b"# x") is None
    with pytest.raises(TypeError, match="must not be None"):
        CsvRowSerializationSchema.Builder(None)


def test_csv_files() -> None:
    schema = CsvSchema.builder().add_string_column("a").add_number_column("b", Types.INT()).set_use_header().build()
    assert len(schema) == 2
    assert str(schema) == (
        '[CsvSchema: columns=["a"/STRING,"b"/NUMBER], header? true, skipFirst? false, comments? false, '
        "any-properties? N/A]"
    )
    # What Flink 2.3 gives as the type of a stream of such files.
    assert str(CsvReaderFormat.for_schema(schema).get_produced_type()) == (
        "ROW<`a` STRING, `b` INT>(org.apache.flink.table.data.RowData, "
        "org.apache.flink.table.runtime.typeutils.RowDataSerializer)"
    )
    with pytest.raises(ValueError, match="single char"):
        CsvSchema.builder().set_quote_char("''")


@pytest.mark.parametrize(
    "use",
    [
        lambda rows: rows.filter(bool),
        lambda rows: rows.key_by(len),
        lambda rows: rows.partition_custom(lambda key, count: 0, len),
        lambda rows: rows.get_type(),
        lambda rows: rows.project(0),
    ],
)
def test_rows_of_csv_files_have_no_type_in_python(use) -> None:
    schema = CsvSchema.builder().add_string_column("n").build()
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "in").build()
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
    with pytest.raises(TypeError, match="is not supported in PyFlink"):
        use(rows)
    use(rows.map(lambda row: (row[0],), Types.TUPLE([Types.STRING()])))


def test_avro_schemas_become_row_types() -> None:
    reader = AvroRowDeserializationSchema(avro_schema_string=AVRO)
    assert (
        str(reader.get_produced_type()) == "Row(id: Integer, name: String, tags: ObjectArrayTypeInfo<Long>, day: Date)"
    )
    with pytest.raises(TypeError, match="should be specified"):
        AvroRowSerializationSchema()


def test_avro_files(tmp_path) -> None:
    (tmp_path / "order.avsc").write_text(AVRO)
    schema = AvroSchema.parse_file(str(tmp_path / "order.avsc"))
    assert schema == AvroSchema.parse_string(AVRO)
    assert AvroInputFormat("/in", schema).get_produced_type() == GenericRecordAvroTypeInfo(AVRO)
    assert AvroBulkWriters.for_generic_record(schema).settings == {"schema": schema}
    assert AvroParquetReaders.for_generic_record(schema).get_produced_type() == GenericRecordAvroTypeInfo(schema)


def test_columnar_files_remember_their_settings() -> None:
    row_type = Types.ROW_NAMED(["day"], [Types.SQL_DATE()])
    assert ParquetColumnarRowInputFormat(row_type, batch_size=5).settings["batch_size"] == 5
    assert ParquetBulkWriters.for_row_type(row_type, utc_timestamp=True).settings["utc_timestamp"] is True
    assert OrcBulkWriters.for_row_type(row_type).get_row_type() == row_type


NESTED = """{"type": "record", "name": "Trip", "fields": [
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "who", "type": ["null", {"type": "record", "name": "Who", "fields": [{"name": "name", "type": "string"}]}]},
    {"name": "stops", "type": {"type": "array", "items": "string"}},
    {"name": "more", "type": {"type": "map", "values": "double"}}]}"""


def test_rows_as_avro_and_back() -> None:
    from avro.io import BinaryDecoder, DatumReader

    from compat.compiler.datastream.served import served
    from compat.state.serializers.avro import parsed

    served()  # schemas travel by the names of their classes
    who = Row("é")
    who.set_field_names(["name"])
    names = ["at", "who", "stops", "more"]
    writer = AvroRowSerializationSchema(avro_schema_string=NESTED)
    reader = AvroRowDeserializationSchema(avro_schema_string=NESTED)
    for row in (
        Row(datetime(2026, 1, 2, 3, 4, 5, 6000), who, ["a", "b"], {"x": 0.5}),
        Row(datetime(1969, 1, 2), None, [], {}),
    ):
        data = writer.serialize(row)
        assert tuple(reader.deserialize(data)) == tuple(row)
        assert reader.deserialize(data)._names() == names
        plain = DatumReader(parsed(NESTED)).read(BinaryDecoder(BytesIO(data)))
        assert plain["at"] == row[0].replace(tzinfo=UTC)
    assert pickle.loads(cloudpickle.dumps(reader)).deserialize(data)[0] == datetime(1969, 1, 2)
    with pytest.raises(ValueError, match="Failed to read an Avro record from b'x'"):
        reader.deserialize(b"x")
    with pytest.raises(NotImplementedError, match=r"com\.Order is a class of Java"):
        AvroRowSerializationSchema(record_class="com.Order").serialize(Row(1))
