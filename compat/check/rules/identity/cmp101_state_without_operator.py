"""State of OLD that no operator of NEW takes, and no successor to give it to."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts
from compat.check.code_suggestions import NON_RESTORED, text_of
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.identity import hidden
from compat.check.rule import Rule
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    for old in check.mapping.lost:
        if check.successor(old) is None:
            yield _finding(old, check)


def _finding(old: Operator, check: Check) -> Finding:
    allowed = check.options.allow_non_restored
    empty = amounts.only_timers(old)
    if check.left_behind is not None:
        consequence = f"The state of {old.label} is dropped{amounts.of(*old.states or ())}, {check.left_behind}."
    else:
        consequence = f"Flink refuses the restore: it cannot map the state of operator {old.id} to the new program."
        consequence += amounts.lost(old)
    reason = "No operator of NEW has this id, neither generated, nor from a uid, nor as a user hash."
    if empty:
        reason += " Its state is empty timer queues, but Flink counts them as state."
    return check.finding(
        RULE,
        f"{old.label} has state, but no operator in {check.new.name} takes it",
        level=Level.WARNING if allowed else Level.ERROR,
        consequence=consequence,
        reason=reason,
        old=old,
        fixes=() if allowed else (_fix(old, empty),),
        silent=check.left_behind is not None,
    )


def _fix(old: Operator, empty: bool) -> Fix:
    if empty:
        return Fix(text="Restore with -n: nothing is lost, the state is empty.", code=NON_RESTORED)
    text = "Keep the operator, or restore with -n (--allowNonRestoredState) if its state may go."
    if hidden(old):
        return Fix(text=text, code=NON_RESTORED)
    call = f".set_uid_hash({text_of(old.id)})" if old.uid is None else f".uid({text_of(old.uid)})"
    return Fix(text=text, code=call)


RULE = Rule(
    id="CMP101",
    name="state-without-operator",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning with -n: the state is dropped on purpose. If NEW's own settings allow it, Flink drops the state "
    "without an error; the finding stays an error until the check is made with -n",
    fate=Fate.REFUSED,
    summary="State of an operator of OLD that no operator of NEW takes.",
    why="A restore looks for every operator id of the savepoint in the new job, among the generated ids, the "
    "uids' hashes and the user hashes. State without an operator makes Flink refuse the whole restore. Keyed "
    "PyFlink operators always have state, their timer queues, even if the function keeps none.",
    old='keyed.process(Count()).uid("count")',
    new="# the operator was removed",
    fix="Keep the operator, or give its successor the same uid. If the state may go, restore with -n "
    "(--allowNonRestoredState; with the Kubernetes operator allowNonRestoredState: true, which its mode last-state "
    "ignores) and check with -n.",
    find=_find,
)
