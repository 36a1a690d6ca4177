"""The values that the page is made of."""

from __future__ import annotations

import json
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.plan.facts import facts_of
from compat.report import ReportContext
from compat.report.context import OfferedRecipe
from compat.report.json_report import as_dict
from compat.view.layers import LAYERS, Side, joint_layers
from compat.view.order import FATES
from compat.view.page_values import check_section, document_section, plan_section
from tests.compat.browser.samples import NEW, OLD, all_fates, plan, wide_plan
from tests.compat.builders import moved_report, operator, program
from tests.compat.report.cases import CASES, CONTEXT
from tests.compat.test_escaping import NASTY, is_clean, nasty_failure, nasty_report


def section(old=OLD, new=NEW):
    plans = plan(*old), plan(*new)
    programs = [facts_of(each, name=name, kind="program") for each, name in zip(plans, ("old", "new"), strict=True)]
    return check_section(check(*programs, CheckOptions()), ReportContext(sources={}), plans)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_shows_each_thing_of_each_side_once(layer):
    found = section()
    for side in ("old", "new"):
        shown = [box[side] for box in found["layers"][layer]["boxes"] if box[side] is not None]
        things = found["sides"][side]["operators" if layer == "stream" else "vertices"]
        assert sorted(shown) == list(range(len(things)))


def test_edges_carry_what_flink_calls_them():
    layers = section()["layers"]
    assert {edge["new"] for edge in layers["stream"]["edges"]} == {"hash", "forward", None}
    assert {edge["new"] for edge in layers["execution"]["edges"]} == {"all to all, 4 connections", None}


def test_without_a_plan_the_graphs_come_from_the_facts():
    with_plan = plan(*OLD)
    facts = facts_of(with_plan, name="a", kind="program")
    drawn, told = (joint_layers(None, Side(facts, each)) for each in (with_plan, None))

    def ends(layers, name):
        return {(edge["from"], edge["to"]) for edge in layers[name]["edges"]}

    assert all(ends(drawn, name) == ends(told, name) for name in LAYERS)


def test_an_operator_without_a_vertex_stands_for_itself():
    side = Side(program("savepoint", operator("Count"), operator("Sum"), kind="savepoint"), None)
    assert [vertex.name for vertex in side.vertices] == ["Count", "Sum"]
    assert [box["slots"] for box in joint_layers(side, None)["job"]["boxes"]] == [[[0, None]], [[1, None]]]
    assert side.vertex_members() == [[0], [1]]


def test_slots_of_a_vertex_are_its_operators():
    found = section()
    for box in found["layers"]["job"]["boxes"]:
        for place, side in enumerate(("old", "new")):
            members = [slot[place] for slot in box["slots"] if slot[place] is not None]
            known = [] if box[side] is None else found["sides"][side]["vertices"][box[side]]["operators"]
            assert sorted(members) == sorted(known)


def test_findings_and_rows_point_at_operators():
    found = section()
    assert {row["fate"] for row in found["mapping"]} >= {"restored", "empty"}
    for item in (*found["findings"], *found["mapping"]):
        for side in ("old", "new"):
            if item[side] is not None:
                assert found["sides"][side]["operators"][item[side]]["name"]


def test_the_ledger_is_told_as_the_text_tells_it():
    found = check_section(CASES["compatible"], CONTEXT)
    assert found["looked_at"] == "2 states of 1 operator: all accounted for, 1 by Flink's serializers."
    told = [(row["state"], row["words"], row["evidence"]) for row in found["accounts"]]
    assert told == [("n", "restored", f"id, type, by {who}") for who in ("our readers", "Flink's serializers")]
    (unknown,) = check_section(CASES["unknown"], CONTEXT)["accounts"]
    assert (unknown["state"], unknown["fate"], unknown["evidence"]) == ("further states", "unknown", "CMP410")
    assert not unknown["named"]


def test_accounts_name_both_operators_and_the_worst_fates_come_first():
    found = section()
    sides = {side: found["sides"][side]["operators"] for side in ("old", "new")}
    told = [
        (row["fate"], *(None if row[side] is None else sides[side][row[side]]["name"] for side in ("old", "new")))
        for row in found["accounts"]
    ]
    assert [fate for fate, *_ in told] == sorted((fate for fate, *_ in told), key=FATES.index)
    assert {fate for fate, *_ in told} == {"refused", "wrong-hands", "restored"}
    for fate, old, new in told:
        assert (new is None) == (fate == "refused")
        assert new is None or (old == new) == (fate == "restored")


def test_a_report_that_was_kept_without_a_ledger_is_shown():
    outcome = CASES["compatible"]
    document = as_dict(outcome)
    del document["accounts"], document["looked_at"]
    found = document_section(document, Side(outcome.old, None), Side(outcome.new, None), CONTEXT, "")
    assert (found["accounts"], found["looked_at"]) == ([], "")


def test_every_fate_has_a_word():
    rows = check_section(all_fates(), CONTEXT)["mapping"]
    assert all(row["words"] for row in rows)
    assert len({row["fate"] for row in rows}) == len(rows)


@pytest.mark.parametrize("case", CASES)
def test_every_report_can_be_written_as_json(case):
    found = check_section(CASES[case], CONTEXT)
    assert json.loads(json.dumps(found, allow_nan=False))["kind"] in ("check", "failure")
    passed_over = getattr(CASES[case], "unchecked", None) is not None
    assert found["verdict"] in (("unchecked",) if passed_over else ("failed", CASES[case].verdict.value))


def test_source_lines_are_shown_with_the_edit():
    found = check_section(moved_report(), CONTEXT)
    fixes = [fix for finding in found["findings"] for fix in finding["fixes"] if fix["call"]]
    assert fixes
    assert any(line["added"] for fix in fixes for line in fix["source"]["lines"])


def test_a_vertex_name_that_nobody_reads_is_cut():
    long = program("p", operator("x" * 5000))
    assert len(plan_section(long, None, CONTEXT)["sides"]["new"]["vertices"][0]["name"]) == 201


def test_key_groups_are_those_of_the_subtasks():
    vertices = section()["sides"]["new"]["vertices"]
    assert vertices[0]["key_groups"] == [[0, 63], [64, 127]]
    odd = replace(operator("a"), parallelism=0)
    assert plan_section(program("p", odd), None, CONTEXT)["sides"]["new"]["vertices"][0]["key_groups"] is None


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


@settings(max_examples=40, deadline=None)
@given(NASTY)
def test_no_text_hides_anything(name):
    for outcome in (nasty_report(name), nasty_failure(name)):
        assert all(is_clean(text) for text in strings(check_section(outcome, CONTEXT)))


def test_large_plans_stay_in_proportion():
    small, large = (
        len(json.dumps(plan_section(facts_of(each, name="p", kind="plan"), each, CONTEXT)))
        for each in (wide_plan(20), wide_plan(200))
    )
    assert large < 12 * small


def test_a_recipe_is_a_file_in_its_own_address():
    outcome = CASES["compatible"]
    recipe = OfferedRecipe("# ein Ü\nsteps: []  # \u202e\n", "compat migrate a b c --recipe r.yaml")
    found = check_section(outcome, CONTEXT, recipe=recipe)["recipe"]
    begin = "data:application/yaml;charset=utf-8,"
    assert found["address"].startswith(begin)
    assert unquote(found["address"].removeprefix(begin)) == recipe.text
    assert found["run"] == recipe.run
    assert found["lines"][0] == "# ein Ü"
    assert "\u202e" not in found["lines"][1]
    assert check_section(outcome, CONTEXT)["recipe"] is None
