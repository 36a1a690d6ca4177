"""The operators of programs in the form of :mod:`compat.state.assignment`, which decides where state goes."""

from __future__ import annotations

from collections.abc import Iterable

from compat.plan.facts import Program
from compat.state.assignment import Assignable, Claimant, assign
from compat.state.model.operators import Operator
from compat.state.model.states import StateScope


def partners(recorded: Iterable[Assignable], new: Program) -> dict[str, Operator]:
    """The operator of NEW that gets the state of each recorded one, by the latter's id."""
    return {claim.recorded.id: new.operators[claim.place] for claim in assign(recorded, claimants(new)).handed}


def claimants(new: Program) -> tuple[Claimant, ...]:
    """The operators of a program in the form for a restore into it."""
    return tuple(
        Claimant(
            id=operator.id,
            user_hash=operator.user_hash,
            task=operator.vertex,
            parallelism=operator.parallelism,
            max_parallelism=operator.max_parallelism,
            configured=operator.max_parallelism_configured,
        )
        for operator in new.operators
    )


def recorded_of(operator: Operator, old: Program) -> Assignable:
    """An operator of OLD in the form for a restore from its snapshot."""
    return Assignable(
        id=operator.id,
        has_state=operator.has_state or old.all_have_state,
        keyed=any(state.scope is StateScope.KEYED for state in operator.states or ()),
        max_parallelism=operator.max_parallelism,
    )
