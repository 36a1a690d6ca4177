"""Hide and seek: whatever fact is hidden, a verdict may become unknown, and never compatible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Fate, Report, Verdict
from compat.check.ledger import verdict
from compat.plan.facts import facts_of
from compat.state.model.job import Plan
from compat.state.model.operators import Operator
from compat.state.model.states import More, State
from tests.compat.pairs.judging import plans_of
from tests.compat.pairs.table import PAIRS

FINE = (Verdict.COMPATIBLE, Verdict.MIGRATION)
MORE = More(why="a class in Java of which nothing is known here")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Plan, Plan]]:
    """The plans of the pairs of the table that are two programs, by name."""
    plain = [pair for pair in PAIRS if pair.plain]
    texts = [str(script) for pair in plain for script in (pair.old, pair.new)]
    sides = plans_of(texts, tmp_path_factory.mktemp("pairs"))
    found = {}
    for pair in plain:
        old, new = sides[str(pair.old)], sides[str(pair.new)]
        if isinstance(old, Plan) and isinstance(new, Plan):
            found[pair.name] = (old, new)
    assert len(found) > 60
    return found


def judged(old: Plan, new: Plan) -> Report:
    return check(
        facts_of(old, name="old.py", kind="program"), facts_of(new, name="new.py", kind="program"), CheckOptions()
    )


def of_states(change: Callable[[State], State | None]) -> Callable[[Operator, int], Operator | None]:
    """Hides something of one state of an operator."""

    def hide(operator: Operator, number: int) -> Operator | None:
        states = operator.states
        if not states:
            return None
        place = number % len(states)
        changed = change(states[place])
        if changed is not None:
            return structs.replace(operator, states=(*states[:place], changed, *states[place + 1 :]))
        return structs.replace(operator, states=(*states[:place], *states[place + 1 :]), more=MORE)

    return hide


HIDDEN: dict[str, Callable[[Operator, int], Operator | None]] = {
    "a state": of_states(lambda state: None),
    "a type": of_states(lambda state: structs.replace(state, type=None, serializers=None)),
    "a key type": of_states(lambda state: structs.replace(state, key_type=None, serializers=None)),
    "all states": lambda operator, _: structs.replace(operator, states=None, states_unknown="hidden"),
}


def hiding(plan: Plan, what: str, which: int, number: int) -> Plan:
    """The plan without a fact of one of its operators that keeps state."""
    places = [place for place, operator in enumerate(plan.operators) if operator.has_state]
    if not places:
        return plan
    place = places[which % len(places)]
    changed = HIDDEN[what](plan.operators[place], number)
    if changed is None:
        return plan
    return structs.replace(plan, operators=(*plan.operators[:place], changed, *plan.operators[place + 1 :]))


@pytest.mark.parametrize("examples", [150, pytest.param(5000, marks=pytest.mark.slow)])
def test_what_is_hidden_makes_nothing_compatible(pairs: dict[str, tuple[Plan, Plan]], examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.data())
    def law(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(pairs)))
        old, new = pairs[name]
        if judged(old, new).verdict in FINE:
            return
        for _ in range(data.draw(st.integers(1, 3))):
            what = data.draw(st.sampled_from(sorted(HIDDEN)))
            side = data.draw(st.sampled_from(["old", "new"]))
            which, number = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
            if side == "old":
                old = hiding(old, what, which, number)
            else:
                new = hiding(new, what, which, number)
        assert judged(old, new).verdict not in FINE, name

    law()


def with_unknown(plan: Plan) -> Iterator[Plan]:
    """The plan with an operator of which nobody knows what it keeps, in each place."""
    for place, operator in enumerate(plan.operators):
        changed = structs.replace(operator, more=MORE, has_state=True)
        yield structs.replace(plan, operators=(*plan.operators[:place], changed, *plan.operators[place + 1 :]))


def test_an_operator_nobody_knows_never_leaves_a_job_compatible(pairs: dict[str, tuple[Plan, Plan]]) -> None:
    for name, (old, _) in pairs.items():
        for changed in with_unknown(old):
            assert judged(changed, changed).verdict not in FINE, name


def test_a_job_beside_itself_has_a_full_ledger(pairs: dict[str, tuple[Plan, Plan]]) -> None:
    for name, (old, _) in pairs.items():
        report = judged(old, old)
        if report.verdict in FINE:
            assert {account.fate for account in report.accounts} <= {Fate.RESTORED}, name
            assert all(account.evidence is not None for account in report.accounts), name


def test_every_state_has_one_account_and_every_account_an_owner(pairs: dict[str, tuple[Plan, Plan]]) -> None:
    for name, (old, new) in pairs.items():
        report = judged(old, new)
        told = [(one.old.id, one.state.name, one.state.scope) for one in report.accounts if one.state is not None]
        kept = [
            (operator.id, state.name, state.scope)
            for operator in report.old.operators
            if operator.has_state
            for state in operator.states or ()
        ]
        assert sorted(map(str, told)) == sorted(map(str, kept)), name


def test_the_verdict_is_that_of_the_ledger(pairs: dict[str, tuple[Plan, Plan]]) -> None:
    """Where an account is lost, refused, in wrong hands or open, the check says so; else it is compatible."""
    for name, (old, new) in pairs.items():
        report = judged(old, new)
        assert report.verdict is verdict(report.findings, report.accounts), name
        if report.verdict in FINE:
            bad = {Fate.REFUSED, Fate.WRONG_HANDS, Fate.UNKNOWN, Fate.LOST}
            assert bad.isdisjoint(account.fate for account in report.accounts), name


def test_the_order_of_operators_has_no_say(pairs: dict[str, tuple[Plan, Plan]]) -> None:
    def told(report: Report) -> Any:
        return report.verdict, sorted((one.rule, one.fingerprint) for one in report.findings)

    for name, (old, new) in pairs.items():
        turned = [structs.replace(plan, operators=plan.operators[::-1]) for plan in (old, new)]
        assert told(judged(old, new))[0] == told(judged(*turned))[0], name
