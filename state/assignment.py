"""The assignment of a snapshot's state to the operators of a program: the decision of a restore, as a pure function.

Flink: ``Checkpoints.loadAndValidateCheckpoint`` and ``StateAssignmentOperation``. A snapshot records every operator, with state
or without, under its generated id (the hash of the uid, if it has one). An operator of the new program takes the state under
its user hash, even an empty one, or else the state under its generated id. Each state goes to the first operator that asks.
Operators of one task ask in order, but tasks come in any order: if two operators have an id for one state, either may get it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property

from msgspec import Struct


class Identity(Enum):
    """The identity that joined an operator to a state. A name joins only sources that are read again."""

    USER_HASH = "user hash"
    GENERATED_ID = "generated id"
    NAME = "name"


class Assignable(Struct, frozen=True):
    """An operator in a snapshot: its generated id, whether it has state, and whether some of it is keyed.

    ``replayed`` is the name of a source that Flink reads anew after a restore, but that goes on from its position on Spark. For
    Flink it has no state.
    """

    id: str
    has_state: bool
    keyed: bool
    max_parallelism: int
    replayed: str | None = None


class Claimant(Struct, frozen=True, kw_only=True):
    """An operator of the program to restore, with the parallelism of its task.

    ``user_hash`` is the one from ``set_uid_hash``. ``configured`` says whether the user set the max parallelism. ``replays`` is
    the name of a source that Flink reads anew.
    """

    id: str
    user_hash: str | None
    task: Hashable
    parallelism: int
    max_parallelism: int
    configured: bool
    replays: str | None = None


class Claim(Struct, frozen=True):
    """An operator that has an id of a state. ``place`` is the operator's among those of the program, from 0."""

    recorded: Assignable
    claimant: Claimant
    place: int
    identity: Identity


class Refusal(Enum):
    """The refusal of a restore over a max parallelism."""

    CONFIGURED = "the program sets another one"
    BELOW_PARALLELISM = "the parallelism is above the recorded one"
    MIXED = "the operators of a task with keyed state recorded different ones"


class MaxParallelismProblem(Struct, frozen=True):
    """A recorded max parallelism that the operator's task cannot run with.

    ``needed`` is the conflicting value: the max parallelism that was set, the parallelism, or the recorded max parallelism of
    ``other``, an operator of the same task.
    """

    claim: Claim
    refusal: Refusal
    needed: int
    other: Claim | None = None


class MaxParallelism(Struct, frozen=True):
    """The recorded max parallelism that a task takes over if the program sets none, by task; and the refusals."""

    adopted: Mapping[Hashable, int]
    problems: tuple[MaxParallelismProblem, ...]


class Assignment(Struct, frozen=True, kw_only=True, dict=True):
    """The state that goes to each operator, and the state that is left over; all in the program's order, or the snapshot's.

    ``claims`` has the state that each operator asks for first, if it finds any. ``handed`` has the state that each gets if all
    ask in the program's order: every state at most once. ``contested`` has, by the state's id, the claims of states that chance
    gives to one of several operators. ``passed_over`` is the state under the generated id of an operator that takes other state
    by its user hash, if no other operator asks for it first. ``unmatched`` are recorded operators whose ids no operator has,
    ``unserved`` the places of operators without recorded state.
    """

    claims: tuple[Claim, ...]
    handed: tuple[Claim, ...]
    contested: Mapping[str, tuple[Claim, ...]]
    passed_over: tuple[Claim, ...]
    unmatched: tuple[Assignable, ...]
    unserved: tuple[int, ...]

    @property
    def lost(self) -> tuple[Assignable, ...]:
        """The state that no operator takes: the restore is refused unless non-restored state is allowed."""
        return tuple(recorded for recorded in self.unmatched if recorded.has_state)

    @property
    def starting_empty(self) -> tuple[int, ...]:
        """The places of the operators that get nothing if all ask in the program's order."""
        asked = {claim.place for claim in self.claims} - {claim.place for claim in self.handed}
        return tuple(sorted(asked | set(self.unserved)))

    @cached_property
    def max_parallelism(self) -> MaxParallelism:
        """The tasks' handling of the recorded max parallelism of the operators that they have an id of."""
        handed = {claim.place: claim for claim in self.handed if claim.identity is not Identity.NAME}
        fallbacks = [handed[claim.place] for claim in self.claims if handed.get(claim.place, claim) != claim]
        left = [claim for claim in self.passed_over if handed.get(claim.place) != claim]
        return _settle_max_parallelism((*self.claims, *fallbacks), left)


def assign(recorded: Iterable[Assignable], operators: Sequence[Claimant]) -> Assignment:
    """Assign the state of a snapshot to the operators of a program."""
    known = {each.id: each for each in recorded}
    wishes = [_wishes(known, place, operator) for place, operator in enumerate(operators)]
    claims = tuple(mine[0] for mine in wishes if mine)
    asked = {claim.recorded.id for claim in claims}
    named = {claim.recorded.id for mine in wishes for claim in mine}
    return Assignment(
        claims=claims,
        handed=_with_replayed(known, operators, _hand_out(wishes)),
        contested=_contested(wishes),
        passed_over=tuple(mine[1] for mine in wishes if len(mine) > 1 and mine[1].recorded.id not in asked),
        unmatched=tuple(each for id, each in known.items() if id not in named),
        unserved=tuple(place for place, mine in enumerate(wishes) if not mine),
    )


def _wishes(known: Mapping[str, Assignable], place: int, operator: Claimant) -> list[Claim]:
    """The states that an operator asks for, in order."""
    ids = {} if operator.user_hash is None else {operator.user_hash: Identity.USER_HASH}
    ids.setdefault(operator.id, Identity.GENERATED_ID)
    return [Claim(known[id], operator, place, identity) for id, identity in ids.items() if id in known]


def _hand_out(wishes: Iterable[list[Claim]]) -> list[Claim]:
    """To each the first that is still there."""
    gone: set[str] = set()
    handed = []
    for mine in wishes:
        claim = next((claim for claim in mine if claim.recorded.id not in gone), None)
        if claim is not None:
            gone.add(claim.recorded.id)
            handed.append(claim)
    return handed


def _contested(wishes: Iterable[list[Claim]]) -> dict[str, tuple[Claim, ...]]:
    """The claims of each state that several operators may get.

    These are the states that several operators ask for first. The loser then asks for the state of its own id. The operator
    that asks for that one first may lose it in turn, and so on, but never back to the state that the first loser lost.
    """
    asking: dict[str, list[Claim]] = {}
    second: dict[int, Claim] = {}
    for mine in wishes:
        if mine:
            asking.setdefault(mine[0].recorded.id, []).append(mine[0])
        if len(mine) > 1:
            second[mine[0].place] = mine[1]
    beginnings = [id for id, claims in asking.items() if len(claims) > 1]
    contested = set(beginnings)
    waiting = [(id, id) for id in beginnings]
    while waiting:
        id, beginning = waiting.pop()
        for claim in tuple(asking[id]):
            fallback = second.get(claim.place)
            if fallback is None or claim is fallback or fallback.recorded.id == beginning:
                continue
            wanted = fallback.recorded.id
            if wanted not in asking:
                continue
            asking[wanted].append(fallback)
            if wanted not in contested:
                contested.add(wanted)
                waiting.append((wanted, beginning))
    return {
        id: tuple(sorted(claims, key=lambda claim: claim.place)) for id, claims in asking.items() if id in contested
    }


def _with_replayed(
    known: Mapping[str, Assignable], operators: Sequence[Claimant], handed: Iterable[Claim]
) -> tuple[Claim, ...]:
    """The states that are handed out, with the positions of sources that Flink would read again.

    Only such a source has a use for them; one whose id moved is found again by its name.
    """
    kept = [claim for claim in handed if claim.recorded.replayed is None or claim.claimant.replays is not None]
    served = {claim.place for claim in kept}
    gone = {claim.recorded.id for claim in kept}
    left = [each for each in known.values() if each.replayed is not None and each.id not in gone]
    waiting = [
        (place, operator)
        for place, operator in enumerate(operators)
        if operator.replays is not None and place not in served
    ]
    for place, operator in waiting:
        same = next((each for each in left if each.id == operator.id), None)
        found = same or next((each for each in left if each.replayed == operator.replays), None)
        if found is not None:
            left.remove(found)
            identity = Identity.NAME if same is None else Identity.GENERATED_ID
            kept.append(Claim(found, operator, place, identity))
    return tuple(sorted(kept, key=lambda claim: claim.place))


def _settle_max_parallelism(claims: Iterable[Claim], passed_over: Iterable[Claim]) -> MaxParallelism:
    """Where the program sets a max parallelism, each recorded one has to be the same, with state or without.

    Where it sets none, a task that takes state over takes the recorded one over too.
    """
    tasks: dict[Hashable, list[Claim]] = {}
    for claim in claims:
        tasks.setdefault(claim.claimant.task, []).append(claim)
    adopted: dict[Hashable, int] = {}
    problems = list(_other_than_configured(passed_over))
    for task, members in tasks.items():
        problems += _other_than_configured(members)
        leader = None if members[0].claimant.configured else _leader(members)
        if leader is not None:
            problems += _unfit(members, leader)
            adopted[task] = leader.recorded.max_parallelism
    return MaxParallelism(adopted, tuple(sorted(problems, key=lambda problem: problem.claim.place)))


def _leader(members: Sequence[Claim]) -> Claim | None:
    """The operator whose max parallelism its task takes over: the first with keyed state, else with any."""
    stateful = [claim for claim in members if claim.recorded.has_state]
    return next((claim for claim in stateful if claim.recorded.keyed), stateful[0] if stateful else None)


def _other_than_configured(claims: Iterable[Claim]) -> Iterator[MaxParallelismProblem]:
    """Recorded max parallelisms that are not the one that the program sets, or are it and below the parallelism."""
    for claim in claims:
        own = claim.claimant
        if not own.configured:
            continue
        if own.max_parallelism != claim.recorded.max_parallelism:
            yield MaxParallelismProblem(claim, Refusal.CONFIGURED, own.max_parallelism)
        elif own.max_parallelism < own.parallelism:
            yield MaxParallelismProblem(claim, Refusal.BELOW_PARALLELISM, own.parallelism)


def _unfit(members: Iterable[Claim], leader: Claim) -> Iterator[MaxParallelismProblem]:
    """Recorded max parallelisms that a task cannot take over.

    Only keyed state depends on it. Flink uses the last one that it finds in any operator for the whole task, and cuts keyed
    state with another one into the wrong key groups; since FLINK-40113 it refuses that.
    """
    limit = leader.recorded.max_parallelism
    for claim in members:
        if claim.recorded.max_parallelism < claim.claimant.parallelism:
            yield MaxParallelismProblem(claim, Refusal.BELOW_PARALLELISM, claim.claimant.parallelism)
        if leader.recorded.keyed and claim.recorded.max_parallelism != limit:
            yield MaxParallelismProblem(claim, Refusal.MIXED, limit, leader)
