"""Shared code of the rules about states: pairing the states of two versions of an operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from compat.check.context import Check
from compat.check.mapping import Pair
from compat.check.state_storage import KindChange, dialect_of, is_kept, kind_change, type_change
from compat.state.compatibility import Answer, Compatibility, Dialect
from compat.state.compatibility.answers import SAME
from compat.state.model.job import PYTHON_EXECUTION_MODE
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind, StateScope

if TYPE_CHECKING:
    from compat.state.flink.snapshots import SerializerSnapshot


class StateChange(Struct, frozen=True):
    """The changes of the program's own states in one operator, and how they are stored.

    ``renamed`` are states with a successor: a state of another name, or one of the same name that belongs to subtasks instead
    of keys, or the other way round. ``moved`` are states that another operator of NEW declares now, which has no state of OLD.
    ``elements`` are the framework's states in OLD and NEW that hold records of the program. ``asked`` says that Flink's own
    serializers compared the types.
    """

    pair: Pair
    dialect: Dialect
    kept: tuple[tuple[State, State], ...]
    gone: tuple[State, ...]
    added: tuple[State, ...]
    renamed: tuple[tuple[State, State], ...]
    moved: tuple[tuple[State, Operator], ...]
    elements: tuple[tuple[State, State], ...]
    asked: bool = False


def changes(check: Check) -> Iterator[StateChange]:
    """The changes of every operator that keeps its state and whose states are known, and kept alike, on both sides."""
    found = list(_by_operator(check))
    takers = _takers(check, found)
    for change in found:
        if change.pair.new.more is not None:  # it may ask for undeclared states
            yield change
            continue
        moved = tuple((state, takers[_place(state)]) for state in change.gone if _place(state) in takers)
        yield replace(change, gone=tuple(one for one in change.gone if _place(one) not in takers), moved=moved)


def _by_operator(check: Check) -> Iterator[StateChange]:
    for pair in check.right_pairs:
        dialect = dialect_of(check, pair)
        if pair.old.states is not None and pair.new.states is not None and dialect is not None:
            # Of records in windows a savepoint has bytes or serializers; only PyFlink's are judged by them.
            with_elements = check.old.kind != "savepoint" or check.old.settings.get(PYTHON_EXECUTION_MODE) is not None
            change = _change(pair, dialect, pair.old.states, pair.new.states, with_elements)
            yield replace(change, asked=check.answer(pair) is not None)


def _change(
    pair: Pair, dialect: Dialect, old_states: tuple[State, ...], new_states: tuple[State, ...], with_elements: bool
) -> StateChange:
    old = {(state.name, _own(state)): state for state in old_states if not state.built_in}
    new = {(state.name, _own(state)): state for state in new_states if not state.built_in}
    gone = [state for key, state in old.items() if key not in new]
    added = [state for key, state in new.items() if key not in old]
    renamed = []
    for state in list(gone):
        alike = (other for other in added if _alike(state, other))
        twin = next((other for other in added if other.name == state.name), None) or next(alike, None)
        if twin is not None:
            renamed.append((state, twin))
            gone.remove(state)
            added.remove(twin)
    kept = tuple((state, new[key]) for key, state in old.items() if key in new)
    built_in = {state.name: state for state in new_states if state.built_in and is_kept(state)}
    elements = tuple(
        (state, built_in[state.name])
        for state in old_states
        if with_elements and state.built_in and is_kept(state) and state.name in built_in
    )
    return StateChange(pair, dialect, kept, tuple(gone), tuple(added), tuple(renamed), (), elements)


_Place = tuple[str, StateKind, StateScope, str | None]


def _place(state: State) -> _Place:
    """The properties of a state that stay when it moves from one operator to another."""
    return state.name, state.kind, state.scope, state.type


def _takers(check: Check, changes: Sequence[StateChange]) -> dict[_Place, Operator]:
    """The operators of NEW that declare a state of which nothing of OLD's is restored, by that state.

    One that does the work of an operator whose id has moved took its states from that one.
    """
    successors = {operator.id for operator in check.mapping.successors.values()}
    fresh = (
        (state, operator)
        for operator in check.mapping.fresh
        if operator.id not in successors
        for state in operator.states or ()
    )
    added = ((state, change.pair.new) for change in changes for state in change.added)
    return {_place(state): operator for state, operator in (*fresh, *added) if not state.built_in}


def kept_states(pair: Pair) -> Iterator[tuple[State, State]]:
    """The states of one name that both versions of an operator have, built-in ones too."""
    new = {(state.name, _own(state)): state for state in pair.new.states or ()}
    for state in pair.old.states or ():
        other = new.get((state.name, _own(state)))
        if other is not None:
            yield state, other


def key_type_of(operator: Operator) -> str | None:
    """The type of an operator's key, where one of its states tells it."""
    return next((state.key_type for state in operator.states or () if state.key_type is not None), None)


def kept_snapshots(pair: Pair) -> Iterator[tuple[State, SerializerSnapshot, SerializerSnapshot]]:
    """The states of one name of which both versions tell what the serializers of their values, and of a broadcast
    map's keys, say of themselves, with that.

    The reader is imported only if there are snapshots: a program in Python has none.
    """
    for old, new in kept_states(pair):
        if old.serializers is None or new.serializers is None:
            continue
        from compat.check.serializers import entry_key_of, value_of

        for part in (value_of, entry_key_of):
            before, after = part(old), part(new)
            if before is not None and after is not None:
                yield old, before, after


def retyped(change: StateChange) -> Iterator[tuple[State, State, Compatibility]]:
    """The states that are still read and whose type is another one, with what the new type makes of the old values.

    None if Flink itself was asked.
    """
    if change.asked:
        return
    for old, new in (*change.kept, *change.elements):
        if old.scope is not new.scope:
            continue
        if kind_change(old, new, change.dialect) in (KindChange.REFUSED, KindChange.FIRST_ONLY):
            continue
        found = _told(old, new) or type_change(old, new, change.dialect)
        if found is not None and (found.changes or not found.readable):
            yield old, new, found


def _told(old: State, new: State) -> Compatibility | None:
    """What Flink's snapshots of two states' serializers tell; None if they tell nothing."""
    if old.serializers is None or new.serializers is None:
        return None
    from compat.check import serializers

    answer = serializers.of_states(old, new)
    if answer is None or answer[0] is serializers.Told.UNKNOWN:
        return None
    same = answer[0] is serializers.Told.SAME
    return SAME if same else Compatibility(Answer.AFTER_MIGRATION, answer[1])


def undecided(change: StateChange) -> Iterator[tuple[State, tuple[str, ...]]]:
    """The states of OLD whose serializers differ in a way that only Flink's own classes can judge, with what differs."""
    if change.asked:
        return
    both = [(old, new) for old, new in (*change.kept, *change.elements) if old.serializers and new.serializers]
    if not both:
        return
    from compat.check import serializers

    unreadable = {old.name for old, _, found in retyped(change) if not found.readable}
    for old, new in both:
        for answer in (serializers.of_states(old, new), serializers.placed(old, new)):
            if answer is not None and answer[0] is serializers.Told.UNKNOWN and old.name not in unreadable:
                yield old, answer[1]
                break


def _own(state: State) -> bool:
    """Keyed states and operator states of one name do not meet."""
    return state.scope is StateScope.KEYED


def _alike(old: State, new: State) -> bool:
    same_type = old.type == new.type or None in (old.type, new.type)  # a savepoint, for one, does not always tell it
    return same_type and (old.kind, old.scope) == (new.kind, new.scope)


def has_other_windows(pair: Pair) -> bool:
    """Whether the windows of an operator became those of another class, which cannot be read."""
    was, now = timers(pair.old.states), timers(pair.new.states)
    return was is not None and now is not None and was.namespace_type != now.namespace_type


def timers(states: tuple[State, ...] | None) -> State | None:
    """The timer queues among an operator's states; they carry the key and the namespace type."""
    return next((state for state in states or () if state.kind is StateKind.TIMERS), None)
