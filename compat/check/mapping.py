"""The state mapping of a restore: the decisions of :mod:`compat.state.assignment`, with the operators of both programs,
and with the successors of those whose state no operator takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from compat.check.guesses import guess_successors
from compat.check.similarity import find_successors, kept_names
from compat.plan.claims import claimants, recorded_of
from compat.plan.facts import Program
from compat.state.assignment import Claim, Identity, Refusal, assign
from compat.state.model.operators import Operator

BY_USER_HASH = "user hash"
BY_UID = "uid"
BY_GENERATED_ID = "generated id"


class Pair(Struct, frozen=True):
    """An operator of OLD whose state an operator of NEW takes, and the kind of id that matched them."""

    old: Operator
    new: Operator
    by: str


class MaxParallelismConflict(Struct, frozen=True):
    """A pair whose max parallelism Flink refuses; for a mixed chain with the pair that it conflicts with."""

    pair: Pair
    refusal: Refusal
    other: Pair | None


class StateMapping(Struct, frozen=True, kw_only=True):
    """All pairs, and what is left over.

    ``lost`` are operators of OLD whose state no operator takes; ``successors`` gives the operator of NEW that does the
    work of such an operator now, if known, by OLD's id; those in ``guessed`` are only likely. ``fresh`` are
    operators of NEW that take nothing. ``shadowed`` are operators of OLD whose state is ignored because the same
    operator of NEW takes another one. ``contested`` are the pairs of each operator of OLD that several operators of NEW
    have an id for, by OLD's id. ``conflicts`` are in the order of NEW.
    """

    pairs: tuple[Pair, ...]
    lost: tuple[Operator, ...]
    fresh: tuple[Operator, ...]
    shadowed: tuple[Pair, ...]
    contested: Mapping[str, tuple[Pair, ...]]
    conflicts: tuple[MaxParallelismConflict, ...]
    successors: Mapping[str, Operator]
    guessed: frozenset[str] = frozenset()

    def refused(self, refusal: Refusal) -> Iterable[MaxParallelismConflict]:
        """The conflicts of one kind."""
        return (conflict for conflict in self.conflicts if conflict.refusal is refusal)

    def stateful_pairs(self) -> Iterable[Pair]:
        """The pairs with state to hand over."""
        return (pair for pair in self.pairs if pair.old.has_state)


def map_state(
    old: Program, new: Program, tied: Mapping[str, str] | None = None, moved: frozenset[str] = frozenset()
) -> StateMapping:
    """Pair the operators of two programs as a restore of NEW from a snapshot of OLD does.

    ``tied`` gives operators of NEW, by id, the user hash that an edit would give them; those in ``moved`` thereby get
    other ids of their own.
    """
    recorded = old.by_id

    def pair(claim: Claim) -> Pair:
        operator = new.operators[claim.place]
        return Pair(recorded[claim.recorded.id], operator, _way(claim.identity, operator))

    asking = claimants(new)
    if tied or moved:
        asking = tuple(
            replace(
                each,
                id=f"not {each.id}" if each.id in moved else each.id,
                user_hash=(tied or {}).get(each.id, each.user_hash),
            )
            for each in asking
        )
    assignment = assign((recorded_of(operator, old) for operator in old.operators), asking)
    lost = tuple(recorded[each.id] for each in assignment.lost)
    fresh = [new.operators[place] for place in assignment.unserved]
    successors = find_successors(lost, fresh, kept_names(old, new)) if lost else {}
    served = {operator.id for operator in successors.values()}
    guesses = guess_successors(
        [operator for operator in lost if operator.id not in successors],
        [operator for operator in fresh if operator.id not in served],
    )
    return StateMapping(
        pairs=tuple(pair(claim) for claim in assignment.claims),
        lost=lost,
        fresh=tuple(fresh),
        shadowed=tuple(pair(claim) for claim in assignment.passed_over),
        contested={id: tuple(map(pair, claims)) for id, claims in assignment.contested.items()},
        conflicts=tuple(
            MaxParallelismConflict(
                pair(problem.claim), problem.refusal, None if problem.other is None else pair(problem.other)
            )
            for problem in assignment.max_parallelism.problems
        ),
        successors=successors | guesses,
        guessed=frozenset(guesses),
    )


def _way(identity: Identity, operator: Operator) -> str:
    if identity is Identity.USER_HASH:
        return BY_USER_HASH
    return BY_UID if operator.pinned else BY_GENERATED_ID
