"""Key groups of many keys are those of each."""

from __future__ import annotations

from typing import Any

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
