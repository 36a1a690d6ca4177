"""Operators whose id came out differently when the same program was built a second time, or is drawn by its code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.similarity import own_function, values_of
from compat.plan.facts import Program
from compat.state.model.operators import Operator

_LOST = "State saved by one start of the program cannot be found by the next one."


def _find(check: Check) -> Iterator[Finding]:
    for side, program in (("old", check.old), ("new", check.new)):
        again = check.rebuilt.get(side)
        if again is not None:
            yield from _built_anew(check, side, program, again)
            yield from _changing_work(check, side, program, again)
    told = [new for new in check.new.operators if new.has_state and new.detail.get("uid_drawn") is not None]
    for new in told:
        what, reason = (
            f"the id of {new.name!r} differs",
            f"The uid {new.uid!r} is computed from {new.detail['uid_drawn']}.",
        )
        advice = "Write the uid as a fixed text, and let nothing random and no time decide it."
        yield _changing(check, "new", new, what, _LOST, reason, advice)
    yield from _drawn(check, {new.uid for new in told})


def _built_anew(check: Check, side: str, program: Program, again: Program) -> Iterator[Finding]:
    """Operators with other ids in the second build."""
    for first, second in _differing(program, again):
        changed = "uid" if first.uid != second.uid else "generated id"
        was, then = (first.uid, second.uid) if changed == "uid" else (first.id, second.id)
        reason = f"Two builds of {program.name} gave the {changed} {was!r} and then {then!r}."
        advice = (
            "Write the uid as a fixed text, and let nothing random, no time and no order of a set decide what the program "
            "builds."
        )
        yield _changing(check, side, first, f"the id of {first.name!r} differs", _LOST, reason, advice)


def _changing_work(check: Check, side: str, program: Program, again: Program) -> Iterator[Finding]:
    """Operators whose work another id has at the next start: which gets which is no matter of the program's text."""
    moved = {_work(second) for second in again.operators}
    for first in program.operators:
        second = again.by_id.get(first.id)
        if second is None or not first.has_state or _work(first) == _work(second) or _work(first) not in moved:
            continue  # values that are drawn anew, such as the time, are no other operator's
        what = f"the id of {first.label} is that of another operator"
        consequence = "State saved by one start of the program goes to another operator at the next one."
        reason = f"Two builds of {program.name} gave the id to operators with other functions, values or inputs."
        advice = "Let no order of a set, nothing random and no time decide which operator gets which uid."
        yield _changing(check, side, first, what, consequence, reason, advice)


def _changing(
    check: Check, side: str, operator: Operator, what: str, consequence: str, reason: str, advice: str
) -> Finding:
    """What is wrong at every start with an operator of a side, and a fixed uid for it."""
    return check.finding(
        RULE,
        f"{what} at every start",
        consequence=consequence,
        reason=reason,
        old=operator if side == "old" else None,
        new=operator if side == "new" else None,
        fixes=(
            Fix(text=advice, code=f".uid({code_suggestions.text_of(code_suggestions.fresh_uid(operator, set()))})"),
        ),
    )


def _work(operator: Operator) -> tuple[object, ...]:
    """What an operator does, as far as it is known: its function, the values in it, and what feeds it."""
    return own_function(operator), values_of(operator), operator.detail.get("fed")


def _drawn(check: Check, told: Collection[str | None]) -> Iterator[Finding]:
    """Operators whose uids are the same but for a UUID in them: a connector that was given no prefix draws one."""
    if check.rebuilt:
        return
    fresh = {_without_uuid(new.uid): new for new in check.mapping.fresh if new.uid is not None}
    for old in check.mapping.lost:
        new = None if old.uid is None or not _UUID.search(old.uid) else fresh.get(_without_uuid(old.uid))
        if new is None or new.uid is None or new.uid in told:
            continue
        yield check.finding(
            RULE,
            f"the id of {new.name!r} differs at every start",
            consequence=_LOST,
            reason=f"The uid was {old.uid!r} and is {new.uid!r}: what differs is a UUID, drawn when the job is built.",
            old=old,
            new=new,
            fixes=(
                Fix(
                    text="Give the connector a fixed uid or uid prefix, such as uidPrefix(…) of Iceberg's sink; for this once, "
                    "the one that it had.",
                    code=f".uid({code_suggestions.text_of(old.uid or '')})",
                ),
            ),
        )


def _without_uuid(uid: str) -> str:
    return _UUID.sub("*", uid)


def _differing(first: Program, second: Program) -> list[tuple[Operator, Operator]]:
    """Stateful operators, place by place, with different ids; the first ones only, as the others follow from them."""
    mine = {operator.id for operator in first.operators}
    theirs = {operator.id for operator in second.operators}
    if mine == theirs:
        return []
    changed = [
        (one, other)
        for one, other in zip(first.operators, second.operators, strict=False)
        if one.id != other.id and one.id not in theirs
    ]
    with_uid = [pair for pair in changed if pair[0].uid != pair[1].uid]
    return with_uid or changed[:1]


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

RULE = Rule(
    id="CMP108",
    name="unstable-id",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="Building the same program twice gives different operator ids, or gives an id to another operator.",
    why="A random id, or one that depends on the order of a set, differs at the next start. No savepoint of this job "
    "can be restored, not even by the same program.",
    old="stream.map(f).uid(str(uuid4()))",
    new='stream.map(f).uid("clean")',
    fix="Write uids as constants, and build the job in an order that does not depend on sets or hashes.",
    find=_find,
)
