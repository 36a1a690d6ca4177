"""A time to live that Flink's own classes refuse to switch is told once, as what it is."""

from __future__ import annotations

import pytest

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.loader.jvm.answers import Answer, Answers, RestoreProblem, StateChange
from compat.loader.jvm.messages import Rehearsal, RestoreFailure
from compat.state.model.states import State, StateKind, StateScope
from tests.compat.builders import operator, program

FAILURE = RestoreFailure(type="org.apache.flink.util.StateMigrationException", message="must not be incompatible")
CHANGE = StateChange(name="s", scope="keyed", fails=True, reasons=("The value differs.",))


def state(type: str, ttl: int | None) -> State:
    """A value state with a time to live."""
    return State(name="s", kind=StateKind.VALUE, scope=StateScope.KEYED, type=type, key_type="Long", ttl=ttl)


@pytest.mark.parametrize(
    ("new", "rules"),
    [
        (state("Long", 1000), {"CMP408"}),
        (state("Long", None), {"CMP404"}),
        (state("String", 1000), {"CMP404", "CMP408"}),
    ],
)
def test_one_cause_one_rule(new: State, rules: set[str]) -> None:
    sides = [operator("fn", uid="fn", states=(one,)) for one in (state("Long", None), new)]
    problem = RestoreProblem(
        node=sides[1].node,
        operator_id=sides[1].id,
        backends=("hashmap", "rocksdb"),
        failure=FAILURE,
        at_first_read=False,
        changes=(CHANGE,),
    )
    answers = Answers(operators={sides[1].node: Answer(problems=(problem,), rehearsal=Rehearsal())})
    report = check(program("old.jar", sides[0]), program("new.jar", sides[1]), CheckOptions(flink="1.20"), {}, answers)
    assert {finding.rule for finding in report.findings if finding.old is not None} == rules
