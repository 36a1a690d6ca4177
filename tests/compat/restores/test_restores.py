"""Random versions of jobs, restored in real PyFlink: the check says what Flink did, from programs and from savepoints alike.

What is recorded in ``tests/golden/random_restores`` is held against the check here, a sample of it by default and all of it
with ``-m slow``. ``COMPAT_PYFLINK=PYTHON pytest -m nightly`` restores others, whose seeds begin at ``COMPAT_SEED``, by default
the day; ``COMPAT_PROGRAMS`` of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.check.findings import Report
from tests.compat.restores.judging import GOLDEN, Mode, Record, outcome_of, records, wrong
from tests.compat.restores.record import ANSWERS, restored, tonight
from tests.compat.restores.versions import EDITS, WINDOWS_IN_THREADS, versions

RECORDED = [
    record for path in sorted(GOLDEN.glob("*.jsonl.gz")) for record in records(path.name.removesuffix(".jsonl.gz"))
]
ONE_IN = 48
"""The part of the records that is looked at by default."""
TOLD = {771015, 771055, 771155, 972070}
"""Seeds that showed a mistake once: what triggers and assigners count, an empty state under other keys, a refused setting."""
CASES = [
    pytest.param(
        record,
        mode,
        id=f"{record.name}-{mode.name.lower()}",
        marks=[pytest.mark.slow] if number % ONE_IN and record.seed not in TOLD else [],
    )
    for number, (record, mode) in enumerate((record, mode) for record in RECORDED for mode in Mode)
]


@pytest.mark.parametrize(("record", "mode"), CASES)
def test_the_verdict_is_what_flink_did(record: Record, mode: Mode, tmp_path: Path) -> None:
    outcome = outcome_of(record, mode, tmp_path / "given")
    assert wrong(record, mode, outcome) == "", (record.outcome, record.lost, record.errors, outcome)


def test_a_trigger_that_stays_is_not_said_to_change(tmp_path: Path) -> None:
    by_count = ".window(GlobalWindows.create()).trigger(CountTrigger"
    record = next(one for one in RECORDED if one.kept and one.edits == ("Python chaining",) and by_count in one.old)
    outcome = outcome_of(record, Mode.SAVEPOINT, tmp_path / "given")
    assert isinstance(outcome, Report)
    assert "CMP424" not in {finding.rule for finding in outcome.findings}


def test_all_that_can_become_of_state_is_recorded() -> None:
    assert {record.outcome for record in RECORDED} == set(ANSWERS)
    assert {record.when for record in RECORDED} == {"", "submission", "running"}
    assert any(record.outcome == "restored" and record.lost for record in RECORDED)
    assert sum(record.kept for record in RECORDED) > len(RECORDED) // 5
    assert len({edit for record in RECORDED for edit in record.edits}) > len(EDITS) // 2


def test_a_seed_gives_the_same_versions_and_they_differ() -> None:
    for seed in (*range(40), WINDOWS_IN_THREADS[0]):
        made, again = versions(seed), versions(seed)
        assert made == again
        assert made.old.program() != made.new.program() or len(made.edits) > 1, seed
        for job in (made.old, made.new):
            compile(job.program(), "job.py", "exec")


@pytest.mark.nightly
def test_random_restores(tmp_path: Path) -> None:
    python, flink, seeds = tonight()
    answers = 0
    differ: list[tuple[object, ...]] = []
    for record in restored(python, flink, seeds):
        if record.outcome in ANSWERS:
            answers += 1
            for mode in Mode:
                outcome = outcome_of(record, mode, tmp_path / f"{record.seed}-{mode.name}")
                if said := wrong(record, mode, outcome):
                    differ.append((f"COMPAT_SEED={record.seed}", mode.value, said, record.errors, record.lost))
    assert differ == []
    assert answers >= len(seeds) // 2
