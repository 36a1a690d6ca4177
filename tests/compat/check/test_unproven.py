"""What is not proven is one finding for what one step settles, and all operators of one cause are told together."""

from __future__ import annotations

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.report.summary import by_cause, sentence
from compat.state.model.states import More
from tests.compat.builders import operator, program, value_state


def test_operators_of_one_cause_are_told_together() -> None:
    late = [
        operator(name, uid=name, states=(value_state("n"),), more=More(why=f"{name} asks late"))
        for name in ("Count", "Sum")
    ]
    report = check(*(program(f"{side}.jar", *late) for side in ("old", "new")), CheckOptions())
    assert {(one.rule, one.cause) for one in report.findings} == {
        ("CMP431", "may keep states besides those that are known")
    }
    (told,) = by_cause(report)
    assert told.title == "2 operators may keep states besides those that are known"
    assert "(1 open question)" in sentence(report)


def test_states_of_one_operator_with_one_gap_are_one_finding() -> None:
    untyped = operator("Count", uid="u", states=(value_state("a", None), value_state("b", None)))
    typed = operator("Count", uid="u", states=(value_state("a"), value_state("b")))
    report = check(program("old.jar", untyped), program("new.jar", typed), CheckOptions())
    (found,) = report.findings
    assert (found.rule, found.cause) == ("CMP431", "keep states whose type is not told in OLD")
    assert "(and 1 more)" in found.title
