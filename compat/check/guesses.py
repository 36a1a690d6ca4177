"""Guesses the successor of an operator that is known only from a savepoint; guesses are reported as such.

A savepoint has states, parallelism and perhaps a name; no functions and no graph. Two operators with the same states
are likely the same one, and without other evidence so may be the only candidate of its sort.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from compat.check.similarity import recorded, state_names
from compat.plan.families import family
from compat.state.model.operators import Operator

_STATES, _PARALLELISM = 2, 1
_MOST_CANDIDATES = 50
"""The most operators of a sort for which a similarity means something and the search is fast enough."""


def guess_successors(lost: Iterable[Operator], fresh: Iterable[Operator]) -> dict[str, Operator]:
    """The one operator of NEW that fits best, for operators known only from a savepoint, by id.

    It has to be of the same sort; then states in common count, then equal parallelism. If two fit equally well there is
    no guess, and no operator is guessed twice.
    """
    candidates: dict[str, list[_Known]] = {}
    for operator in fresh:
        if operator.has_state:
            candidates.setdefault(family(operator), []).append(_known(operator))
    wishes: dict[str, int] = {}
    choices: dict[str, Operator] = {}
    for old in lost:
        best = _best(_known(old), candidates.get(family(old), [])) if recorded(old) else None
        if best is not None:
            choices[old.id] = best
            wishes[best.id] = wishes.get(best.id, 0) + 1
    return {id: new for id, new in choices.items() if wishes[new.id] == 1}


class _Known(Struct, frozen=True):
    """An operator, and the names of its own states."""

    operator: Operator
    states: frozenset[str]


def _known(operator: Operator) -> _Known:
    return _Known(operator, frozenset(name for name, _ in state_names(operator)))


def _best(old: _Known, candidates: list[_Known]) -> Operator | None:
    if len(candidates) > _MOST_CANDIDATES:
        return None
    scores = [(_score(old, new), new.operator) for new in candidates if not _contradict(old, new)]
    top = max((score for score, _ in scores), default=0)
    best = [new for score, new in scores if score == top]
    return best[0] if len(best) == 1 else None


def _score(old: _Known, new: _Known) -> int:
    same_parallelism = old.operator.parallelism == new.operator.parallelism
    return _STATES * len(old.states & new.states) + _PARALLELISM * same_parallelism


def _contradict(old: _Known, new: _Known) -> bool:
    """True if both have states of their own, and none in common."""
    return bool(old.states and new.states) and old.states.isdisjoint(new.states)
