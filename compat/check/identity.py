"""Pairs that share an id and are not the same operator. Generated ids do not know what an operator is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from compat.check.amounts import only_timers
from compat.check.mapping import BY_GENERATED_ID, Pair, StateMapping
from compat.check.similarity import (
    Feed,
    Index,
    feeds_of,
    only_of_one_sort,
    own_code,
    own_function,
    own_name,
    recorded,
    same_values,
    similarity,
    state_names,
    values_of,
)
from compat.plan.facts import Program
from compat.plan.families import family
from compat.plan.queries import of_query
from compat.state.model.operators import Operator
from compat.state.model.states import StateScope

WITHOUT_USER_HASH = frozenset({"sink_writer", "sink_committer", "sink_global_committer"})
"""Kinds of operators that cannot get a user hash from a program."""

WITHOUT_CALL = frozenset({"file_monitor"})
"""Kinds of operators that a call creates in addition to the one it returns, out of reach of other calls.
``read_text_file`` returns the reader of the file, not its monitor (Flink: ``createFileInput``)."""

_LOOK_AT = 16


def hidden(operator: Operator) -> bool:
    """True for an operator that PyFlink inserts and that no call of the program can name."""
    return operator.name.partition(", ")[0].startswith("_")


def takes_user_hash(operator: Operator) -> bool:
    """True for an operator that a call of the program can pin to a recorded id."""
    return not hidden(operator) and operator.kind not in WITHOUT_USER_HASH | WITHOUT_CALL


def named_before(operator: Operator, program: Program) -> Operator | None:
    """The operator itself, or the nearest one before it that takes a uid and that determines its id."""
    while hidden(operator):
        before = program.by_id.get(operator.inputs[0]) if operator.inputs else None
        if before is None or before.uid is not None:
            return None
        operator = before
    return operator


def find_wrong_hands(mapping: StateMapping, new: Program) -> dict[str, str]:
    """The pairs whose state would reach a different operator: by OLD's id, the reason why it differs.

    A changed name alone proves nothing, as renaming moves no state; it does if the operator of that name still exists
    elsewhere. Ids that the program set itself are trusted, unless the operators are of different sorts.
    """
    index = Index(operator for operator in new.operators if not operator.pinned)
    takes = {pair.new.id: pair.old for pair in mapping.pairs}
    swapped = _swapped([pair for pair in mapping.stateful_pairs() if pair.by != BY_GENERATED_ID])
    idle = _without_state_to_take(mapping, new)
    left = {family(operator) for operator in (*mapping.lost, *(one for one in mapping.fresh if one.has_state))}
    found: dict[str, str] = {}
    for pair in mapping.stateful_pairs():
        if pair.old.id in mapping.contested:
            continue  # who gets that state is not known
        if pair.old.id not in swapped and _only_another_sort(pair, left):
            continue
        reason = swapped.get(pair.old.id) or _reason(pair, index, takes) or _given_away(pair, idle)
        if reason is not None:
            found[pair.old.id] = reason
    return found


def find_exchanged_values(mapping: StateMapping, new: Program) -> dict[str, Operator]:
    """Operators whose ids the program set and whose functions were made with other values, or are fed by other sources and
    functions, by OLD's id: the operator of NEW that is made with OLD's values, or fed as OLD's was, now.

    Either the ids changed places or these did: only names can show which.
    """
    made: dict[object, Operator] = {}
    for operator in new.operators:
        if values_of(operator):
            made[own_function(operator), values_of(operator)] = operator
        made |= {(own_function(operator), values_of(operator), feed): operator for feed in feeds_of(operator)}
    found = {}
    for pair in mapping.stateful_pairs():
        if pair.by == BY_GENERATED_ID:
            continue
        kept = own_function(pair.old), values_of(pair.old)
        others = [made.get(kept)] if same_values(pair.old, pair.new) is False else []
        others += [made.get((*kept, feed)) for feed in _other_feeds(pair)]
        other = next((one for one in others if one is not None and one.id != pair.new.id), None)
        if other is not None and not _named_apart(pair, other):
            found[pair.old.id] = other
    return found


def _other_feeds(pair: Pair) -> list[Feed]:
    """What fed OLD's function, where that is known and another one feeds NEW's."""
    if own_function(pair.old) is None or own_function(pair.old) != own_function(pair.new):
        return []
    now = feeds_of(pair.new)
    known = {what for what, _ in now}
    return [feed for feed in feeds_of(pair.old) if feed not in now and feed[0] in known]


def _named_apart(pair: Pair, other: Operator) -> bool:
    """True if the name stayed with the id, and the other operator has a different name."""
    name = own_name(pair.old)
    return name is not None and name == own_name(pair.new) and name != own_name(other)


def _without_state_to_take(mapping: StateMapping, new: Program) -> list[Operator]:
    """The operators of NEW that declare states and get none that a program declared."""
    finds = {pair.new.id for pair in mapping.pairs if state_names(pair.old)}
    return [operator for operator in new.operators if state_names(operator) and operator.id not in finds]


def _given_away(pair: Pair, idle: Iterable[Operator]) -> str | None:
    """Why an id that the program set went to another operator: none of OLD's states is declared under it any more, and
    one of the ``idle`` operators, of the same sort, declares all of them and starts empty."""
    old, new = pair.old, pair.new
    names = {name for name, _ in state_names(old)}
    if pair.by == BY_GENERATED_ID or new.states is None or not names or _told(old) & _told(new):
        return None
    if names & {name for name, _ in state_names(new)}:
        return None
    for other in idle:
        if family(other) == family(old) and state_names(other) == state_names(old) and not _told_apart(old, other):
            return f"all that it declared is declared by {other.label} now, which finds no state"
    return None


def _only_another_sort(pair: Pair, left: Set[str]) -> bool:
    """True if an operator became one of another sort that declares the very same states, as a map becomes a flat map; more
    states do if the program gave both one name.

    Of both sorts no operator may be ``left`` without a partner: then one of those may be the right one.
    """
    old, new = pair.old, pair.new
    same_name = own_name(old) is not None and own_name(old) == own_name(new)
    return (
        bool(state_names(old))
        and (same_name or state_names(old) == state_names(new))
        and family(old) != family(new)
        and left.isdisjoint((family(old), family(new)))
        and _takes_over(old, new)
        and not _told_apart(old, new)
    )


def _told_apart(old: Operator, new: Operator) -> bool:
    """True if both have a name or a function of their own, and these differ."""
    names, functions = (own_name(old), own_name(new)), (own_function(old), own_function(new))
    return any(None not in pair and pair[0] != pair[1] for pair in (names, functions))


def _swapped(pairs: list[Pair]) -> dict[str, str]:
    """Pairs of operators that exchanged their uids, by OLD's id: names and functions match crosswise. If one name or
    function stayed with its id, the ids are trusted.
    """
    crossed = [pair for pair in pairs if _told(pair.old) and not _told(pair.old) & _told(pair.new)]
    by_old: dict[str, list[Pair]] = {}
    for pair in crossed:
        for mark in _told(pair.old):
            by_old.setdefault(mark, []).append(pair)
    found = {}
    for pair in crossed:
        partners = [other for mark in _told(pair.new) for other in by_old.get(mark, ())[:_LOOK_AT]]
        for other in partners:
            if other is not pair and family(pair.old) == family(other.old) and _told(pair.old) & _told(other.new):
                found[pair.old.id] = f"{pair.old.label} and {other.old.label} changed their ids with one another"
                break
    return found


def _told(operator: Operator) -> frozenset[str]:
    """The features that distinguish an operator from others, independent of its id."""
    name, function = own_name(operator), own_function(operator)
    return frozenset(
        mark
        for mark in (None if name is None else f"name {name}", None if function is None else f"function {function}")
        if mark is not None
    )


def _reason(pair: Pair, index: Index, takes: Mapping[str, Operator]) -> str | None:
    old, new = pair.old, pair.new
    if family(old) != family(new):
        if pair.by != BY_GENERATED_ID and (_takes_over(old, new) or (not new.has_state and not _keeps(old))):
            return None
        return f"OLD's is a {family(old)}, NEW's is a {family(new)}"
    if pair.by != BY_GENERATED_ID or (of_query(old) and of_query(new)):
        return None
    here = similarity(old, new)
    for group in index.alike(old):
        for other in group[:_LOOK_AT]:
            better = other.id != new.id and similarity(old, other) > here
            if better and not _belongs_to_its_own(old, other, takes):
                return f"the operator {old.label} is still there, in another place, with another id"
    if only_of_one_sort(here) and _differs_throughout(old, new):
        return "name, function and declared states all differ"
    if _renamed_and_rewritten(old, new):
        return "name and function both differ"
    return None


def _renamed_and_rewritten(old: Operator, new: Operator) -> bool:
    """True for operators of Java with names of their own, which both differ, and functions of other code or values."""
    before, after = own_code(old), own_code(new)
    if before is None or after is None or None in (own_name(old), own_name(new)) or own_name(old) == own_name(new):
        return False
    return before.digest != after.digest if own_function(old) != own_function(new) else same_values(old, new) is False


def _differs_throughout(old: Operator, new: Operator) -> bool:
    """True if the two have nothing but the sort of operator in common.

    Some common states are enough, unless a name or a function contradicts: an operator gains and loses states. One that
    declares none has lost all.
    """
    if not state_names(old) or new.states is None or not _comparable(old, new):
        return False
    named_otherwise = None not in (own_name(old), own_name(new)) or None not in (own_function(old), own_function(new))
    kept = {name for name, _ in state_names(old)} & {name for name, _ in state_names(new)}
    return named_otherwise or (bool(state_names(new)) and not kept)


def find_rightful(wrong: Iterable[Pair], settled: Iterable[str], new: Program) -> dict[str, Operator]:
    """By OLD's id, the operator of NEW that the state of a wrong pair belongs to: the one most like OLD's, if there is one.

    Each is used once, and none of those in ``settled``, ids of operators with other state to take.
    """
    index = Index(new.operators)
    taken = set(settled)
    owners: dict[str, Operator] = {}
    for pair in wrong:
        best, best_score = None, similarity(pair.old, pair.new)
        for group in index.alike(pair.old):
            for other in group[:_LOOK_AT]:
                score = similarity(pair.old, other)
                if other.id != pair.new.id and other.id not in taken and score > best_score:
                    best, best_score = other, score
        if best is not None:
            owners[pair.old.id] = best
            taken.add(best.id)
    return owners


def _takes_over(old: Operator, new: Operator) -> bool:
    """True if an operator of another sort declares all of the program's states in the old one, in windows of one type.
    A keyed state and an operator state of the same name are two states.
    """
    kept, declared = _own_states(old), _own_states(new)
    return bool(kept) and kept <= declared and _window_types(old) == _window_types(new)


def _own_states(operator: Operator) -> set[tuple[str, bool]]:
    """The states that the program itself declared, by name, and whether each belongs to keys."""
    return {(state.name, state.scope is StateScope.KEYED) for state in operator.states or () if not state.built_in}


def _keeps(operator: Operator) -> bool:
    """True if an operator keeps more than empty timer queues."""
    return operator.has_state and not only_timers(operator)


def _window_types(operator: Operator) -> set[str]:
    return {state.namespace_type for state in operator.states or () if state.namespace_type is not None}


def _belongs_to_its_own(old: Operator, other: Operator, takes: Mapping[str, Operator]) -> bool:
    """True if ``other`` takes the state of an operator that it resembles at least as much as it does ``old``."""
    own = takes.get(other.id)
    return own is not None and similarity(own, other) >= similarity(old, other)


def _comparable(old: Operator, new: Operator) -> bool:
    """False if a savepoint records too little about OLD's operator to say that it differs."""
    return not recorded(old) or (own_name(old) is not None and own_name(new) is not None)
