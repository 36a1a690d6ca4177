"""What the rules about states share: pairing the states of two versions of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compat.check.context import Check
from compat.check.mapping import Pair
from compat.plan.facts import State, StateKind, StateScope


@dataclass(frozen=True, slots=True)
class StateChange:
    """What became of the program's own states in one operator."""

    pair: Pair
    kept: tuple[tuple[State, State], ...]
    gone: tuple[State, ...]
    added: tuple[State, ...]
    renamed: tuple[tuple[State, State], ...]


def changes(check: Check) -> Iterator[StateChange]:
    """The changes of every operator that keeps its state and whose states are known on both sides."""
    for pair in check.right_pairs:
        if pair.old.states is not None and pair.new.states is not None:
            yield _change(pair, pair.old.states, pair.new.states)


def _change(pair: Pair, old_states: tuple[State, ...], new_states: tuple[State, ...]) -> StateChange:
    old = {(state.name, _own(state)): state for state in old_states if not state.built_in}
    new = {(state.name, _own(state)): state for state in new_states if not state.built_in}
    gone = [state for key, state in old.items() if key not in new]
    added = [state for key, state in new.items() if key not in old]
    renamed = []
    for state in list(gone):
        twin = next((other for other in added if _alike(state, other)), None)
        if twin is not None:
            renamed.append((state, twin))
            gone.remove(state)
            added.remove(twin)
    kept = tuple((state, new[key]) for key, state in old.items() if key in new)
    return StateChange(pair, kept, tuple(gone), tuple(added), tuple(renamed))


def _own(state: State) -> bool:
    """Keyed states and operator states of one name do not meet."""
    return state.scope is StateScope.KEYED


def _alike(old: State, new: State) -> bool:
    same_type = old.type == new.type or old.type is None  # a savepoint does not always tell the type
    return same_type and (old.kind, old.scope) == (new.kind, new.scope)


def timers(states: tuple[State, ...] | None) -> State | None:
    """The timer queues among an operator's states; they carry the key and the namespace type."""
    return next((state for state in states or () if state.kind is StateKind.TIMERS), None)
