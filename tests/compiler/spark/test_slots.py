"""What keys are found by in memory: the same where Flink has one key, another where it has two."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.spark.state.slots import Slots, plain_key, plain_keys
from compat.state.serializers import key_codec_of
from compat.state.types import TypeInformation, Types

PICKLED = None
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
KEYS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, -0.0, 1.0, 1.5, math.nan])
    | st.text(max_size=1),
    lambda inner: st.tuples(inner, inner) | st.lists(inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("type_info", "left", "right"),
    [
        (PICKLED, 1, True),
        (PICKLED, 1, 1.0),
        (PICKLED, True, 1.0),
        (PICKLED, 1, Decimal(1)),
        (PICKLED, 0.5, Fraction(1, 2)),
        (PICKLED, Decimal("1.0"), Decimal("1.00")),
        (PICKLED, 0.0, -0.0),
        (PICKLED, (1, "a"), (True, "a")),
        (PICKLED, (1, (2, 3)), (1, (2.0, 3))),
        (PICKLED, (1, 2), [1, 2]),
        (PICKLED, b"a", bytearray(b"a")),
        (PICKLED, NOON, NOON.astimezone(timezone(timedelta(hours=1)))),
        (PICKLED, date(2024, 1, 1), datetime(2024, 1, 1)),
        (Types.DOUBLE(), 0.0, -0.0),
        (Types.BIG_DEC(), Decimal("1.5"), Decimal("1.50")),
        (Types.TUPLE([Types.FLOAT(), Types.INT()]), (0.0, 1), (-0.0, 1)),
    ],
)
def test_keys_of_flink_that_are_two(type_info: TypeInformation | None, left: Any, right: Any) -> None:
    slots, codec = Slots(key_codec_of(type_info)), key_codec_of(type_info)
    assert len({slots.of(left), slots.of(right)}) == 2
    assert codec.identity(codec.encode(left)) != codec.identity(codec.encode(right))


@pytest.mark.parametrize(
    ("type_info", "left", "right"),
    [
        (PICKLED, math.nan, float("nan")),
        (PICKLED, ("a", math.nan), ("a", float("nan"))),
        (PICKLED, frozenset("abc"), frozenset("cab")),
        (PICKLED, {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (PICKLED, [1, 2], [1, 2]),
        (Types.FLOAT(), math.nan, float("nan")),
        (Types.BOOLEAN(), True, True),
    ],
)
def test_keys_of_flink_that_are_one(type_info: TypeInformation | None, left: Any, right: Any) -> None:
    slots, codec = Slots(key_codec_of(type_info)), key_codec_of(type_info)
    assert len({slots.of(left), slots.of(right)}) == 1
    assert codec.identity(codec.encode(left)) == codec.identity(codec.encode(right))


@pytest.mark.parametrize("key", ["a", 1, None, b"a", date(2024, 1, 1), ("a", 1, None), ()])
def test_usual_keys_are_found_by_themselves(key: Any) -> None:
    slots = Slots(key_codec_of(PICKLED))
    assert slots.of(key) is key
    assert slots.are_keys([key, key])
    assert slots.all_of(keys := [key]) is keys
    assert Slots(key_codec_of(Types.BOOLEAN())).are_keys([True, False])


@given(st.lists(KEYS, max_size=4))
def test_a_key_is_found_whether_alone_or_among_others(keys: list[Any]) -> None:
    """And its slot says which one it is."""
    slots, codec = Slots(key_codec_of(PICKLED)), key_codec_of(PICKLED)
    every = slots.all_of(keys)
    assert every == list(map(slots.of, keys))
    assert plain_keys(every) == list(map(plain_key, every))
    assert all(found is key for found, key in zip(plain_keys(every), keys, strict=True))
    identities = [codec.identity(codec.encode(key)) for key in keys]
    assert len(set(every)) == len(set(identities))
    assert [codec.identity(codec.encode(codec.decode(codec.encode(key)))) for key in keys] == identities
