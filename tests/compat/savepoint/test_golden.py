"""The verdict on real savepoints agrees with what real restores did."""

from __future__ import annotations

import pytest

from compat.check.findings import Fate, Level, Report, Verdict
from tests.compat.savepoint.conftest import GOLDEN, SAVEPOINTS, pairs, saved

NAMES = sorted(path.stem for path in SAVEPOINTS.glob("*.json"))
UNTOLD = {
    "all_states_hashmap_canonical",
    "all_states_retained_checkpoint",
    "all_states_rocksdb_native",
    "backpressured_unaligned_checkpoint",
    "broadcast_p2_native_files",
    "max_parallelism_p3_canonical",
    "small_file_merging_checkpoint",
    "small_rocksdb_incremental_checkpoint",
}
"""Texts, maps and broadcast states may be of several types, and in a backend's own files no values are looked at."""

LOST = {
    # Its keyed sum keeps the state under a name that PyFlink draws at every start.
    "windows_no_uid_p3_canonical": "CMP413"
}
PAIRS = {case["name"]: case for case in pairs()}


def errors(report):
    return {finding.rule for finding in report.findings if finding.level is Level.ERROR}


@pytest.mark.parametrize("name", NAMES)
def test_the_program_that_wrote_it_restores_it(name, check):
    case = saved(name)
    report = check(case["path"], case["program"], options=case["configuration"])
    assert isinstance(report, Report)
    if name in LOST:
        assert errors(report) == {LOST[name]}
        return
    untold = {finding.old.id for finding in report.findings if finding.rule == "CMP504" and finding.old is not None}
    assert bool(untold) == (name in UNTOLD)
    assert report.verdict is (Verdict.UNKNOWN if untold else Verdict.COMPATIBLE), report.findings
    fates = {row.old.id: row.fate for row in report.mapping if row.old is not None}
    assert {id for id, fate in fates.items() if fate is Fate.UNKNOWN} == untold
    assert {fate for id, fate in fates.items() if id not in untold} <= {Fate.RESTORED}
    if untold:
        named = check(case["path"], case["program"], options=case["configuration"], names=case["program"])
        assert named.verdict is Verdict.COMPATIBLE, named.findings
        assert {row.fate for row in named.mapping} == {Fate.RESTORED}


@pytest.mark.parametrize(
    "name", ["all_states_rocksdb_native", "flink_1_20_small_uid_canonical", "stateless_keyed_canonical"]
)
def test_with_the_program_named_nothing_is_left_to_tell(name, check):
    case = saved(name)
    report = check(case["path"], case["program"], options=case["configuration"], names=case["program"])
    assert isinstance(report, Report)
    assert report.verdict is Verdict.COMPATIBLE
    assert "CMP504" not in {finding.rule for finding in report.findings}


NAMED = {"state_value_type_changed", "parallelism_changed_no_uid"}
"""The pairs that are also checked with the old program named; the others are in the slow suite."""


def ways():
    for name in PAIRS:
        yield pytest.param(name, False, id=f"{name}-alone")
        yield pytest.param(name, True, id=f"{name}-named", marks=() if name in NAMED else pytest.mark.slow)


@pytest.mark.parametrize(("name", "named"), list(ways()))
def test_agrees_with_the_real_restore(name, named, check):
    case = PAIRS[name]
    savepoint = GOLDEN / "savepoints_of_pairs" / name
    report = check(savepoint, case["new"]["script"], names=case["old"]["script"] if named else None)
    assert isinstance(report, Report)
    restore = case["expected"]["restore"]
    state = restore.get("state") or ""
    kept = restore["outcome"] == "restored" and "LOST" not in state and "WRONG" not in state
    assert (report.verdict is not Verdict.INCOMPATIBLE) == kept, report.findings
    assert errors(report) >= ({"CMP404" if named else "CMP505"} if name == "state_value_type_changed" else set())
    for finding in report.findings:
        assert finding.old_line is not None
        assert named or finding.old_line.file == str(savepoint / "_metadata")
        assert finding.new_line is not None
        assert finding.new_line.line > 0


def test_the_suggested_hashes_repair_swapped_branches(check):
    case = PAIRS["branches_swapped_no_uid"]
    savepoint, script = GOLDEN / "savepoints_of_pairs" / case["name"], case["new"]["script"]
    for finding in check(savepoint, script).findings:
        if finding.rule == "CMP103":
            script = script.replace(
                f'.name("{finding.old.name}")', f'.name("{finding.old.name}"){finding.fixes[0].call}'
            )
    assert script.count("set_uid_hash") == 2
    assert check(savepoint, script).verdict is Verdict.COMPATIBLE


def test_non_restored_state_can_be_allowed(check):
    case = PAIRS["operator_removed"]
    savepoint = GOLDEN / "savepoints_of_pairs" / case["name"]
    report = check(savepoint, case["new"]["script"], allow_non_restored=True)
    assert report.verdict is Verdict.COMPATIBLE
    assert {finding.rule: finding.level for finding in report.findings}["CMP101"] is Level.WARNING
