"""Finished operators and records in flight: what a real Flink 2.3.0 did with these very programs and savepoints."""

from __future__ import annotations

import pytest

from compat.check.findings import Level, Report, Verdict
from tests.compat.savepoint.conftest import saved

RULES_SOURCE = """rules = env.from_source(NumberSequenceSource(0, 3), WatermarkStrategy.no_watermarks(), "rules") \\
        .uid("rules")"""
MAP = '.map(lambda x: x, L).uid("{}")'

FINISHED = {
    "as written": (RULES_SOURCE, None),
    # "Can not restore vertex … which contain mixed operator finished state: [ALL_RUNNING, FULLY_FINISHED]"
    "new operator in the finished chain": (RULES_SOURCE + MAP.format("new"), "CMP204"),
    "new operator behind the finished chain": (RULES_SOURCE + ".rebalance()" + MAP.format("new"), None),
    # "Illegal JobGraph modification. Cannot run a program with fully finished vertices predeceased …"
    "running source before the finished operator": (
        RULES_SOURCE.replace('uid("rules")', 'uid("others")') + ".rebalance()" + MAP.format("rules"),
        "CMP204",
    ),
}
IN_FLIGHT = {
    "as written": (".rebalance()", None),
    # "Cannot recover from unaligned checkpoint when topology changes, such that data exchanges … are now chained."
    "exchange gone": ("", "CMP205"),
}


def errors(outcome):
    assert isinstance(outcome, Report), outcome
    return {finding.rule for finding in outcome.findings if finding.level is Level.ERROR}


@pytest.mark.parametrize("case", FINISHED)
def test_a_partly_finished_job(case, check):
    source, rule = FINISHED[case]
    written = saved("broadcast_p2_native_files")
    assert RULES_SOURCE in written["program"]
    report = check(written["path"], written["program"].replace(RULES_SOURCE, source))
    assert errors(report) == ({rule} if rule else set())


@pytest.mark.parametrize("case", IN_FLIGHT)
def test_an_unaligned_checkpoint(case, check):
    exchange, rule = IN_FLIGHT[case]
    written = saved("backpressured_unaligned_checkpoint")
    assert ".rebalance()" in written["program"]
    report = check(written["path"], written["program"].replace(".rebalance()", exchange))
    assert errors(report) == ({rule} if rule else set())


def test_a_state_backends_own_format_belongs_to_it(check):
    written = saved("all_states_rocksdb_native")
    backend = "state.backend.type"
    assert check(written["path"], written["program"], options={backend: "rocksdb"}).findings[0].rule == "CMP504"
    untold = {finding.rule: finding.level for finding in check(written["path"], written["program"]).findings}
    assert untold["CMP503"] is Level.WARNING
    assert errors(check(written["path"], written["program"], options={backend: "hashmap"})) == {"CMP503"}


def test_heap_to_rocksdb_is_refused_and_a_canonical_savepoint_is_not(check):
    native, canonical = saved("broadcast_p2_native_files"), saved("all_states_hashmap_canonical")
    rocksdb = {"state.backend.type": "rocksdb"}
    assert errors(check(native["path"], native["program"], options=rocksdb)) == {"CMP503"}
    same = check(canonical["path"], canonical["program"], options=rocksdb, names=canonical["program"])
    assert same.verdict is Verdict.COMPATIBLE


FORMATS = [
    ("all_states_hashmap_canonical", "forst", Level.ERROR),
    ("broadcast_p2_native_files", "forst", Level.ERROR),
    ("broadcast_p2_native_files", "jobmanager", None),
    ("all_states_rocksdb_native", "forst", None),
    ("all_states_rocksdb_native", "org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackendFactory", None),
    ("all_states_hashmap_canonical", "com.example.MyBackendFactory", Level.UNKNOWN),
]


@pytest.mark.parametrize(("name", "backend", "level"), FORMATS)
def test_a_backend_restores_from_some_formats(name, backend, level, check):
    written = saved(name)
    report = check(written["path"], written["program"], options={"state.backend.type": backend})
    assert {finding.level for finding in report.findings if finding.rule == "CMP503"} == ({level} if level else set())
    if level is Level.UNKNOWN:
        assert report.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("name", ["all_states_hashmap_canonical", "broadcast_p2_native_files"])
def test_forst_is_given_files_of_rocksdb(name, check):
    written = saved(name)
    report = check(written["path"], written["program"], options={"state.backend.type": "forst"})
    (found,) = [finding for finding in report.findings if finding.rule == "CMP503"]
    assert "--native rocksdb" in found.fixes[0].text
