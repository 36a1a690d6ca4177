"""Pairs of SQL scripts: what changed its meaning is found, and what did not is let pass."""

from functools import cache

import pytest
from msgspec import structs

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Level
from compat.plan.facts import facts_of
from tests.compat.sql import record
from tests.compat.sql.scripts import PAIRS

ANEW = (
    "sum_other_column",
    "where_changed",
    "statements_exchanged",
    "join_sides_exchanged",
    "window_same",
    "long_names",
)
"""Pairs that are built by Flink in the tests, too."""
UNTOLD_BY_DESCRIPTIONS = {
    "between",
    "case_as_filter",
    "case_if",
    "casts_of_numbers",
    "dedup_arrival_column",
    "first_by_arrival_column",
    "functions_by_other_names",
    "larger_than",
    "smaller_than",
    "normalized_filter_same",
    "over_arrival_column",
    "zone_untouched",
    "zone_untouched_of_the_cluster",
    "where_written_otherwise",
    "join_same",
    "source_table_renamed",
    "table_like",
}
"""Pairs without a difference whose descriptions have one: that is not told apart, and not called compatible."""


@cache
def plans():
    return record.read()


def report(old, new):
    facts = [facts_of(plan, name=f"{side}.sql", kind="program") for side, plan in (("old", old), ("new", new))]
    return check(*facts, CheckOptions(False, "2.3"))


def told(old, new):
    """The findings of a check but for what is said of every job without uids."""
    return [one for one in report(old, new).findings if one.rule != "CMP104" and one.level is not Level.NOTE]


def assert_judged(pair, found):
    rules = {one.rule for one in found}
    if not pair.rule:
        assert not found, [one.title for one in found]
    elif pair.rule == "any":
        assert found
    else:
        assert pair.rule in rules, [one.title for one in found]
        assert found[0].level.value == pair.level, [one.title for one in found]


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair(name):
    assert_judged(PAIRS[name], told(plans()[name, "old"], plans()[name, "new"]))


@pytest.mark.parametrize("name", PAIRS)
def test_a_script_is_the_same_as_itself(name):
    for side in ("old", "new"):
        found = told(plans()[name, side], plans()[name, side])
        assert {one.rule for one in found} <= {"CMP711"}


@pytest.mark.parametrize("name", PAIRS)
def test_without_compiled_plans_descriptions_tell(name):
    """What is wrong is never called compatible; what is right may stay open where a name or an order differs."""
    pair = PAIRS[name]
    found = told(*(_described(plans()[name, side]) for side in ("old", "new")))
    undecided = any(one.level in (Level.ERROR, Level.UNKNOWN) for one in found)
    if pair.level in ("error", "unknown") and pair.rule != "any":
        assert undecided
    elif not pair.rule and name not in UNTOLD_BY_DESCRIPTIONS:
        assert not found, [one.title for one in found]


@pytest.mark.parametrize("name", ["sum_other_column", "same"])
def test_what_nothing_tells_is_not_called_compatible(name):
    found = told(*(_untold(plans()[name, side]) for side in ("old", "new")))
    assert [(one.rule, one.level) for one in found] == [("CMP713", Level.UNKNOWN)]


@pytest.mark.parametrize(
    "junk", ["{", "[]", "{}", '{"id": 6, "type": "stream-exec-group-aggregate_1", "grouping": "x"}']
)
@pytest.mark.parametrize("name", ["same", "sum_other_column"])
def test_nodes_that_cannot_be_read_are_compared_by_their_descriptions(name, junk):
    found = told(*(_with(plans()[name, side], exec_node=junk) for side in ("old", "new")))
    assert [one.rule for one in found] == (["CMP713"] if PAIRS[name].rule else [])


@pytest.mark.parametrize("fields", [{}, {"exec_node": None}])
def test_a_loop_in_a_plan_from_a_file_ends(fields):
    plan = _with(plans()["sum_other_column", "new"], **fields)
    looped = _with(plan, inputs=(plan.operators[-1].id,))
    assert told(plans()["sum_other_column", "old"], looped)


def _described(plan):
    return _with(plan, exec_node=None)


def _untold(plan):
    return _with(plan, exec_node=None, description=None)


def _with(plan, **fields):
    return structs.replace(plan, operators=tuple(structs.replace(one, **fields) for one in plan.operators))


@pytest.mark.parametrize("name", PAIRS)
def test_operators_have_the_line_of_their_statement(name):
    plan = plans()[name, "new"]
    lines = {statement.line for statement in plan.statements}
    assert {one.source.line for one in plan.operators} <= lines
    assert {one.source.file for one in plan.operators} == {"new.sql"}


def test_findings_point_at_their_statement():
    (found,) = told(plans()["statement_of_a_set_changed", "old"], plans()["statement_of_a_set_changed", "new"])
    assert found.title == "GroupAggregate[12]: SUM(v2) became MAX(v2)"
    text = PAIRS["statement_of_a_set_changed"].new.splitlines()
    assert text[found.new_line.line - 1] == "INSERT INTO o2 SELECT k, MAX(v2) FROM a GROUP BY k;"


def test_an_exchange_is_one_finding():
    (found,) = told(plans()["statements_exchanged", "old"], plans()["statements_exchanged", "new"])
    assert found.title == "operators changed places: GroupAggregate[6], GroupAggregate[12]"
    assert found.silent
    assert [str(line) for _, line in found.related] == ["new.sql:7"]


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("reordered", ["GroupAggregate[6]: the aggregates changed places: SUM(v), MAX(v2) became MAX(v2), SUM(v)"]),
        ("filter_changed", ["GroupAggregate[6]: SUM(v) FILTER (WHERE v > 10) became SUM(v) FILTER (WHERE v > 20)"]),
        ("larger_than_by_one", ["GroupAggregate[6]: the rows that it reads were WHERE v > 20 and are WHERE v >= 20"]),
        (
            "between_by_one",
            [
                "GroupAggregate[6]: the rows that it reads were WHERE v >= 21 AND v <= 30 and are WHERE v > 20 AND v < 30",
            ],
        ),
        (
            "case_if_turned",
            ["GroupAggregate[6]: SUM(CASE WHEN k2 > 1 THEN v ELSE 0 END) became SUM(IF(k2 > 1, 0, v))"],
        ),
        (
            "zone_key",
            [
                "GroupAggregate[5]: the key of its GROUP BY was DATE_FORMAT(CAST(ts AS TIMESTAMP(3) WITH LOCAL TIME ZONE), "
                "'HH') (in UTC) and is DATE_FORMAT(CAST(ts AS TIMESTAMP(3) WITH LOCAL TIME ZONE), 'HH') (in Asia/Kolkata)",
                "the option table.local-time-zone was UTC and is Asia/Kolkata",
            ],
        ),
        (
            "zone_window",
            [
                "GlobalWindowAggregate[6]: its window was TUMBLE(size 2 min) in UTC and is TUMBLE(size 2 min) in Asia/Kolkata",
                "the option table.local-time-zone was UTC and is Asia/Kolkata",
            ],
        ),
        ("where_changed", ["GroupAggregate[6]: the rows that it reads were WHERE v > 10 and are WHERE v > 20"]),
        ("join_other_key", ["Join[11]: it joined on (a.k) = (b.k) and joins on (a.k2) = (b.k)"]),
        ("top_n_larger", ["Rank[6]: it kept the ranks 1 to 3 and is to keep the ranks 1 to 5"]),
        ("window_size", ["GlobalWindowAggregate[6]: its window was TUMBLE(size 2 min) and is TUMBLE(size 4 min)"]),
        (
            "by_other_end_of_window",
            [
                "GroupAggregate[9]: the key of its GROUP BY was window_start of GlobalWindowAggregate[6] and is window_end "
                "of GlobalWindowAggregate[6]"
            ],
        ),
        ("source_table_replaced", ["the source of a reads b now"]),
        (
            "several_changes",
            [
                "GroupAggregate[6]: SUM(v) became MAX(v)",
                "GroupAggregate[6]: the rows that it reads were WHERE v > 1 and are WHERE v > 2",
            ],
        ),
    ],
)
def test_words(name, titles):
    assert [one.title for one in told(plans()[name, "old"], plans()[name, "new"])] == titles


def test_flink_makes_these_plans(flink, java):
    """The recorded plans are Flink's; nothing moved since."""
    built = record.build(ANEW, flink, java)
    for (name, side), plan in built.items():
        assert [one.id for one in plan.operators] == [one.id for one in plans()[name, side].operators]
    for name in ANEW:
        assert_judged(PAIRS[name], told(built[name, "old"], built[name, "new"]))


@pytest.mark.parametrize(
    ("pair", "rule", "heirs"),
    [
        ("over_column", "CMP701", 0),  # it keeps sums and rows
        ("sum_other_column", "CMP701", 1),
        ("where_changed", "CMP702", 0),
    ],
)
def test_parts_of_what_is_kept_have_heirs_where_nothing_else_is_different(pair: str, rule: str, heirs: int) -> None:
    found = [one for one in told(plans()[pair, "old"], plans()[pair, "new"]) if one.rule == rule]
    assert found
    assert {len(one.heirs) for one in found} == {heirs}


def test_operators_that_both_changed_did_not_exchange_their_places() -> None:
    found = told(plans()["statements_both_changed", "old"], plans()["statements_both_changed", "new"])
    assert [one.rule for one in found] == ["CMP701"] * 2


def test_what_changed_in_operators_that_exchanged_their_places_is_told_of_these() -> None:
    """The first statement is the second one now, and its sums changed places besides."""
    changed, exchanged = told(*(plans()["statements_exchanged_and_changed", side] for side in ("old", "new")))
    assert (changed.rule, exchanged.rule) == ("CMP701", "CMP709")
    assert {(one.old.id, one.new.id) for one in exchanged.heirs} == {
        (old.id, new.id) for old, new in ((changed.old, changed.new), (changed.new, changed.old))
    }
    (heir,) = changed.heirs
    assert (heir.places, changed.old.id == changed.new.id) == ((1, 0), False)
    assert changed.title.endswith("SUM(v), COUNT(*) became COUNT(*), SUM(v)")
