"""Each dialect of keeping state reads what it should of another type."""

import json

import pytest
from hypothesis import given

from compat.state.compatibility import (
    JAVA,
    PROCESS,
    STORE,
    THREAD,
    Answer,
    Dialect,
    SnapshotError,
    TypeSnapshot,
    snapshot_of,
)
from compat.state.types import ExternalTypeInfo, GenericRecordAvroTypeInfo, TypeInformation, Types
from compat.state.types.basic import OpaqueTypeInfo
from tests.state.strategies import types

T, ROW = Types, Types.ROW_NAMED
L, S = T.LONG(), T.STRING()
P = T.PICKLED_BYTE_ARRAY()
AS_IS, RECONFIGURED, MIGRATES, NO = (
    Answer.AS_IS,
    Answer.RECONFIGURED,
    Answer.AFTER_MIGRATION,
    Answer.INCOMPATIBLE,
)
AB = ROW(["a", "b"], [L, L])
ABC = ROW(["a", "b", "c"], [L, L, S])


def avro(*fields: dict[str, object], doc: str = "") -> GenericRecordAvroTypeInfo:
    return GenericRecordAvroTypeInfo(json.dumps({"type": "record", "name": "R", "doc": doc, "fields": list(fields)}))


FIELD_A, FIELD_B = {"name": "a", "type": "int"}, {"name": "b", "type": "string"}

# As Flink 2.3's own serializers answer (``resolveSchemaCompatibility``, called through PyFlink).
FLINK = [
    (AB, AB, AS_IS),
    (AB, ROW(["a", "x"], [L, L]), AS_IS),
    (AB, ROW(["a"], [L]), NO),
    (AB, ABC, NO),
    (T.ROW([L, L]), AB, AS_IS),
    (T.ROW([L]), T.ROW([L, L]), NO),
    (ROW(["a"], [L]), ROW(["a"], [T.INT()]), NO),
    (T.TUPLE([L, L]), T.TUPLE([L]), NO),
    (T.TUPLE([L]), T.TUPLE([L, L]), NO),
    (T.TUPLE([L]), T.TUPLE([S]), NO),
    (T.TUPLE([L]), T.ROW([L]), NO),
    (L, T.INT(), NO),
    (T.INT(), L, NO),
    (L, T.BIG_INT(), NO),
    (S, T.CHAR(), NO),
    (T.FLOAT(), T.DOUBLE(), NO),
    (T.LIST(L), T.LIST(L), AS_IS),
    (T.LIST(L), T.LIST(S), NO),
    (T.LIST(ROW(["a"], [L])), T.LIST(ROW(["b"], [L])), AS_IS),
    (T.MAP(S, L), T.MAP(S, S), NO),
    (T.MAP(S, L), T.MAP(S, L), AS_IS),
    (T.OBJECT_ARRAY(L), T.OBJECT_ARRAY(S), NO),
    (T.OBJECT_ARRAY(L), T.BASIC_ARRAY(L), AS_IS),
    (T.BASIC_ARRAY(S), T.OBJECT_ARRAY(S), AS_IS),
    (T.LIST(L), T.OBJECT_ARRAY(L), NO),
    (T.PRIMITIVE_ARRAY(L), T.PRIMITIVE_ARRAY(T.INT()), NO),
    (T.PRIMITIVE_ARRAY(L), T.BASIC_ARRAY(L), NO),
    (T.SQL_DATE(), T.SQL_TIMESTAMP(), NO),
    (T.SQL_TIMESTAMP(), T.INSTANT(), NO),
    (P, L, NO),
    (T.BOOLEAN(), T.BYTE(), NO),
]


@pytest.mark.parametrize(("old", "new", "answer"), FLINK)
def test_java_answers_as_flink_does(old: TypeInformation, new: TypeInformation, answer: Answer) -> None:
    assert JAVA.resolve(old, new).answer is answer


def test_java_hands_fields_that_changed_places_to_each_other() -> None:
    """Flink answers "as is" here, and the program reads one field as the other: to us that is no."""
    found = JAVA.resolve(AB, ROW(["b", "a"], [L, L]))
    assert found.answer is NO
    assert found.changes == ("the fields 'b' and 'a' stand elsewhere, and values are handed on by place",)


def test_a_pickle_is_not_bytes() -> None:
    """Java has byte arrays in both cases and answers "as is"; the program has objects in one, bytes in the other."""
    assert JAVA.resolve(P, T.PRIMITIVE_ARRAY(T.BYTE())).answer is NO


# Seen in restores of real PyFlink, see tests/compat/pairs.
COMPARED = [
    (PROCESS, T.TUPLE([L, L]), T.TUPLE([L]), MIGRATES),
    (PROCESS, T.TUPLE([L, S, L]), T.TUPLE([L, S]), NO),
    (PROCESS, T.TUPLE([S, T.TUPLE([L, L])]), T.TUPLE([S, T.TUPLE([L])]), NO),
    (PROCESS, L, T.BIG_INT(), AS_IS),
    (PROCESS, S, T.CHAR(), AS_IS),
    (PROCESS, T.INT(), L, NO),
    (PROCESS, P, L, NO),
    (PROCESS, T.BIG_DEC(), S, NO),
    (PROCESS, T.ROW([L, L]), AB, AS_IS),
    (PROCESS, AB, ROW(["a", "x"], [L, L]), AS_IS),
    (PROCESS, AB, ROW(["b", "a"], [L, L]), NO),
    (PROCESS, AB, ABC, NO),
    (PROCESS, ABC, AB, MIGRATES),
    (PROCESS, T.TUPLE([L, S]), T.TUPLE([L]), MIGRATES),
    (PROCESS, T.TUPLE([ABC, L]), T.TUPLE([AB, L]), NO),
    (PROCESS, T.TUPLE([L, ABC]), T.TUPLE([L, AB]), MIGRATES),
    (PROCESS, T.LIST(ABC), T.LIST(AB), NO),
    (PROCESS, T.LIST(L), T.BASIC_ARRAY(L), AS_IS),
    (PROCESS, T.LIST(L), T.PRIMITIVE_ARRAY(L), NO),
    (PROCESS, T.PRIMITIVE_ARRAY(T.BYTE()), T.PRIMITIVE_ARRAY(L), NO),
    (PROCESS, T.MAP(S, L), T.MAP(T.CHAR(), T.BIG_INT()), AS_IS),
    (PROCESS, avro(FIELD_A), avro(FIELD_A, doc="what it is"), AS_IS),
    (PROCESS, avro(FIELD_A, FIELD_B), avro(FIELD_A), NO),
    (PROCESS, ExternalTypeInfo(L), L, AS_IS),
    (THREAD, T.INT(), L, AS_IS),
    (THREAD, T.FLOAT(), T.DOUBLE(), AS_IS),
    (THREAD, L, T.BIG_INT(), NO),
    (THREAD, L, T.DOUBLE(), NO),
    (THREAD, AB, ABC, AS_IS),
    (THREAD, AB, T.TUPLE([L, L]), AS_IS),
    (THREAD, P, AB, AS_IS),
    (THREAD, AB, T.LIST(L), NO),
    (THREAD, P, T.LIST(L), NO),
    (THREAD, T.LIST(L), P, NO),
    (THREAD, T.MAP(S, AB), T.MAP(S, T.LIST(L)), NO),
    (THREAD, T.TUPLE([L]), T.SQL_DATE(), NO),
    (THREAD, T.LIST(L), T.LIST(L), AS_IS),
    (THREAD, AB, P, AS_IS),
    (THREAD, T.TUPLE([L, S]), P, AS_IS),
    (THREAD, T.MAP(T.TUPLE([L]), L), T.MAP(P, L), AS_IS),
    (THREAD, S, P, NO),
    (THREAD, P, L, NO),
    (THREAD, T.MAP(S, T.INT()), T.MAP(S, L), AS_IS),
    (THREAD, T.MAP(S, L), T.MAP(S, S), NO),
    (STORE, AB, ABC, MIGRATES),
    (STORE, ABC, AB, MIGRATES),
    (STORE, AB, ROW(["b", "a"], [L, L]), MIGRATES),
    (STORE, AB, ROW(["a", "x"], [L, L]), MIGRATES),
    (STORE, AB, ROW(["a", "b"], [L, S]), NO),
    (STORE, T.ROW([L, L]), AB, RECONFIGURED),
    (STORE, T.ROW([L]), T.ROW([L, L]), NO),
    (STORE, T.TUPLE([L, L]), T.TUPLE([L]), NO),
    (STORE, T.LIST(AB), T.LIST(ABC), MIGRATES),
    (STORE, T.LIST(L), T.OBJECT_ARRAY(L), AS_IS),
    (STORE, T.LIST(L), T.PRIMITIVE_ARRAY(L), NO),
    (STORE, L, T.BIG_INT(), MIGRATES),
    (STORE, T.BIG_INT(), L, NO),
    (STORE, T.INT(), L, NO),
    (STORE, S, T.CHAR(), AS_IS),
    (STORE, T.MAP(L, AB), T.MAP(T.BIG_INT(), ABC), MIGRATES),
    (STORE, T.MAP(ABC, L), T.MAP(AB, L), NO),
    (STORE, P, L, NO),
    (STORE, L, P, NO),
    (STORE, avro(FIELD_A), avro({"name": "a", "type": "long"}), MIGRATES),
    (STORE, avro({"name": "a", "type": "long"}), avro(FIELD_A), NO),
    (STORE, avro(FIELD_A, FIELD_B), avro(FIELD_A), MIGRATES),
    (STORE, avro(FIELD_A), avro(FIELD_A, FIELD_B), NO),
    (STORE, avro(FIELD_A), avro(FIELD_A, {**FIELD_B, "default": ""}), MIGRATES),
]


@pytest.mark.parametrize(("dialect", "old", "new", "answer"), COMPARED)
def test_what_can_be_read(dialect: Dialect, old: TypeInformation, new: TypeInformation, answer: Answer) -> None:
    found = dialect.resolve(old, new)
    assert found.answer is answer, found
    assert found.changes or old == new or answer is AS_IS


def test_what_is_no_avro_schema_is_not_read() -> None:
    for dialect in (PROCESS, STORE):
        found = dialect.resolve(GenericRecordAvroTypeInfo('{"type": "no"}'), avro(FIELD_A))
        assert found.answer is NO
        assert "Not an Avro schema" in found.changes[0]


@given(types())
def test_every_type_reads_itself(type_info: TypeInformation) -> None:
    for dialect in (JAVA, PROCESS, THREAD, STORE):
        assert dialect.resolve(type_info, type_info).answer is AS_IS


@pytest.mark.parametrize(
    ("dialect", "old", "new", "changes"),
    [
        (
            JAVA,
            T.PRIMITIVE_ARRAY(L),
            T.PRIMITIVE_ARRAY(T.INT()),
            (f"{T.PRIMITIVE_ARRAY(L)} became {T.PRIMITIVE_ARRAY(T.INT())}",),
        ),
        (PROCESS, T.MAP(T.TUPLE([L, L]), L), T.MAP(T.TUPLE([L]), L), ("the keys: 2 fields became 1",)),
        (PROCESS, avro(FIELD_A, FIELD_B), avro(FIELD_A), ("the Avro schema changed",)),
        (PROCESS, AB, ROW(["a", "x"], [L, L]), ("field 'b' is called 'x'",)),
        (PROCESS, T.ROW([L, L]), AB, ()),
        (PROCESS, ABC, AB, ("the last 1 of 3 fields are not read any more",)),
        (STORE, T.ROW([L, L]), AB, ("the fields have got names",)),
        (STORE, AB, ROW(["b", "a"], [L, L]), ("the fields are in another order",)),
        (STORE, AB, ROW(["b", "c"], [L, L]), ("field 'c' is new", "field 'a' is gone")),
        (
            PROCESS,
            T.TUPLE([L, S, L]),
            T.TUPLE([L, S]),
            ("what is left of 3 fields behind 2 is read as another value, with String",),
        ),
        (JAVA, OpaqueTypeInfo("a"), OpaqueTypeInfo("b"), (f"{OpaqueTypeInfo('a')} became {OpaqueTypeInfo('b')}",)),
        (STORE, T.LIST(AB), T.LIST(ABC), ("the elements: field 'c' is new",)),
        (
            STORE,
            T.MAP(ABC, L),
            T.MAP(AB, L),
            (
                "the keys: field 'c' is gone",
                "the keys: keys that differ in what goes would become one",
            ),
        ),
        (STORE, L, T.BIG_INT(), ("Long is converted to BigInteger",)),
        (THREAD, AB, T.TUPLE([L, L]), (f"values of {AB} are kept pickled and come back in their old form",)),
        (THREAD, AB, ABC, (f"values of {AB} are kept pickled and come back in their old form",)),
    ],
)
def test_what_changed_is_said(
    dialect: Dialect, old: TypeInformation, new: TypeInformation, changes: tuple[str, ...]
) -> None:
    assert dialect.resolve(old, new).changes == changes


def test_what_changed_is_said_with_its_place() -> None:
    found = STORE.resolve(T.MAP(S, ROW(["a"], [L])), T.MAP(S, ROW(["a", "b"], [S, L])))
    assert found.changes == ("the values: field 'a': Long became String", "the values: field 'b' is new")


@given(types())
def test_a_snapshot_is_read_back_from_json(type_info: TypeInformation) -> None:
    data = json.loads(json.dumps(snapshot_of(type_info).to_json()))
    assert TypeSnapshot.from_json(data).resolve(type_info).answer is AS_IS


@pytest.mark.parametrize("data", [None, {}, {"format": 2, "schema": "LONG"}, {"format": 1, "schema": "NUMBER"}])
def test_a_damaged_snapshot_is_refused(data: object) -> None:
    with pytest.raises(SnapshotError, match="snapshot of a type"):
        TypeSnapshot.from_json(data)


@pytest.mark.parametrize(
    ("dialect", "declared", "kept"),
    [
        (THREAD, T.INT(), L),
        (THREAD, T.CHAR(), S),
        (THREAD, T.SQL_DATE(), P),
        (THREAD, T.LIST(L), P),
        (THREAD, T.MAP(T.INT(), T.TUPLE([L])), T.MAP(L, P)),
        (THREAD, T.MAP(S, T.FLOAT()), T.MAP(S, T.DOUBLE())),
        (THREAD, T.INSTANT(), T.INSTANT()),
        (JAVA, T.MAP(T.INT(), T.TUPLE([L])), T.MAP(T.INT(), T.TUPLE([L]))),
    ],
)
def test_values_are_kept_as_a_type(dialect: Dialect, declared: TypeInformation, kept: TypeInformation) -> None:
    assert dialect.kept(declared) == kept
