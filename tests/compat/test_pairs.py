"""The verdict on every recorded pair of programs agrees with what a real restore from a real savepoint did."""

import gzip
import json
from pathlib import Path

import pytest

from compat.check.findings import Level, Report, Verdict
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions

GOLDEN = Path(__file__).parents[1] / "golden" / "pyflink-2.3"

EXPECTED_RULES = {
    "branches_swapped_no_uid": {"CMP103"},
    "key_type_changed": {"CMP406"},
    "max_parallelism_changed": {"CMP301"},
    "operator_removed": {"CMP101"},
    "state_renamed": {"CMP402"},
    "state_value_type_changed": {"CMP404"},
    "sum_unchanged": {"CMP413"},
    "uids_added": {"CMP102"},
}


def cases():
    with gzip.open(GOLDEN / "pairs.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            yield pytest.param(case, id=case["name"])


def outcome_of(old, new, **options):
    load = LoadOptions(options={"parallelism.default": "2"})
    (outcome,) = compare(Comparison(str(old), str(new), load=load, **options)).outcomes
    assert isinstance(outcome, Report), outcome
    return outcome


@pytest.mark.parametrize("case", list(cases()))
def test_agrees_with_the_real_restore(case, tmp_path):
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(case["old"]["script"], encoding="utf-8")
    new.write_text(case["new"]["script"], encoding="utf-8")
    report = outcome_of(old, new)
    restore = case["expected"]["restore"]
    state = restore.get("state") or ""
    kept = restore["outcome"] == "restored" and "LOST" not in state and "WRONG" not in state
    errors = {finding.rule for finding in report.findings if finding.level is Level.ERROR}
    assert (report.verdict is not Verdict.INCOMPATIBLE) == kept, errors
    assert errors >= EXPECTED_RULES.get(case["name"], set())


@pytest.mark.parametrize("case", list(cases()))
def test_every_finding_has_a_place_in_both_programs(case, tmp_path):
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(case["old"]["script"], encoding="utf-8")
    new.write_text(case["new"]["script"], encoding="utf-8")
    for finding in outcome_of(old, new).findings:
        assert finding.old_line is not None, finding
        assert finding.new_line is not None, finding


def test_the_suggested_hashes_repair_swapped_branches(tmp_path):
    script = (GOLDEN / "programs" / "pairs" / "branches_swapped_no_uid" / "new.py").read_text(encoding="utf-8")
    old = GOLDEN / "programs" / "pairs" / "branches_swapped_no_uid" / "old.py"
    new = tmp_path / "new.py"
    new.write_text(script, encoding="utf-8")
    findings = [finding for finding in outcome_of(old, new).findings if finding.rule == "CMP103"]
    assert len(findings) == 2
    for finding in findings:
        name = finding.old.name
        script = script.replace(f'.name("{name}")', f'.name("{name}"){finding.fixes[0].call}')
    new.write_text(script, encoding="utf-8")
    assert outcome_of(old, new).verdict is Verdict.COMPATIBLE
