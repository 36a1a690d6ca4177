"""Every pair in Java: the verdict and the findings."""

from __future__ import annotations

import msgspec
import pytest

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Level
from compat.plan.facts import facts_of
from compat.state.model.job import Plan
from tests.compat.java_pairs.build import DIGEST, JARS
from tests.compat.java_pairs.model import digest
from tests.compat.java_pairs.programs import JAVA_NEAR_MISSES, JAVA_PAIRS, PARTS

ABOUT_NEW = ("CMP104",)
"""What is said of most of these programs, whatever their pair is about."""


def report_of(plans, pair, **options):
    old, new = (facts_of(plans[pair.name, side], name=f"{side}.jar", kind="program") for side in ("old", "new"))
    return check(old, new, CheckOptions(**options))


def rules_of(report, *, notes=False):
    return {
        finding.rule
        for finding in report.findings
        if finding.rule not in ABOUT_NEW and (finding.level is Level.NOTE) == notes
    }


def test_the_jars_are_those_of_the_programs():
    made = (JARS / DIGEST).read_text(encoding="utf-8").strip()
    assert made == digest(JAVA_PAIRS, PARTS), "python -m tests.compat.java_pairs.build"


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.name) for pair in JAVA_PAIRS])
def test_verdict_and_findings(pair, plans):
    report = report_of(plans, pair)
    assert (report.verdict.value, rules_of(report), rules_of(report, notes=True)) == (
        pair.verdict,
        set(pair.rules),
        set(pair.notes),
    ), [finding.title for finding in report.findings]


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.name) for pair in JAVA_PAIRS])
def test_every_finding_has_a_place_and_a_fix(pair, plans):
    for finding in report_of(plans, pair).findings:
        assert finding.old_line is not None, finding
        assert finding.new_line is not None, finding
        assert finding.fixes, finding


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.name) for pair in JAVA_PAIRS])
def test_a_program_beside_itself_is_compatible(pair, plans):
    plan = plans[pair.name, "old"]
    report = check(
        facts_of(plan, name="old.jar", kind="program"), facts_of(plan, name="old.jar", kind="program"), CheckOptions()
    )
    assert rules_of(report) == {"CMP108"} & set(pair.rules), "but for a program that is another one at each start"


@pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.name) for pair in JAVA_PAIRS])
def test_a_plan_that_was_kept_says_the_same(pair, plans):
    for side in ("old", "new"):
        plan = plans[pair.name, side]
        assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@pytest.mark.parametrize("rule", JAVA_NEAR_MISSES)
def test_a_rule_speaks_and_is_silent_after_a_small_edit(rule, plans):
    by_name = {pair.name: pair for pair in JAVA_PAIRS}
    speaks, silent = (report_of(plans, by_name[name]) for name in JAVA_NEAR_MISSES[rule])
    assert rule in rules_of(speaks) | rules_of(speaks, notes=True)
    assert rule not in rules_of(silent) | rules_of(silent, notes=True)


@pytest.mark.parametrize("name", ["state_names_exchanged", "condition_changed", "window_size"])
def test_differences_are_data(name, plans):
    from compat.check.difference import difference

    pair = next(pair for pair in JAVA_PAIRS if pair.name == name)
    (changed,) = difference(report_of(plans, pair)).operators
    assert changed.changes
    for change in changed.changes:
        msgspec.json.encode((change.was, change.now))
        assert "Struct" not in repr(change.path), change


def test_with_n_a_state_may_go(plans):
    pair = next(pair for pair in JAVA_PAIRS if pair.name == "only_state_dropped")
    report = report_of(plans, pair, allow_non_restored=True)
    assert report.verdict.value == "compatible"
    assert rules_of(report) == {"CMP401"}


def test_values_are_not_told(plans):
    """What a function was made with may be a secret: a plan has digests of it."""
    plan = plans["branches_made_otherwise", "new"]
    functions = [operator.function for operator in plan.operators if operator.detail.get("timers") is not None]
    counts = [function for function in functions if function is not None and function.name == "pairs.Parts$Count"]
    assert [[value.name for value in function.captured] for function in counts] == [["label"], ["label"]]
    assert counts[0].captured != counts[1].captured
    assert b'"c"' not in msgspec.json.encode(counts)


def test_sources_say_whether_they_come_to_an_end(plans):
    def ends(name):
        return {one.uid: one.detail.get("bounded") for one in plans[name, "old"].operators if not one.inputs}

    assert ends("legacy_source_kept") == {"old": None}
    assert set(ends("uids_kept").values()) == {True}
