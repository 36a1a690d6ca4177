"""Computed columns are called by their names, unless they are computed in another way now; one edit of a key is one finding."""

import pytest

from compat.check.decision import with_findings
from compat.check.findings import Fate, Level, Verdict
from compat.check.ignores import IgnoredRule, apply_ignored_rules
from compat.report.summary import by_cause
from tests.compat.sql.test_scripts import plans, report


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("computed_key", "GroupAggregate[4]: the key of its GROUP BY was grp and is amount"),
        ("computed_key_of_another_type", "GroupAggregate[4]: the key of its GROUP BY was amount and is cat"),
        ("computed_otherwise", "GroupAggregate[4]: SUM(MOD(id * 37, 101)) became SUM(MOD(id * 38, 101))"),
        ("group_key_added", "GroupAggregate[6]: the key of its GROUP BY was k and is k, k2"),
    ],
)
def test_one_edit_is_one_finding_in_the_words_of_the_query(name, title):
    found = by_cause(report(plans()[name, "old"], plans()[name, "new"]))
    assert [one.title for one in found if one.level is Level.ERROR] == [title]


def test_a_type_is_told_where_what_explains_it_is_ignored():
    found = report(plans()["computed_key_of_another_type", "old"], plans()["computed_key_of_another_type", "new"])
    kept, ignored = apply_ignored_rules(found.findings, [IgnoredRule("CMP703")])
    left = with_findings(found, kept, ignored)
    assert left.verdict is Verdict.INCOMPATIBLE
    assert "CMP406" in {one.rule for one in by_cause(left)}


@pytest.mark.parametrize(
    ("name", "fate"), [("computed_key", Fate.WRONG_HANDS), ("computed_key_of_another_type", Fate.REFUSED)]
)
def test_what_becomes_of_state_by_another_key(name, fate):
    found = report(plans()[name, "old"], plans()[name, "new"])
    assert {row.fate for row in found.mapping if row.old.name.startswith("GroupAggregate")} == {fate}
    assert {account.fate for account in found.accounts if account.old.name.startswith("GroupAggregate")} == {fate}
