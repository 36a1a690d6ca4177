"""Fixes are written as the language of NEW writes them."""

import pytest

from compat.check.findings import Finding, Fix, Level
from compat.check.spelling import spelled
from tests.compat.builders import operator, program

MAP = operator("map")
SUM = operator("GroupAggregate[4]", description="[4]:GroupAggregate(groupBy=[k], select=[k, SUM(v) AS s])")


def finding(*fixes, new=None):
    return Finding(
        rule="CMP102",
        level=Level.ERROR,
        title="the id has moved",
        consequence="state_name stays; .key_by(x) is a call",
        reason="because",
        new=new,
        fixes=fixes,
    )


PIN = Fix(text="Add .set_uid_hash(\"ab\") to 'count'.", call='.set_uid_hash("ab")')
KEEP = Fix(text="Keep the type.", code='ValueStateDescriptor("count", Types.LONG())')


def test_a_command_is_spelled_alike_in_every_language():
    moved = Fix(text="Or move it.", code="compat migrate a.new_state.d b.new_job.jar out", moves=True)
    (one,) = spelled([finding(moved)], program(MAP, language="java"))
    assert one.fixes == (moved,)


@pytest.mark.parametrize("language", [None, "python", "topology"])
def test_rules_write_pyflinks_spelling(language):
    (found,) = spelled([finding(PIN, KEEP)], program("new", MAP, SUM, language=language))
    assert found.fixes == (PIN, KEEP)


def test_in_java_calls_have_humps_and_types_are_constants():
    (found,) = spelled([finding(PIN, KEEP)], program("new", MAP, SUM, language="java"))
    pin, keep = found.fixes
    assert (pin.text, pin.call) == ("Add .setUidHash(\"ab\") to 'count'.", '.setUidHash("ab")')
    assert keep.code == 'ValueStateDescriptor("count", Types.LONG)'
    assert found.consequence == "state_name stays; .keyBy(x) is a call"


def test_sql_has_no_calls_and_says_so_once():
    (found,) = spelled(
        [finding(PIN, PIN, Fix(text="Restore with -n.", code="--allowNonRestoredState"))],
        program("new", MAP, SUM, language="sql"),
    )
    plan, restore = found.fixes
    assert "COMPILE PLAN" in plan.text
    assert plan.call is None
    assert restore.code == "--allowNonRestoredState"


@pytest.mark.parametrize("language", ["python", "java"])
def test_what_the_table_api_made_has_no_calls_either(language):
    each = [Fix(text="Add it.", call='.uid("a")', operator_id=one.id) for one in (MAP, SUM)]
    new = program("new", MAP, SUM, language=language)
    (found,) = spelled([finding(*each, *each, KEEP, new=MAP)], new)
    uid, plan, keep = found.fixes
    assert uid == each[0]
    assert plan.call is None
    assert "compiled plan" in plan.text
    assert ("compilePlan()" if language == "java" else "compile_plan()") in plan.text
    assert keep.code.startswith("ValueStateDescriptor")
    of_query, of_calls = spelled([finding(PIN, new=SUM), finding(PIN, new=MAP)], new)
    assert of_query.fixes == (plan,)
    assert "Hash" in of_calls.fixes[0].call or "hash" in of_calls.fixes[0].call
