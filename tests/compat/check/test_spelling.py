"""Fixes are written as the language of NEW writes them."""

import pytest

from compat.check.findings import Finding, Fix, Level
from compat.check.spelling import spelled


def finding(*fixes):
    return Finding(
        rule="CMP102",
        level=Level.ERROR,
        title="the id has moved",
        consequence="state_name stays; .key_by(x) is a call",
        reason="because",
        fixes=fixes,
    )


PIN = Fix(text="Add .set_uid_hash(\"ab\") to 'count'.", call='.set_uid_hash("ab")')
KEEP = Fix(text="Keep the type.", code='ValueStateDescriptor("count", Types.LONG())')


@pytest.mark.parametrize("language", [None, "python", "topology"])
def test_rules_write_pyflinks_spelling(language):
    (found,) = spelled([finding(PIN, KEEP)], language)
    assert found.fixes == (PIN, KEEP)


def test_in_java_calls_have_humps_and_types_are_constants():
    (found,) = spelled([finding(PIN, KEEP)], "java")
    pin, keep = found.fixes
    assert (pin.text, pin.call) == ("Add .setUidHash(\"ab\") to 'count'.", '.setUidHash("ab")')
    assert keep.code == 'ValueStateDescriptor("count", Types.LONG)'
    assert found.consequence == "state_name stays; .keyBy(x) is a call"


def test_sql_has_no_calls_and_says_so_once():
    (found,) = spelled([finding(PIN, PIN, Fix(text="Restore with -n.", code="--allowNonRestoredState"))], "sql")
    plan, restore = found.fixes
    assert "COMPILE PLAN" in plan.text
    assert plan.call is None
    assert restore.code == "--allowNonRestoredState"
