"""A type can be told from Flink's spelling of it."""

import pytest
from hypothesis import given

from compat.state.types import ExternalTypeInfo, OpaqueTypeInfo, TypeInformation, Types
from compat.state.types.spelling import parse_type
from tests.state.strategies import types


@given(types())
def test_what_is_spelled_is_read(type_info: TypeInformation) -> None:
    assert parse_type(str(type_info)) == type_info


@pytest.mark.parametrize("type_info", [Types.PICKLED_BYTE_ARRAY(), Types.ROW([]), Types.TUPLE([]), Types.CHAR()])
def test_small_types(type_info: TypeInformation) -> None:
    assert parse_type(str(type_info)) == type_info


@pytest.mark.parametrize(
    "text",
    [
        "",
        "long",
        "Long ",
        "org.example.Point",
        str(OpaqueTypeInfo("com.example.Pojo")),
        str(ExternalTypeInfo(Types.LONG())),
        "Row(a Long)",
        "Row(a: Long",
        "Map<String>",
        "List<Long, Long>",
        "Java Tuple3<Long>",
        'GenericRecord("{")',
        "List<" * 3000,
        str(Types.ROW_NAMED(["a: Long, b"], [Types.LONG()])) + "x",
    ],
)
def test_what_is_no_type_of_flink_is_not_guessed(text: str) -> None:
    assert parse_type(text) is None


def test_a_name_that_looks_like_two_fields_is_read_as_two() -> None:
    assert parse_type(str(Types.ROW_NAMED(["a: Long, b"], [Types.LONG()]))) == Types.ROW_NAMED(
        ["a", "b"], [Types.LONG(), Types.LONG()]
    )
