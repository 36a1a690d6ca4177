"""Every pair of the table: the verdict and the findings, and that they agree with what a real restore did."""

from __future__ import annotations

import json
from difflib import SequenceMatcher

import pytest
from msgspec.structs import replace

from compat.check.catalogue import RULES
from compat.check.decision import check
from compat.check.findings import Level, Report
from compat.plan.as_run import KEPT_BY, STORE
from compat.plan.facts import Program
from tests.compat.java_pairs.programs import JAVA_NEAR_MISSES
from tests.compat.loader.jvm.test_classes import NEAR_MISSES as ABOUT_CLASSES
from tests.compat.pairs.judging import Judged
from tests.compat.pairs.model import Pair
from tests.compat.pairs.record import NOT_SEEN, RECORDS
from tests.compat.pairs.table import NEAR_MISSES, PAIRS
from tests.compat.sql.scripts import PAIRS as SCRIPTS

RESTORES = json.loads(RECORDS.read_text(encoding="utf-8"))
BY_NAME = {pair.name: pair for pair in PAIRS}
CASES = pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.name) for pair in PAIRS])
SMALL_EDIT = 6
"""Lines that may differ between a pair where a rule speaks and the one where it is silent."""

OF_FLINKS_JOBS = {"CMP418", "CMP427", "CMP428", "CMP712"}
"""Rules about what Flink throws, plans and reads, shown by the golden jobs in Java, Scala and SQL, and their savepoints."""

OF_SINKS_IN_JAVA = {"CMP808"}
"""Rules about calls that PyFlink does not have: tests/compat/check/test_kafka_restores.py has what came of them."""

OF_OURS = {"CMP906"}
"""Rules about faults of ours: tests/compat/loader/test_crashes.py has them happen."""

OF_DEPLOYMENTS = {"CMP606"}
"""Rules about files beside the programs: tests/compat/deployment has them."""

OF_LATER_PLANNERS = {"CMP713"}
"""Rules about nodes of queries that no planner of today has: tests/compat/sql/test_exec_nodes.py makes one."""

OF_ASSUMPTIONS = {"CMP306", "CMP608"}
"""Rules about what the pairs of the table say, and others leave open: tests/compat/check/test_assumptions.py."""

OF_A_SNAPSHOT_TO_COME = {
    "CMP204": "source_of_a_chain_that_ends_renamed",
    "CMP506": "timers_on_heap",
    "CMP607": "backend_to_rocksdb",
}
"""Rules that speak of two programs because Flink has yet to take the snapshot, and such a pair."""

OF_FLINK_ALONE = {rule.id: NEAR_MISSES[rule.id][0] for rule in RULES.values() if rule.only_in_flink}

ABOUT_NEW = ("CMP904", "CMP905")
"""Rules about the text of NEW alone."""


@CASES
def test_verdict_and_findings(pair: Pair, judged: dict[str, Judged]) -> None:
    found = judged[pair.name]
    assert (found.verdict, found.rules()) == (pair.verdict, pair.rules), found.outcome


@CASES
def test_every_finding_has_a_place_and_a_fix(pair: Pair, judged: dict[str, Judged]) -> None:
    for finding in judged[pair.name].findings:
        assert finding.old_line is not None or finding.rule in ABOUT_NEW, finding
        assert finding.new_line is not None, finding
        assert finding.fixes or finding.level is Level.NOTE, finding


def test_every_rule_of_the_catalogue_has_a_near_miss() -> None:
    known = NEAR_MISSES.keys() | ABOUT_CLASSES.keys() | JAVA_NEAR_MISSES.keys() | {one.rule for one in SCRIPTS.values()}
    assert (
        known - {"", "any"}
        | OF_FLINKS_JOBS
        | OF_SINKS_IN_JAVA
        | OF_OURS
        | OF_DEPLOYMENTS
        | OF_ASSUMPTIONS
        | OF_LATER_PLANNERS
        == RULES.keys()
    )


@pytest.mark.parametrize("rule", NEAR_MISSES)
def test_a_rule_speaks_and_is_silent_after_the_smallest_edit(rule: str, judged: dict[str, Judged]) -> None:
    speaks, silent = NEAR_MISSES[rule]
    assert rule in judged[speaks].rules(notes=True)
    assert rule not in judged[silent].rules(notes=True)
    edits = SequenceMatcher(None, BY_NAME[speaks].lines, BY_NAME[silent].lines, autojunk=False).get_opcodes()
    changed = sum(max(to - of, end - start) for tag, of, to, start, end in edits if tag != "equal")
    assert 0 < changed <= SMALL_EDIT


@pytest.mark.parametrize("name", sorted(RESTORES))
def test_the_verdict_agrees_with_the_real_restore(name: str) -> None:
    pair, record = BY_NAME[name], RESTORES[name]
    assert record["programs"] == pair.digest, "the programs changed: record the restore again"
    kept = record["outcome"] == "restored" and record["state"] in ("kept", NOT_SEEN)
    dropped = "CMP401" in pair.rules and record["state"] == "lost"  # as the program says
    assert (kept or dropped) == (pair.verdict not in ("incompatible", "unknown")), record


def test_every_pair_is_recorded_or_says_why_not() -> None:
    assert set(RESTORES) == {pair.name for pair in PAIRS if not pair.unrecorded}


@pytest.mark.parametrize(("rule", "name"), [*OF_FLINK_ALONE.items(), *OF_A_SNAPSHOT_TO_COME.items()])
def test_what_only_flink_does_is_not_said_of_a_restore_on_spark(
    rule: str, name: str, judged: dict[str, Judged]
) -> None:
    outcome = judged[name].outcome
    assert isinstance(outcome, Report)
    assert rule in {finding.rule for finding in check(outcome.old, outcome.new).findings}
    on_spark = check(_as_run(outcome.old), _as_run(outcome.new))
    assert rule not in {finding.rule for finding in on_spark.findings}


def _as_run(program: Program) -> Program:
    """The program with the setting that jobs on Spark have; a snapshot of Flink's as it is."""
    if program.snapshot is not None:
        return program
    return replace(program, settings={**program.settings, KEPT_BY: STORE})
