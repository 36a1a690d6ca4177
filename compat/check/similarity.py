"""Whether two operators are the same one in two versions of a program, judged without ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from compat.plan.facts import Program
from compat.plan.families import family
from compat.plan.queries import description
from compat.state.model.code import UserCode
from compat.state.model.operators import Operator
from compat.state.model.states import StateKind

_DEFAULT_NAMES = frozenset(
    {
        "KEYED PROCESS",
        "KeyedProcess",
        "PROCESS",
        "Process",
        "Map",
        "FlatMap",
        "Flat Map",
        "Filter",
        "Reduce",
        "Keyed Reduce",
        "Keyed Aggregation",
        "Co-Map",
        "Co-Flat Map",
        "Co-Process",
        "Keyed Co-Process",
        "Co-Keyed-Process",
        "Co-Process-Broadcast",
        "Co-Process-Broadcast-Keyed",
        "Keyed-Co-Process-Broadcast",
        "Source: Collection Source",
        "Source: Sequence Source",
        "Source: Custom Source",
        "Sink: Writer",
        "Sink: Committer",
        "Sink: Unnamed",
        "Sink: Print to Std. Out",
    }
)
_SHARED_FUNCTIONS = frozenset({"same", "<lambda>"})

_FLINK = "org.apache.flink."
_FLINKS_SQL = f"{_FLINK}table."

Feed = tuple[str, tuple[str, ...]]
"""What feeds an operator: the kind of what is known, and that."""

_NAME, _FUNCTION, _STATES, _KIND, _VALUES, _PLACE = 32, 24, 16, 8, 4, 1


def own_name(operator: Operator) -> str | None:
    """The name that the program gave to the operator; None if it only has Flink's.

    For merged operators, that of the first: merging others into an operator does not change its identity.
    """
    name = operator.name.partition(", ")[0]
    if name in _DEFAULT_NAMES or name.startswith("_") or name == operator.detail.get("window_class"):
        return None
    if operator.detail.get("unnamed"):
        return None
    return name


def own_code(operator: Operator) -> UserCode | None:
    """The program's code that a Java operator runs: for a window the function that folds records, else its function."""
    folds = (state.function for state in operator.states or () if state.built_in and state.function is not None)
    return next(folds, operator.function)


def own_function(operator: Operator) -> str | None:
    """The name of the operator's function or its class; None if there is no distinctive one. For Java lambdas and
    anonymous classes, a digest of their code.
    """
    code = own_code(operator)
    if code is not None:
        if code.name.startswith(_FLINK) and not code.name.startswith(_FLINKS_SQL):
            return None
        unnamed = code.method is not None or code.name.rpartition("$")[2].isdigit()
        return f"{code.name.rstrip('$0123456789')} {code.digest}" if unnamed else code.name
    name = operator.detail.get("function")
    if not isinstance(name, str) or name.rpartition(".")[2] in _SHARED_FUNCTIONS:
        return None
    return name


def state_names(operator: Operator) -> frozenset[tuple[str, StateKind]]:
    """Names and kinds of the states that the program itself declared."""
    return frozenset((state.name, state.kind) for state in operator.states or () if not state.built_in)


def similarity(old: Operator, new: Operator) -> int:
    """How similar two operators are: by name, function, states and kind, in this order of weight; if these are equal,
    by the function's values, then the key and the sources (of jobs in Java), and what feeds it. 0 if they are of different
    families.
    """
    if family(old) != family(new):
        return 0
    name, function = own_name(old), own_function(old)
    return (
        _KIND
        + _NAME * (name is not None and name == own_name(new))
        + _FUNCTION * (function is not None and function == own_function(new))
        + _STATES * _same_states(old, new)
        + _VALUES * (same_values(old, new) is True)
        + _PLACE * _same_key(old, new)
        + _PLACE * len(feeds_of(old) & feeds_of(new))
    )


def only_of_one_sort(score: int) -> bool:
    """True for the :func:`similarity` of operators that have neither a name, nor a function, nor the states in common."""
    return 0 < score < _KIND + _STATES


def same_values(old: Operator, new: Operator) -> bool | None:
    """Whether two functions of one class hold the same values; None if that is not known."""
    before, after = values_of(old), values_of(new)
    if before is None or after is None or own_function(old) is None or own_function(old) != own_function(new):
        return None
    return before == after


def values_of(operator: Operator) -> tuple[tuple[str, str], ...] | None:
    """The plain values that the operator's function was made with, as digests; None if they are not known."""
    code = own_code(operator)
    if code is not None:
        return tuple((one.name, one.digest) for one in code.captured)
    made_with = operator.detail.get("made_with")
    return None if made_with is None else tuple(sorted(made_with.items()))


def _same_key(old: Operator, new: Operator) -> bool:
    return any(old.key_selectors) and old.key_selectors == new.key_selectors


def feeds_of(operator: Operator) -> frozenset[Feed]:
    """What is known of that which feeds an operator: its sources, and these with the functions in between."""
    origins, fed = operator.detail.get("origins"), operator.detail.get("fed")
    known = ("origins", None if origins is None else tuple(origins)), ("fed", None if fed is None else (fed,))
    return frozenset((what, feed) for what, feed in known if feed is not None)


def _same_states(old: Operator, new: Operator) -> bool:
    """Whether the two declare the same states. A savepoint has only states that were used, so one in common is enough."""
    before, after = state_names(old), state_names(new)
    return before == after or (recorded(old) and not before.isdisjoint(after))


def recorded(operator: Operator) -> bool:
    """True for an operator of which nothing is known but what a savepoint records: no function, no place in a graph."""
    return operator.detail.get("recorded") is True


class Index:
    """Operators indexed by their features, so that a look-up does not have to go through all of them."""

    def __init__(self, operators: Iterable[Operator]) -> None:
        self._groups: dict[tuple[object, ...], list[Operator]] = {}
        for operator in operators:
            for key in _keys(operator):
                self._groups.setdefault(key, []).append(operator)

    def alike(self, operator: Operator) -> Iterator[list[Operator]]:
        """Groups of operators that share a feature with ``operator``, the most distinctive feature first."""
        return (self._groups[key] for key in _keys(operator) if key in self._groups)

    def of(self, key: tuple[object, ...]) -> list[Operator]:
        """The operators with this feature."""
        return self._groups.get(key, _NONE)


_NUMBER = re.compile(r"\[\d+\]")
_NONE: list[Operator] = []
_BY_NAME = ("both", "name")
_SIGNS = (*_BY_NAME, "described", "keyed", "function", "states", "nameless")
"""The features by which operators are found, the most distinctive first."""


def _keys(operator: Operator) -> list[tuple[object, ...]]:
    """The keys by which an operator can be found: name and function, name, what a query says, function, declared states,
    sort."""
    sort, name, function, states = family(operator), own_name(operator), own_function(operator), state_names(operator)
    keys: list[tuple[object, ...]] = []
    if name is not None and function is not None:
        keys.append((sort, "both", name, function))
    if name is not None:
        keys.append((sort, "name", name))
    if (told := description(operator, numbered=True)) is not None:
        # Operators of queries are numbered: their sources are known by their names without that.
        origins = frozenset(_NUMBER.sub("", one) for one in operator.detail.get("origins") or ())
        keys.append((sort, "described", told, origins))
        if told.keyed:
            keys.append((sort, "keyed", told.keyed, origins))
    if function is not None:
        keys.append((sort, "function", function))
    if states:
        keys.append((sort, "states", states))
    if name is None and function is None:
        keys.append((sort, "nameless", operator.name))
    return keys


def kept_names(old: Program, new: Program) -> frozenset[str]:
    """Names that operators of both programs were given."""
    before, after = (frozenset(filter(None, map(own_name, program.operators))) for program in (old, new))
    return before & after


def find_successors(
    lost: Iterable[Operator], fresh: Iterable[Operator], kept: frozenset[str] = frozenset()
) -> dict[str, Operator]:
    """The operators of NEW that do the work of OLD's operators whose state no operator takes, by OLD's id.

    A successor shares a name, a function or all declared states with the former operator; each is used once, and
    stronger matches come first. Of several equally good ones the first unused is taken, in the order of the program.
    ``kept`` are names that still exist: an operator with such a name is no successor of another one, and has none.
    """
    index = Index(fresh)
    taken: set[str] = set()
    found: dict[str, Operator] = {}
    cursors: dict[int, int] = {}
    waiting = [(operator, _keys(operator)) for operator in sorted(lost, key=lambda operator: operator.position)]
    for sign in _SIGNS:
        for old, keys in waiting:
            for key in () if old.id in found else keys:
                if key[1] != sign or (sign not in _BY_NAME and own_name(old) in kept):
                    continue
                group = index.of(key)
                place = cursors.get(id(group), 0)
                while place < len(group) and (
                    group[place].id in taken or (sign not in _BY_NAME and own_name(group[place]) in kept)
                ):
                    place += 1
                cursors[id(group)] = place
                if place < len(group):
                    found[old.id] = group[place]
                    taken.add(group[place].id)
    return found
