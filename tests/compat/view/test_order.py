"""Tables list problems first."""

from __future__ import annotations

from compat.check.findings import Fate, Level, Verdict
from compat.view.order import FATES, groups_in_order
from compat.view.page_values import check_section
from tests.compat.browser.samples import all_fates
from tests.compat.builders import finding, operator, program, report
from tests.compat.report.cases import CONTEXT


def test_each_fate_has_its_place():
    assert sorted(FATES) == sorted(fate.name.lower().replace("_", "-") for fate in Fate)


def test_rows_of_the_worst_fates_come_first():
    rows = check_section(all_fates(), CONTEXT)["mapping"]
    assert [row["fate"] for row in rows] == list(FATES)


def test_operators_with_findings_come_first_then_those_whose_state_is_not_restored():
    found = check_section(all_fates(), CONTEXT)
    side = found["sides"]["old"]
    assert [side["operators"][index]["name"] for index in side["order"]] == [
        f"old {fate.replace('-', '_')}" for fate in FATES if fate != "empty"
    ]


def test_the_worst_finding_decides():
    operators = [operator(name) for name in "abc"]
    found = check_section(
        report(
            Verdict.INCOMPATIBLE,
            finding(level=Level.ERROR, new=operators[2]),
            finding(level=Level.WARNING, new=operators[1]),
            finding(level=Level.WARNING, new=operators[2]),
            old=program("old"),
            new=program("new", *operators),
        ),
        CONTEXT,
    )
    assert found["sides"]["new"]["order"] == [2, 1, 0]
    assert found["sides"]["new"]["vertex_order"] == [2, 1, 0]


def test_without_problems_the_order_of_the_program_stays():
    same = program("p", *(operator(name) for name in "cab"))
    found = check_section(report(Verdict.COMPATIBLE, old=same, new=same), CONTEXT)
    assert found["sides"]["new"]["order"] == [0, 1, 2]
    assert found["sides"]["new"]["vertex_order"] == [0, 1, 2]


def test_groups_follow_their_foremost_member():
    assert groups_in_order([[0, 1], [2], [], [3]], [3, 1, 2, 0]) == [3, 0, 1, 2]
