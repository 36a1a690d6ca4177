"""What is said of an operator that another one replaces under its uid, beside what PyFlink did with its state."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.check.findings import Report, Verdict
from tests.compat.restores.judging import OF_LEFT_STATE, Mode, Record, outcome_of
from tests.compat.restores.replacing import (
    BARE,
    FILTER,
    FLAT_MAP,
    MAP,
    OTHER,
    PAIRS,
    PROCESS,
    SINK,
    STATE,
    TIMERS,
    program,
    records,
)

VERSIONS = ("1.20.1", "2.3.0")
WITHOUT_KEY = (MAP, FILTER, FLAT_MAP, PROCESS, SINK)
"""Operators that have no use for keyed state, and to which Flink hands it all the same."""
_OFTEN = ((STATE, FILTER), (STATE, "keyed filter"), (BARE, MAP))


def _case(record: Record, mode: Mode) -> object:
    often = record.edits in _OFTEN and mode is Mode.SAVEPOINT
    name = f"{record.flink}-{' to '.join(record.edits)}-{mode.value}".replace(" ", "_")
    return pytest.param(record, mode, id=name, marks=() if often else pytest.mark.slow)


CASES = [_case(record, mode) for version in VERSIONS for record in records(version) for mode in Mode]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_pair_is_recorded_and_restored(version: str) -> None:
    found = {(*record.edits, record.old, record.new): record.outcome for record in records(version)}
    assert found == {(old, new, program(old), program(new)): "restored" for old, new in PAIRS}


@pytest.mark.parametrize(("record", "mode"), CASES)
def test_a_rule_speaks_where_state_is_gone_and_nowhere_else(record: Record, mode: Mode, tmp_path: Path) -> None:
    outcome = outcome_of(record, mode, tmp_path / "given")
    assert isinstance(outcome, Report)
    (old, new), rules = record.edits, {finding.rule for finding in outcome.findings}
    gone = old == TIMERS or any(record.after.get(label) != held for label, held in record.before.items())
    assert bool(rules & OF_LEFT_STATE - {"CMP107"}) == gone
    refused = gone and (new in WITHOUT_KEY or new == OTHER)
    assert outcome.verdict is (Verdict.INCOMPATIBLE if refused else Verdict.COMPATIBLE)
