"""A column of values has the bytes that their codec gives to each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.compiler.spark.state.columns import column_encoder
from compat.state.serializers import codec_of, exactness_of
from compat.state.types import Types

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


@pytest.mark.parametrize(
    ("type_info", "values"),
    [
        (Types.LONG(), LONGS),
        (Types.SHORT(), st.integers(-(1 << 15), (1 << 15) - 1)),
        (Types.DOUBLE(), st.floats()),
        (Types.STRING(), st.text()),
        (PAIR, st.tuples(st.text(), LONGS)),
        (Types.TUPLE([PAIR, Types.DOUBLE()]), st.tuples(st.tuples(st.text(), LONGS), st.floats())),
    ],
)
def test_a_column_has_the_bytes_of_each_value(type_info: Any, values: Any) -> None:
    encode, codec, exact = column_encoder(type_info), codec_of(type_info), exactness_of(type_info)
    assert encode is not None

    @settings(max_examples=30, deadline=None)
    @given(st.lists(values, min_size=1, max_size=10))
    def law(given_values: list[Any]) -> None:
        column = encode(given_values)
        assert column is not None
        assert column.to_pylist() == [codec.encode(value) for value in given_values]
        assert all(map(exact, given_values))

    law()


@pytest.mark.parametrize(
    ("type_info", "values"),
    [
        (Types.LONG(), [1, True]),
        (Types.LONG(), [1 << 63]),
        (Types.INT(), [1 << 40]),
        (Types.DOUBLE(), [1]),
        (Types.STRING(), ["a", 1]),
        (Types.STRING(), ["\ud800"]),
        (PAIR, [("a", 1), ["a", 1]]),
        (PAIR, [("a", 1), ("a", None)]),
        (PAIR, [("a", 1, 2)]),
    ],
)
def test_values_that_are_not_quite_of_their_type_have_none(type_info: Any, values: list[Any]) -> None:
    encode = column_encoder(type_info)
    assert encode is not None
    assert encode(values) is None


@pytest.mark.parametrize("type_info", [None, Types.FLOAT(), Types.PICKLED_BYTE_ARRAY(), Types.LIST(Types.LONG())])
def test_other_types_have_none(type_info: Any) -> None:
    assert column_encoder(type_info) is None
    assert column_encoder(Types.TUPLE([Types.LONG(), type_info or Types.FLOAT()])) is None
