"""What the page shows of a place in a program."""

from __future__ import annotations

from msgspec.structs import replace

from compat.check.findings import Fix, Verdict
from compat.plan.lines import with_lines
from compat.report import ReportContext
from compat.state.model.code import UserCode
from compat.state.model.job import Statement
from compat.state.model.source_line import SourceLine
from compat.view.layers import Side
from compat.view.page_values import check_section
from compat.view.sides import side_values
from compat.view.sources import LONGEST_STATEMENT, Sources
from tests.compat.browser.samples import plan
from tests.compat.builders import finding, operator, program, report

NONE = ReportContext(sources={})


def texts(value):
    return [line["text"] for line in value["lines"]]


def carried(text: str):
    """A plan that names line 2 of job.py, which says ``text``."""
    made = plan("count")
    named = replace(made, operators=tuple(replace(one, source=SourceLine("job.py", 2)) for one in made.operators))
    return with_lines(named, lambda _: ["before", text, "behind", "further"])


def test_each_side_shows_the_lines_of_its_own_plan_though_the_files_are_called_the_same():
    plans = carried("as it was"), carried("as it is")
    ops = [replace(each.operators[0]) for each in plans]
    outcome = report(
        Verdict.INCOMPATIBLE,
        finding(
            old=ops[0],
            new=ops[1],
            fixes=(Fix(text="Add it.", call='.uid("x")', at=SourceLine("job.py", 2)),),
        ),
        old=program("job.py", *plans[0].operators),
        new=program("job.py", *plans[1].operators),
    )
    (found,) = check_section(outcome, ReportContext(sources={"job.py": ["other"] * 5}), plans)["findings"]
    assert texts(found["old_source"]) == ["before", "as it was", "^^^^^^^^^", "behind"]
    assert texts(found["new_source"]) == ["before", "as it is", "^^^^^^^^", "behind"]
    assert texts(found["fixes"][0]["source"]) == ["as it is", '    .uid("x")']


def test_without_lines_in_the_plan_those_of_the_context_are_shown():
    side = Side(program("job.py", operator("a", at=SourceLine("job.py", 2))), None)
    assert texts(Sources(side, ReportContext(sources={"job.py": ["x", "y", "z"]})).at(SourceLine("job.py", 2))) == [
        *("x", "y", "^", "z")
    ]
    assert texts(Sources(side, NONE).at(SourceLine("job.py", 2))) == []


def test_of_sql_the_whole_statement_is_shown():
    text = "INSERT INTO totals\nSELECT k, SUM(v)\nFROM t GROUP BY k"
    side = Side(program("job.sql", statements=(Statement(text=text, file="job.sql", line=7),)), None)
    found = Sources(side, NONE).at(SourceLine("job.sql", 7))
    assert texts(found) == text.splitlines()
    assert [line["number"] for line in found["lines"]] == [7, 8, 9]
    long = Side(program("job.sql", statements=(Statement(text="a\n" * 50, file="job.sql", line=1),)), None)
    assert len(Sources(long, NONE).at(SourceLine("job.sql", 1))["lines"]) == LONGEST_STATEMENT + 1


def test_of_java_the_method_and_the_users_code_are_told():
    place = SourceLine("Payments.java", 56, class_name="com.acme.Payments", method="main")
    made = operator(
        "Total",
        at=place,
        description="Total of an account",
        function=UserCode(name="com.acme.Total"),
        key_selectors=(UserCode(name="com.acme.Payments", method="account"), None),
    )
    side = Side(program("v1.jar", made), None)
    (found,) = side_values(side, Sources(side, NONE))["operators"]
    assert found["source"] == {"place": "Payments.java:56", "method": "com.acme.Payments.main", "lines": []}
    assert found["code"] == [["function", "com.acme.Total"], ["key selector", "com.acme.Payments.account"]]
    assert found["description"] == "Total of an account"
    outcome = report(Verdict.INCOMPATIBLE, finding(new=made), new=program("v2.jar", made))
    assert check_section(outcome, NONE)["findings"][0]["new_source"]["method"] == "com.acme.Payments.main"
