"""What is not proven is one finding for what one step settles, and all operators of one cause are told together."""

from __future__ import annotations

import pytest

from compat.check.catalogue import RULES
from compat.check.context import CheckOptions
from compat.check.decision import _speaks_of_states, check
from compat.check.rules.types.cmp431_state_not_proven import find_unproven
from compat.report.summary import by_cause, sentence
from compat.state.model.states import More
from tests.compat.builders import finding, operator, program, value_state
from tests.compat.check.test_evidence import checked


def test_operators_of_one_cause_are_told_together() -> None:
    late = [
        operator(name, uid=name, states=(value_state("n"),), more=More(why=f"{name} asks late"))
        for name in ("Count", "Sum")
    ]
    report = check(*(program(f"{side}.jar", *late) for side in ("old", "new")), CheckOptions())
    assert {(one.rule, one.cause) for one in report.findings} == {
        ("CMP431", "may keep further states besides the known ones")
    }
    (told,) = by_cause(report)
    assert told.title == "2 operators may keep further states besides the known ones"
    assert "(1 open question)" in sentence(report)


def test_states_of_one_operator_with_one_gap_are_one_finding() -> None:
    untyped = operator("Count", uid="u", states=(value_state("a", None), value_state("b", None)))
    typed = operator("Count", uid="u", states=(value_state("a"), value_state("b")))
    report = check(program("old.jar", untyped), program("new.jar", typed), CheckOptions())
    (found,) = report.findings
    assert (found.rule, found.cause) == ("CMP431", "keep states whose type is not known for OLD")
    assert "(and 1 more)" in found.title


def test_what_is_said_of_the_operator_does_not_speak_of_a_state_that_is_gone() -> None:
    """A note that the operator is in another chain is no word on what becomes of its state."""
    old, new = operator("Count", uid="u", states=(value_state("n"),)), operator("Count", uid="u", states=())
    looked_at = checked(old, new)
    note = looked_at.finding(RULES["CMP201"], "another chain", consequence="", reason="", old=old, new=new)
    told = [one for one in (note,) if _speaks_of_states(one)]
    assert [one.rule for one in find_unproven(looked_at, [note], told)] == ["CMP431"]


@pytest.mark.parametrize(
    ("rule", "state", "speaks"),
    [
        ("CMP201", None, False),
        ("CMP301", None, False),
        ("CMP601", None, False),
        ("CMP412", None, True),
        ("CMP201", "n", True),
    ],
)
def test_which_findings_speak_of_states(rule: str, state: str | None, speaks: bool) -> None:
    assert _speaks_of_states(finding(rule, state=state)) is speaks
