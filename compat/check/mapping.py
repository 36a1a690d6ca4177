"""Where each operator's state goes at a restore: the decision of Flink, as a pure function of the facts.

Flink: ``Checkpoints.loadAndValidateCheckpoint`` and ``StateAssignmentOperation``. A snapshot records every operator under
its generated id (the hash of the uid, if it has one). An operator of the new job takes what is recorded under its user
hash, if anything is, else what is recorded under its generated id; but each state is handed out once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from compat.check.guesses import guess_successors
from compat.check.similarity import find_successors
from compat.plan.facts import Operator, Program

BY_USER_HASH = "user hash"
BY_UID = "uid"
BY_GENERATED_ID = "generated id"


@dataclass(frozen=True, slots=True)
class Pair:
    """An operator of OLD whose state an operator of NEW takes, and the kind of id that joined them."""

    old: Operator
    new: Operator
    by: str


@dataclass(frozen=True)
class StateMapping:
    """All pairs, and what is left over.

    ``lost`` are operators of OLD with state that nobody takes; ``successors`` gives for such a one the operator of NEW that
    does its work now, if one can be told, by OLD's id; those in ``guessed`` are no more than likely. ``fresh`` are
    operators of NEW that take nothing. ``shadowed`` are operators of OLD whose state is passed over because the same
    operator of NEW takes another one.
    """

    pairs: tuple[Pair, ...]
    lost: tuple[Operator, ...]
    fresh: tuple[Operator, ...]
    shadowed: tuple[Pair, ...]
    successors: Mapping[str, Operator]
    guessed: frozenset[str] = frozenset()

    @cached_property
    def contested(self) -> dict[str, tuple[Pair, ...]]:
        """The pairs of each operator of OLD that several operators of NEW have an id for, by OLD's id."""
        claims: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            claims.setdefault(pair.old.id, []).append(pair)
        return {id: tuple(pairs) for id, pairs in claims.items() if len(pairs) > 1}

    def stateful_pairs(self) -> Iterable[Pair]:
        """The pairs in which there is state to hand over."""
        return (pair for pair in self.pairs if pair.old.has_state)


def map_state(old: Program, new: Program) -> StateMapping:
    """Pair the operators of two programs as a restore of NEW from a snapshot of OLD would."""
    recorded = old.by_id
    pairs: list[Pair] = []
    shadowed: list[Pair] = []
    fresh: list[Operator] = []
    for operator in new.operators:
        by_hash = recorded.get(operator.user_hash) if operator.user_hash is not None else None
        by_id = recorded.get(operator.id)
        taken = by_hash or by_id
        if taken is None:
            fresh.append(operator)
            continue
        by = BY_USER_HASH if by_hash is not None else BY_UID if operator.pinned else BY_GENERATED_ID
        pairs.append(Pair(taken, operator, by))
        if by_hash is not None and by_id is not None and by_id is not by_hash:
            shadowed.append(Pair(by_id, operator, BY_GENERATED_ID))
    taken_ids = {pair.old.id for pair in pairs}
    shadowed = [pair for pair in shadowed if pair.old.id not in taken_ids]
    claimed = taken_ids | {pair.old.id for pair in shadowed}
    lost = [
        operator
        for operator in old.operators
        if operator.id not in claimed and (operator.has_state or old.all_have_state)
    ]
    successors = find_successors(lost, fresh)
    served = {operator.id for operator in successors.values()}
    guesses = guess_successors(
        [operator for operator in lost if operator.id not in successors],
        [operator for operator in fresh if operator.id not in served],
    )
    return StateMapping(
        tuple(pairs), tuple(lost), tuple(fresh), tuple(shadowed), successors | guesses, frozenset(guesses)
    )
