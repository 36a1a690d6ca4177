"""Random types of state and new versions of them, restored in real Flink: nothing is called compatible whose values are lost.

What is recorded in ``tests/golden/random_types`` is held against the check, a sample of it by default and all of it with
``-m slow``. ``pytest -m nightly`` restores others, whose seeds begin at ``COMPAT_SEED``, by default the day;
``COMPAT_PROGRAMS`` of them. ``python -m tests.compat.java_types.test_types FIRST COUNT`` records them.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from tests.compat.java_types.drawing import PLACES, versions
from tests.compat.java_types.judging import GOLDEN, Record, judged, records, restored
from tests.compat.loader.jvm.support import flink_of
from tests.compat.test_drawn_pairs import kind_of

FLINK = "2.3.0"
ONE_IN = 16
"""The part of the records that is looked at by default."""
TOLD = {1072: "unknown", 1104: "right", 5010: "unknown", 5035: "right", 5101: "right"}
"""Seeds that showed a mistake once, and what is said of them now."""
ALIKE = {1054, 5177}
"""Seeds whose values are read as they were by luck: what was written behind the last field that is read is passed over."""


LOST_ANYWAY = {1151}
"""Seeds without a change whose values are not found again: their keys hold arrays, which are equal to themselves only."""


def kinds(given: Iterable[Record], flink: Any, java: Any) -> dict[int, str]:
    """By seed, whether the verdict is right, an alarm, unknown, or wrong."""
    told = [one for one in given if one.seed not in LOST_ANYWAY]
    return {one.seed: kind_of(found.verdict, restored=one.restored) for one, found in judged(told, flink, java)}


def test_a_sample(flink: Any, java: Any) -> None:
    found = kinds(
        [one for place, one in enumerate(records(FLINK)) if not place % ONE_IN or one.seed in TOLD], flink, java
    )
    assert len(found) > 15
    assert "wrong" not in found.values()
    assert {seed: kind for seed, kind in found.items() if seed in TOLD} == TOLD


@pytest.mark.slow
def test_all(flink: Any, java: Any) -> None:
    found = kinds(records(FLINK), flink, java)
    assert "wrong" not in found.values()
    assert {seed for seed, kind in found.items() if kind == "alarm"} <= ALIKE
    assert list(found.values()).count("unknown") <= len(found) // 10


def test_all_places_and_outcomes_are_recorded() -> None:
    assert {one.place for one in records(FLINK)} == set(PLACES)
    assert {(one.outcome, one.restored) for one in records(FLINK)} >= {
        ("running", True),
        ("running", False),
        ("failed", False),
    }


def test_a_seed_gives_the_same_versions() -> None:
    for seed in range(200):
        made = versions(seed)
        assert made == versions(seed)
        assert made.edits or made.old == made.new


def test_a_field_that_came_is_not_looked_for() -> None:
    one = records(FLINK)[0]
    same = {"seen": {"0": "1", "1": "1", "2": '{"a":1}'}, "outcome": "running", "added": ("b",)}
    assert msgspec.structs.replace(one, **same, expected={"0": "1", "1": "1", "2": '{"a":1,"b":2}'}).restored
    assert not msgspec.structs.replace(one, **same, expected={"0": "1", "1": "1", "2": '{"a":1,"c":2}'}).restored


@pytest.mark.nightly
def test_random_types(flink: Any, java: Any) -> None:
    first = int(os.environ.get("COMPAT_SEED", time.time() // 86400 * 1000 % 900_000 + 2000))
    made = list(restored(flink, java, range(first, first + int(os.environ.get("COMPAT_PROGRAMS", "40")))))
    found = kinds(made, flink, java)
    assert [seed for seed, kind in found.items() if kind == "wrong"] == []
    assert len(found) > len(made) // 2


def main(first: int, count: int) -> None:
    """Record the restores of some seeds, beside those that are there."""
    from compat.loader.jvm.java import find_java

    GOLDEN.mkdir(exist_ok=True)
    path = GOLDEN / f"{FLINK}.jsonl.gz"
    known = {one.seed: one for one in (records(FLINK) if path.exists() else [])}
    for one in restored(flink_of(FLINK), find_java(), range(first, first + count)):
        known[one.seed] = one
        lines = b"".join(msgspec.json.encode(known[seed]) + b"\n" for seed in sorted(known))
        path.write_bytes(gzip.compress(lines, 9, mtime=0))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
