"""Computed columns are called by their names, unless they are computed in another way now; one edit of a key is one finding."""

import pytest

from compat.check.findings import Fate
from tests.compat.sql.test_scripts import plans, report, told


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
    assert [one.title for one in told(plans()[name, "old"], plans()[name, "new"])] == [title]


@pytest.mark.parametrize(
    ("name", "fate"), [("computed_key", Fate.WRONG_HANDS), ("computed_key_of_another_type", Fate.REFUSED)]
)
def test_what_becomes_of_state_by_another_key(name, fate):
    found = report(plans()[name, "old"], plans()[name, "new"])
    assert {row.fate for row in found.mapping if row.note == "CMP703"} == {fate}
    assert {account.fate for account in found.accounts if account.old.name.startswith("GroupAggregate")} == {fate}
