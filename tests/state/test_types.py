"""Type information: Flink's spelling, JSON form, laws."""

import copy
import pickle
from datetime import UTC, date, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.state.time import Instant
from compat.state.types import (
    ExternalTypeInfo,
    GenericRecordAvroTypeInfo,
    LocalTimeTypeInfo,
    OpaqueTypeInfo,
    TypeInformation,
    Types,
    from_json,
)

T = Types

# What ``toString`` of Flink 2.3's own type information gives.
SPELLINGS = [
    (T.STRING(), "String"),
    (T.BYTE(), "Byte"),
    (T.BOOLEAN(), "Boolean"),
    (T.SHORT(), "Short"),
    (T.INT(), "Integer"),
    (T.LONG(), "Long"),
    (T.FLOAT(), "Float"),
    (T.DOUBLE(), "Double"),
    (T.CHAR(), "Character"),
    (T.BIG_INT(), "BigInteger"),
    (T.BIG_DEC(), "BigDecimal"),
    (T.INSTANT(), "Instant"),
    (T.SQL_DATE(), "Date"),
    (T.SQL_TIME(), "Time"),
    (T.SQL_TIMESTAMP(), "Timestamp"),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), "LocalDateTime"),
    (T.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (T.ROW([]), "Row"),
    (T.ROW([T.INT(), T.STRING()]), "Row(f0: Integer, f1: String)"),
    (T.ROW_NAMED(["a", "b"], [T.INT(), T.ROW([T.LONG()])]), "Row(a: Integer, b: Row(f0: Long))"),
    (T.TUPLE([]), "Java Tuple0"),
    (T.TUPLE([T.INT(), T.TUPLE([T.LONG()])]), "Java Tuple2<Integer, Java Tuple1<Long>>"),
    (T.MAP(T.STRING(), T.LIST(T.LONG())), "Map<String, List<Long>>"),
    (T.OBJECT_ARRAY(T.ROW([T.STRING()])), "ObjectArrayTypeInfo<Row(f0: String)>"),
    (T.PRIMITIVE_ARRAY(T.INT()), "int[]"),
    (T.BASIC_ARRAY(T.CHAR()), "BasicArrayTypeInfo<Character>"),
    (
        ExternalTypeInfo(T.ROW([T.INT()])),
        "ROW<`f0` INT>(org.apache.flink.types.Row, org.apache.flink.table.runtime.typeutils.ExternalSerializer)",
    ),
]


@pytest.mark.parametrize(("type_info", "spelling"), SPELLINGS)
def test_the_spelling_is_flinks(type_info: TypeInformation, spelling: str) -> None:
    assert str(type_info) == spelling


def test_repr_is_pyflinks() -> None:
    row = T.ROW_NAMED(["a"], [T.LIST(T.MAP(T.STRING(), T.CHAR()))])
    assert repr(row) == "RowTypeInfo(a: ListTypeInfo<MapTypeInfo<String, Char>>)"


_simple = st.sampled_from(
    [type_ for type_, _ in SPELLINGS if not type_.children()]
    + [GenericRecordAvroTypeInfo('{"type": "record", "name": "R", "fields": []}'), OpaqueTypeInfo("com.acme.Order")]
)


def _compound(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    names = st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=4)
    return st.one_of(
        st.lists(inner, max_size=4).map(T.TUPLE),
        names.flatmap(
            lambda given: st.lists(inner, min_size=len(given), max_size=len(given)).map(
                lambda types: T.ROW_NAMED(given, types)
            )
        ),
        inner.map(T.LIST),
        inner.map(T.OBJECT_ARRAY),
        st.tuples(inner, inner).map(lambda pair: T.MAP(*pair)),
        inner.map(ExternalTypeInfo),
    )


types = st.recursive(_simple, _compound, max_leaves=8)


@given(types)
def test_json_brings_back_an_equal_type(type_info: TypeInformation) -> None:
    again = from_json(type_info.to_json())
    assert again == type_info
    assert hash(again) == hash(type_info)
    assert str(again) == str(type_info)


@given(types)
def test_copies_are_equal(type_info: TypeInformation) -> None:
    assert pickle.loads(pickle.dumps(type_info)) == type_info
    assert copy.deepcopy(type_info) == type_info


@given(types, types)
def test_types_are_equal_exactly_when_their_json_is(left: TypeInformation, right: TypeInformation) -> None:
    assert (left == right) == (left.to_json() == right.to_json())


def test_a_type_does_not_change() -> None:
    with pytest.raises(AttributeError, match="does not change"):
        T.ROW([T.INT()]).field_names = ("x",)  # type: ignore[misc]


def test_names_count_and_the_default_names_are_names() -> None:
    assert T.ROW([T.INT()]) == T.ROW_NAMED(["f0"], [T.INT()])
    assert T.ROW([T.INT()]) != T.ROW_NAMED(["a"], [T.INT()])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.ROW([T.INT]), r"did you forget the parentheses, INT\(\)"),
        (lambda: T.LIST("String"), r"takes type information such as Types.LONG\(\)"),
        (lambda: T.TUPLE(T.INT()), r"write Types.TUPLE\(\[Integer"),
        (lambda: T.PRIMITIVE_ARRAY(T.STRING()), "no primitive type"),
        (lambda: T.BASIC_ARRAY(T.SQL_DATE()), "no basic type"),
        (lambda: T.TUPLE([T.INT()] * 26), r"arity must be in \[0, 25\]"),
        (lambda: T.ROW_NAMED(["a", "a"], [T.INT(), T.INT()]), "Field names are not unique"),
        (lambda: T.ROW_NAMED(["a"], []), "Number of field types and names is different"),
        (lambda: GenericRecordAvroTypeInfo("no json"), "Avro schema is JSON text"),
        (lambda: from_json({"type": "NEW"}), "Not the description of a type"),
        (lambda: from_json({"type": "LIST"}), "Not the description of a LIST type"),
    ],
)
def test_what_cannot_be_a_type_is_refused(make, message) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize(
    ("type_info", "value", "stored"),
    [
        (T.SQL_DATE(), date(1970, 1, 2), 1),
        (T.SQL_TIME(), time(0, 0, 1, 5), 1_000_005),
        (T.SQL_TIMESTAMP(), datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        (T.INSTANT(), Instant(1, 5_000_000), 1_005_000),
        (T.TUPLE([T.SQL_DATE(), T.STRING()]), (date(1970, 1, 2), "x"), (1, "x")),
    ],
)
def test_stored_forms_lead_back(type_info: TypeInformation, value: object, stored: object) -> None:
    assert type_info.need_conversion()
    assert type_info.to_internal_type(value) == stored
    assert type_info.from_internal_type(stored) == value


def test_a_timestamp_with_a_zone_is_stored_as_utc() -> None:
    assert T.SQL_TIMESTAMP().to_internal_type(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == 1_000_000
