"""Which of the versions known here stands for another one."""

from __future__ import annotations

import pytest

from compat.compiler.versions import FLINK_VERSIONS, LATEST_FLINK, standing_for


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("1.15", FLINK_VERSIONS[0]),
        ("1.20.3", FLINK_VERSIONS[0]),
        ("2.0", LATEST_FLINK),
        ("2", LATEST_FLINK),
        ("3.0", None),
        ("", None),
    ],
)
def test_a_version_of_the_same_major_number_stands_for_another_one(version: str, known: str | None) -> None:
    assert standing_for(version) == known
