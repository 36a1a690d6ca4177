"""Key groups as in Flink, and a hash of keys that depends on nothing else."""

import enum
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from compat.state.key_groups import (
    default_max_parallelism,
    key_group_of_key,
    key_groups_of_subtask,
    murmur_hash,
    stable_hash,
    subtask_of_key,
    subtask_of_key_group,
)

# Given by Flink 2.3's MathUtils and KeyGroupRangeAssignment.
MURMUR = [
    (0, 593689054),
    (1, 68075478),
    (42, 1134849565),
    (-7, 206585249),
    (2**31 - 1, 1653689534),
    (-(2**31), 1718298732),
    (123456789, 1088346449),
]
DEFAULTS = [(1, 128), (2, 128), (85, 128), (86, 256), (171, 256), (200, 512), (20_000, 32_768), (30_000, 32_768)]
RANGES = [(128, 3, [(0, 42), (43, 85), (86, 127)]), (10, 4, [(0, 2), (3, 4), (5, 7), (8, 9)])]


@pytest.mark.parametrize(("code", "hashed"), MURMUR)
def test_the_finaliser_is_flinks(code: int, hashed: int) -> None:
    assert murmur_hash(code) == hashed


@pytest.mark.parametrize(("parallelism", "expected"), DEFAULTS)
def test_the_default_max_parallelism_is_flinks(parallelism: int, expected: int) -> None:
    assert default_max_parallelism(parallelism) == expected


@pytest.mark.parametrize(("max_parallelism", "parallelism", "ranges"), RANGES)
def test_the_ranges_are_flinks(max_parallelism: int, parallelism: int, ranges: list[tuple[int, int]]) -> None:
    found = [key_groups_of_subtask(max_parallelism, parallelism, subtask) for subtask in range(parallelism)]
    assert [(groups[0], groups[-1]) for groups in found] == ranges


@given(st.data())
def test_the_subtasks_share_out_all_key_groups(data: st.DataObject) -> None:
    max_parallelism = data.draw(st.integers(1, 600))
    parallelism = data.draw(st.integers(1, max_parallelism))
    held = [key_groups_of_subtask(max_parallelism, parallelism, subtask) for subtask in range(parallelism)]
    assert [group for groups in held for group in groups] == list(range(max_parallelism))
    for subtask, groups in enumerate(held):
        assert all(subtask_of_key_group(max_parallelism, parallelism, group) == subtask for group in groups)


keys = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)


@given(keys, st.integers(1, 128))
def test_a_key_is_held_by_one_subtask(key: object, parallelism: int) -> None:
    group = key_group_of_key(key, 128)
    assert group in key_groups_of_subtask(128, parallelism, subtask_of_key(key, 128, parallelism))


@given(keys, keys)
def test_equal_keys_have_equal_hashes(left: object, right: object) -> None:
    if left == right:
        assert stable_hash(left) == stable_hash(right)


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Account(Struct, frozen=True):
    name: str


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (1, 1.0),
        (1, Decimal("1.00")),
        (0.5, Decimal("0.50")),
        (0.5, Fraction(1, 2)),
        (Decimal("0.1"), Fraction(1, 10)),
        (1, Level.LOW),
        (0.0, -0.0),
        (Account("a"), Account("a")),
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_equal_keys_of_different_kinds(left: object, right: object) -> None:
    assert left == right
    assert stable_hash(left) == stable_hash(right)


def test_different_keys_differ() -> None:
    keys = ["1", b"1", 1, ("1",), ("", "1"), None, Colour.RED, date(2024, 1, 1), Account("1"), 1.5, float("inf")]
    assert len({stable_hash(key) for key in keys}) == len(keys)


def test_the_hash_never_changes() -> None:
    assert [stable_hash(key) for key in ("a", 1, ("a", 1), None)] == [1256513470, -1092348297, 1259099372, -967714644]


def test_no_process_setting_changes_the_hash() -> None:
    code = "from compat.state.key_groups import stable_hash; print(stable_hash(('a', frozenset('abcdef'), 1.5)))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(runs) == 1


def test_a_key_without_a_value_is_refused() -> None:
    with pytest.raises(TypeError, match="has no value to hash"):
        stable_hash(lambda: 1)


def test_a_subtask_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no subtask 3"):
        key_groups_of_subtask(128, 3, 3)
    with pytest.raises(ValueError, match="do not fit"):
        key_groups_of_subtask(2, 3, 0)
