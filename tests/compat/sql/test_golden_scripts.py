"""Every pair of scripts that Flink ran: the verdict of the check is what Flink did, from the plans alone."""

from functools import cache

import pytest

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Level, Verdict
from compat.comparison import Comparison, decide
from compat.loader.inputs import Input, InputKind
from compat.plan.facts import facts_of
from compat.savepoint.load import read_old
from compat.savepoint.names import Names, of_program
from compat.sides import Savepoint
from tests.compat.loader.jvm.golden import records, savepoint
from tests.compat.sql import record

COUNTED_ON = "q_uid_always_same_jvm"
"""Both scripts are one text, and NEW was planned in a session that had planned OLD: that is no property of the scripts."""
FINE = (Verdict.COMPATIBLE, Verdict.MIGRATION)


@cache
def plans():
    return record.read()


@pytest.mark.parametrize("name", record.golden_names())
def test_the_verdict_says_what_flink_did(name):
    old, new = (facts_of(plans()[name, side], name=f"{side}.sql", kind="program") for side in ("old", "new"))
    report = check(old, new, CheckOptions(False, "2.3"))
    flinks = records()[record.VERSION, name]["attempts"]["hashmap"]
    right = flinks["outcome"] == "running" and not flinks.get("silentlyWrong")
    if name == COUNTED_ON:
        assert [one.rule for one in report.findings if one.level is Level.WARNING] == ["CMP711"]
    else:
        assert (report.verdict in FINE) == right, [one.title for one in report.findings]


@pytest.mark.parametrize("name", record.golden_names())
def test_a_savepoint_fits_the_script_that_wrote_it(name):
    path = str(savepoint(record.VERSION, name))
    given = Input(path, path, InputKind.SAVEPOINT)
    script = plans()[name, "old"]
    alone = decide(Savepoint(read_old(given, Names())), script, Comparison(path, "old.sql"), {}, None)
    assert [(one.rule, one.subject) for one in alone.findings if one.level is Level.UNKNOWN] == [
        ("CMP713", "savepoint")
    ]
    assert not [one for one in alone.findings if one.level is Level.ERROR]
    names = of_program(facts_of(script, name="old.sql", kind="program"))
    named = decide(Savepoint(read_old(given, names)), script, Comparison(path, "old.sql"), {}, None)
    assert named.verdict in FINE, [one.title for one in named.findings]


@pytest.mark.parametrize("name", ["q_agg_sum_max", "q_where_changed", "q_topn_order"])
def test_the_script_that_wrote_a_savepoint_tells_what_its_queries_were(name):
    path = str(savepoint(record.VERSION, name))
    names = of_program(facts_of(plans()[name, "old"], name="old.sql", kind="program"))
    old = Savepoint(read_old(Input(path, path, InputKind.SAVEPOINT), names))
    report = decide(old, plans()[name, "new"], Comparison(path, "new.sql"), {}, None)
    assert report.verdict is Verdict.INCOMPATIBLE
    assert {one.rule[:4] for one in report.findings if one.level is Level.ERROR} == {"CMP7"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("q_two_phase", ["table.optimizer.agg-phase-strategy"]),
        ("q_uid_default_always", ["table.exec.uid.generation"]),
        ("q_plan_minibatch", []),
        ("q_ttl_config", []),
    ],
)
def test_options_that_moved_ids_are_named(name, options):
    old, new = (facts_of(plans()[name, side], name=f"{side}.sql", kind="program") for side in ("old", "new"))
    findings = check(old, new, CheckOptions(False, "2.3")).findings
    assert [one.subject for one in findings if one.rule == "CMP712"] == options
