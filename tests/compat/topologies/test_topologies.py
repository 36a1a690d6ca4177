"""Random versions of topologies, restored in real Flink: the check says what Flink did, from topologies and from savepoints.

What is recorded in ``tests/golden/random_topologies`` is held against the check, a sample of it by default and all of it with
``-m slow``. ``COMPAT_PYFLINK=PYTHON pytest -m nightly`` restores others, whose seeds begin at ``COMPAT_SEED``, by default the
day; ``COMPAT_PROGRAMS`` of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import needs
from tests.compat.restores.record import tonight
from tests.compat.topologies.editing import EDITS
from tests.compat.topologies.judging import GOLDEN, Record, left, losses, outcome_of, records, wrong
from tests.compat.topologies.record import given_of, restored
from tests.compat.topologies.versions import versions
from tests.needs import Need

RECORDED = [record for path in sorted(GOLDEN.glob("*.jsonl.gz")) for record in records(path)]
ONE_IN = 12
"""The part of the records that is looked at by default."""
CASES = [
    pytest.param(
        record,
        id=f"{record.old_flink or record.flink}-{record.flink}-{record.seed}",
        marks=[pytest.mark.slow] if number % ONE_IN else [],
    )
    for number, record in enumerate(RECORDED)
]


@pytest.mark.parametrize("record", CASES)
def test_the_verdicts_are_what_flink_did(record: Record, tmp_path: Path) -> None:
    assert list(misjudged(record, tmp_path / "given")) == []


def misjudged(record: Record, folder: Path) -> list[tuple[object, ...]]:
    """The versions of which the check says what is wrong."""
    old, savepoint = record.put(folder)
    found: list[tuple[object, ...]] = []
    for each in record.restored:
        for given in (old, savepoint):
            outcome = outcome_of(record, each, given, folder)
            if said := wrong(record, each, outcome, from_savepoint=given is savepoint):
                found.append((record.seed, given.name, said, each.edits, losses(record, each), each.error, outcome))
    return found


def test_all_that_can_become_of_state_is_recorded() -> None:
    all_of_them = [(record, each) for record in RECORDED for each in record.restored]
    assert {each.outcome for _, each in all_of_them} == {"running", "failed", "refused"}
    running = [(record, each) for record, each in all_of_them if each.outcome == "running"]
    assert any(losses(record, each) for record, each in running)
    assert any(left(record, each) for record, each in running)
    assert sum(not losses(record, each) and not left(record, each) for record, each in running) > len(all_of_them) // 3
    assert {edit for _, each in all_of_them for edit in each.edits} == EDITS.keys()


def test_a_seed_gives_the_same_versions() -> None:
    for seed in range(40):
        assert versions(seed) == versions(seed)
        assert len(versions(seed).news) == 4


@pytest.mark.nightly
def test_random_topologies(tmp_path: Path) -> None:
    python, flink, seeds = tonight()
    if shutil.which("javac") is None:
        needs.without(Need.JAVAC)
    made = list(restored(python, flink, map(given_of, seeds)))
    assert [one for record in made for one in misjudged(record, tmp_path / str(record.seed))] == []
    assert len(made) >= len(seeds) // 2
