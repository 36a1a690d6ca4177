"""States of one function that changed their names with one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compat.check import amounts
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.state.model.behaviour import Holding
from compat.state.model.operators import Operator
from compat.state.model.states import State


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("holding"), pair.new.detail.get("holding")
        if before is None or after is None or before.code_by_state == after.code_by_state:
            continue  # with the states in place of the fields the code is the same: fields were renamed
        moved = [
            one
            for one in exchanged_names(before.fields, after.fields)
            if _alike(_named(pair.old, one[1]), _named(pair.old, one[2]))
        ]
        roles = [] if moved else list(_exchanged_roles(pair, before, after))
        if moved or roles:
            yield _exchanged(check, pair, moved, roles, same_code=bool(roles) or before.code == after.code)


def _exchanged_roles(pair: Pair, before: Holding, after: Holding) -> Iterator[tuple[str, str]]:
    """The states of which the code now does with the one what it did with the other, and the other way round."""
    holders = {role: state for state, role in after.roles.items()}
    for state, role in before.roles.items():
        other = holders.get(role)
        if other is None or other <= state or role == after.roles.get(state):
            continue
        if before.roles.get(other) == after.roles.get(state) and _alike(
            _named(pair.old, state), _named(pair.old, other)
        ):
            yield state, other


def _exchanged(
    check: Check, pair: Pair, moved: list[tuple[str, str, str]], roles: list[tuple[str, str]], *, same_code: bool
) -> Finding:
    told = ", ".join(f"{field!r} held {was!r} and holds {now!r}" for field, was, now in moved)
    told = told or ", ".join(f"what was done with {one!r} is done with {other!r}" for one, other in roles)
    names = {was for _, was, _ in moved} | {name for both in roles for name in both}
    kept = amounts.of(*(state for state in pair.old.states or () if state.name in names))
    fix = (
        f"Give the state in {moved[0][0]!r} the name {moved[0][1]!r} again, and so on."
        if moved
        else f"Use the state {roles[0][0]!r} for what it was used for, and {roles[0][1]!r}, too."
    )
    return check.finding(
        RULE,
        f"states of {pair.new.label} changed {'names' if moved else 'places in the code'} with one another{kept}: {told}",
        level=Level.ERROR if same_code else Level.WARNING,
        consequence="Flink restores this without an error; "
        + (
            "the function reads the values of one state as those of the other."
            if same_code
            else "whether the function now reads the values of one state as those of the other cannot be told, since its "
            "code changed too."
        ),
        reason="States are found by their names, and the code that uses these fields is "
        + ("the same as before." if same_code else "another one."),
        old=pair.old,
        new=pair.new,
        state=moved[0][1] if moved else roles[0][0],
        fixes=(Fix(text=fix),),
        silent=True,
    )


def exchanged_names(before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The fields that hold a state now that another field held, while their own old one went to another field.

    Gives field, state before, state now.
    """
    holders_before = {state: field for field, state in before.items()}
    holders_after = {state: field for field, state in after.items()}
    return [
        (field, was, now)
        for field, was in sorted(before.items())
        if (now := after.get(field)) is not None
        and now != was
        and holders_before.get(now) not in (None, field)
        and holders_after.get(was) not in (None, field)
    ]


def _named(operator: Operator, name: str) -> State | None:
    return next((state for state in operator.states or () if state.name == name), None)


def _alike(one: State | None, other: State | None) -> bool:
    """True if Flink reads the one for the other; what it refuses is told elsewhere."""
    if one is None or other is None:
        return False
    return (one.kind, one.scope, one.type, one.serializers) == (other.kind, other.scope, other.type, other.serializers)


RULE = Rule(
    id="CMP423",
    name="state-names-exchanged",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if the code that uses the states changed, too",
    fate=Fate.WRONG_HANDS,
    summary="Two states of the same type in one operator exchanged their names.",
    why="A state is found by its name. If two descriptors of one type exchange names, each variable finds the values of "
    "the other one: Flink restores this without an error.",
    old='small = getState(new ValueStateDescriptor<>("x", LONG));\nbig = getState(new ValueStateDescriptor<>("y", LONG));',
    new='small = getState(new ValueStateDescriptor<>("y", LONG));\nbig = getState(new ValueStateDescriptor<>("x", LONG));',
    fix="Give each state its old name.",
    find=_find,
)
