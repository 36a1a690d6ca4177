"""Types as a PyFlink program writes them: what is written makes the type again."""

from __future__ import annotations

import pytest
from hypothesis import given

from compat.state.types import LocalTimeTypeInfo, TypeInformation, Types
from compat.state.types.python import expression_of
from tests.state import strategies


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        (Types.LONG(), "Types.LONG()"),
        (Types.PICKLED_BYTE_ARRAY(), "Types.PICKLED_BYTE_ARRAY()"),
        (Types.SQL_TIMESTAMP(), "Types.SQL_TIMESTAMP()"),
        (Types.ROW([Types.STRING()]), "Types.ROW([Types.STRING()])"),
        (Types.ROW_NAMED(['a"b', "é😀"], [Types.INT(), Types.INT()]), None),
        (Types.MAP(Types.STRING(), Types.LIST(Types.LONG())), "Types.MAP(Types.STRING(), Types.LIST(Types.LONG()))"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), "Types.PRIMITIVE_ARRAY(Types.BYTE())"),
    ],
    ids=str,
)
def test_cases(type: object, expected: str | None) -> None:
    found = expression_of(type)  # type: ignore[arg-type]
    assert found is not None
    assert found == (expected or found)
    assert eval(found, {"Types": Types}) == type


@given(strategies.types())
def test_what_is_written_is_the_type(type: TypeInformation) -> None:
    found = expression_of(type)
    assert found is None or eval(found, {"Types": Types}) == type


def test_what_pyflink_cannot_write_is_none() -> None:
    assert expression_of(LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)) is None
    assert expression_of(Types.LIST(LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME))) is None
