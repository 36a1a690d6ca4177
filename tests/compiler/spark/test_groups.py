"""Key groups of many keys are those of each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.spark.state.groups import SubtaskOfKey, key_groups_of
from compat.state.key_groups import key_group_of_key, subtask_of_key

_KEYS = st.one_of(
    st.lists(st.text(), min_size=20, max_size=60),
    st.lists(st.integers(), min_size=20, max_size=60),
    st.lists(st.one_of(st.none(), st.text(), st.floats(), st.tuples(st.integers(), st.text())), max_size=60),
    st.lists(st.lists(st.integers()), max_size=30),
)


@given(keys=_KEYS, maximum=st.sampled_from([1, 7, 128, 32768]))
def test_key_groups(keys: list[Any], maximum: int) -> None:
    assert key_groups_of(keys, maximum) == [key_group_of_key(key, maximum) for key in keys]


@given(keys=_KEYS, parallelism=st.integers(1, 5))
def test_subtasks(keys: list[Any], parallelism: int) -> None:
    finder = SubtaskOfKey(128, parallelism)
    expected = [subtask_of_key(key, 128, parallelism) for key in keys]
    assert finder.all(keys).tolist() == expected
    assert finder.all(keys).tolist() == expected


@pytest.mark.parametrize("count", [15, 16, 2047, 2048])
@pytest.mark.parametrize("make", ["key-%d", "Schlüssel-%d", "\ud800%d", "%d", "", b"key-%d", "x" * 30 + "%d"])
def test_many_keys(make: str | bytes, count: int) -> None:
    """Hashed all at once or one by one: with characters of several bytes, with half of one, and numbers, large ones too."""
    keys = [make % (number**5) if make else (-(number**7) if number % 2 else number) for number in range(count)]
    finder = SubtaskOfKey(128, 3)
    finder._too_many = True
    assert key_groups_of(keys, 128) == [key_group_of_key(key, 128) for key in keys]
    assert finder.all(keys).tolist() == [subtask_of_key(key, 128, 3) for key in keys]


@pytest.mark.parametrize(
    "largest", [0, 9, 10, 999, 1000, 9_999_999, 10_000_000, 10**11, 10**15 - 1, 10**15, 2**63 - 1, 2**63]
)
def test_many_numbers(largest: int) -> None:
    """Written as text all at once: of all lengths up to that of the largest, more of them than at a time."""
    lengths = range(1, len(str(largest)) + 1)
    edges = [edge for length in lengths for edge in (10 ** (length - 1), 10**length - 1) if edge <= largest]
    numbers = [largest, 0, *edges, *(number * 2654435761 % (largest + 1) for number in range(9000))]
    assert key_groups_of(numbers, 32768) == [key_group_of_key(number, 32768) for number in numbers]
    assert SubtaskOfKey(128, 5).all(numbers).tolist() == [subtask_of_key(number, 128, 5) for number in numbers]
