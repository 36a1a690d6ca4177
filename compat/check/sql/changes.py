"""SQL operators that keep their state under the same id but give it another meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from compat.check.context import Check, Rewritten
from compat.check.mapping import BY_GENERATED_ID, Pair
from compat.check.similarity import recorded
from compat.check.sql.aspects import Aspect
from compat.check.sql.computed import computed_alike
from compat.check.sql.contents import Part, Uncounted
from compat.check.sql.descriptions import described
from compat.check.sql.exec_nodes import meaning_of
from compat.check.sql.expressions import read_by_place
from compat.check.sql.meaning import Difference, Meaning, Words
from compat.check.sql.options import marks_of
from compat.check.sql.rows import Lineage
from compat.check.sql.sources import TableChange, table_changes
from compat.plan.facts import Program, with_ids
from compat.plan.queries import of_query
from compat.state.model.operators import Operator


class MeaningChange(msgspec.Struct, frozen=True):
    """A pair that keeps its id, and the differences in its state.

    ``parts`` is set if all of it could be rewritten for NEW. ``behind`` are later pairs whose columns have the same places but
    other meanings: each is a change of its own once this pair's change is resolved.
    """

    pair: Pair
    differences: tuple[Difference, ...]
    parts: tuple[Part | Uncounted, ...] | None = None
    behind: tuple[MeaningChange, ...] = ()

    def is_settled(self, rewritten: Mapping[str, Mapping[str, Rewritten]]) -> bool:
        """Whether all of it was rewritten for NEW, here and behind it."""
        told = rewritten.get(self.pair.old.id, {})
        here = self.parts is not None and all(part.is_settled(told) for part in self.parts)
        return here and all(one.is_settled(rewritten) for one in self.behind)


class Exchange(msgspec.Struct, frozen=True):
    """Operators that exchanged places: each pair, and the operator of OLD whose work NEW's now does."""

    moved: tuple[tuple[Pair, Operator], ...]


class SqlChanges(msgspec.Struct, frozen=True):
    """All operators whose state changed its meaning; an exchange of statements or tables is reported only once."""

    changes: tuple[MeaningChange, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    tables: tuple[TableChange, ...] = ()


def sql_changes(check: Check) -> SqlChanges:
    """The changes of meaning between the programs of a check.

    Operators whose ids moved are compared, too, as if they had their state under the new id, and so are operators that
    exchanged places.
    """
    moved = [Pair(check.old.by_id[id], new, BY_GENERATED_ID) for id, new in check.owners.items()]
    found = _with_moved(check, moved)
    exchanged = [Pair(work, pair.new, BY_GENERATED_ID) for exchange in found.exchanges for pair, work in exchange.moved]
    return replace(found, changes=_with_moved(check, [*moved, *exchanged]).changes) if exchanged else found


def _with_moved(check: Check, moved: Sequence[Pair]) -> SqlChanges:
    """What changed where the operators of some pairs have NEW's ids."""
    others = {pair.old.id for pair in moved}
    right = (pair for pair in check.mapping.pairs if pair.old.id not in check.doubtful | others)
    pairs = [*right, *moved]
    kept = [*(pair for pair in check.right_pairs if pair.old.id not in others), *moved]
    if not moved:
        return _sql_changes(check, kept, pairs)
    old = with_ids(check.old, {pair.old.id: pair.new.id for pair in moved})
    both = [*zip(check.old.operators, old.operators, strict=True)]
    now, before = {one.id: two for one, two in both}, {two.id: one for one, two in both}
    kept, pairs = ([replace(pair, old=now[pair.old.id]) for pair in each] for each in (kept, pairs))
    return _of(_sql_changes(replace(check, old=old), kept, pairs), before)


def _of(found: SqlChanges, operators: Mapping[str, Operator]) -> SqlChanges:
    """The changes of these operators of OLD, by the ids that they were compared under."""

    def pair(given: Pair) -> Pair:
        return replace(given, old=operators[given.old.id])

    def change(given: MeaningChange) -> MeaningChange:
        return replace(given, pair=pair(given.pair), behind=tuple(map(change, given.behind)))

    return SqlChanges(
        tuple(map(change, found.changes)),
        tuple(
            Exchange(tuple((pair(one), operators[other.id]) for one, other in each.moved)) for each in found.exchanges
        ),
        tuple(replace(one, pair=pair(one.pair)) for one in found.tables),
    )


def _sql_changes(check: Check, with_state: Iterable[Pair], all_pairs: Iterable[Pair]) -> SqlChanges:
    """What changed its meaning in pairs ``with_state``, whose rows come from sources among ``all_pairs``."""
    sql = "sql" in (check.old.language, check.new.language)
    pairs = [pair for pair in with_state if sql or (of_query(pair.old) and of_query(pair.new))]
    kept = [pair for pair in pairs if pair.old.inputs and not _COLLECTS == pair.old.kind == pair.new.kind]
    origins = {id for pair in kept for id in _origins(pair.old, check.old)}
    sources = [pair for pair in all_pairs if not pair.old.inputs and (pair.old.has_state or pair.old.id in origins)]
    tables = tuple(table_changes(sources, check.new.operators))
    comparison = _Compared(check)
    found = {pair.old.id: change for pair in kept if (change := comparison.change(pair)) is not None}
    if found:
        by_name = _Compared(check, tables, through=True)
        named = {pair.old.id: change for pair in kept if (change := by_name.change(pair)) is not None}
        found = {
            id: MeaningChange(change.pair, still)
            for id, change in found.items()
            if (still := _in_both(change, named.get(id)))
        }
        found = dict(_with_parts(found, named, kept, by_name, check.old))
    found = {id: _passed_on(change, kept, check) for id, change in found.items()}
    found = {id: left for id, change in found.items() if (left := _left(change, check)).differences}
    exchanges = tuple(_exchanges(found, comparison))
    explained = {pair.old.id for exchange in exchanges for pair, _ in exchange.moved}
    return SqlChanges(tuple(change for id, change in found.items() if id not in explained), exchanges, tables)


class _Compared:
    """The two programs of a check, operator by operator.

    Sources and stateful operators are identified by their ids and the places of their columns, whatever they read. With
    ``tables`` and ``through`` they are identified by their tables and the meanings of the columns. Only a difference in both
    ways is a change here; any other belongs to an operator before.
    """

    def __init__(self, check: Check, tables: tuple[TableChange, ...] = (), *, through: bool = False) -> None:
        olds = {one.pair.old.id: one.old.name for one in tables}
        news = {one.pair.new.id: one.new.name for one in tables}
        before, after = marks_of(*(program.settings.get("table_options") or {} for program in (check.old, check.new)))
        was, now = computed_alike(check.old, check.new)
        self.words = Words(
            Lineage(check.old, olds, through=through, marks=before, computed=was),
            Lineage(check.new, news, through=through, marks=after, computed=now),
        )
        self._olds, self._news = _Meanings(check.old, self.words.old), _Meanings(check.new, self.words.new)

    def change(self, pair: Pair) -> MeaningChange | None:
        """The differences in the state of a pair."""
        old, new = self._olds.of(pair.old), self._news.of(pair.new)
        if old is None or new is None:
            old, new = self._olds.described(pair.old), self._news.described(pair.new)
        if old is None or new is None:
            untold = Difference(Aspect.UNKNOWN, "it is unknown what it computes", _UNTOLD)
            return None if recorded(pair.old) else MeaningChange(pair, (untold,))
        differences = tuple(_differences(old, new, self.words))
        return MeaningChange(pair, differences) if differences else None

    def read_by_place(self, pair: Pair) -> set[str]:
        """The operators of whose columns a pair knows only the numbers."""
        sides = [*self.words.old.sides(pair.old), *self.words.new.sides(pair.new)]
        columns = (column for rows in sides for branch in rows for column in branch.columns)
        return {id for column in columns for id in read_by_place(column)}

    def differences(self, old: Operator, new: Operator) -> tuple[Difference, ...] | None:
        """The differences between the states that an operator of NEW and one of OLD keep; None if unknown."""
        one, two = self._olds.of(old), self._news.of(new)
        return None if one is None or two is None else tuple(_differences(one, two, self.words))


def _in_both(change: MeaningChange, other: MeaningChange | None) -> tuple[Difference, ...]:
    """The differences of a change in aspects in which the other one differs too."""
    aspects = set[Aspect]() if other is None else {one.aspect for one in other.differences}
    return tuple(one for one in change.differences if one.aspect in aspects)


def _passed_on(change: MeaningChange, kept: Iterable[Pair], check: Check) -> MeaningChange:
    """The change; where what it put out is kept by an operator behind it, that is what goes on wrongly."""
    if all(one.holds or not one.output for one in change.differences):
        return change
    keeper = next((pair for pair in kept if change.pair.old.id in _origins(pair.old, check.old, stateful=True)), None)
    if keeper is None:
        return change
    holds = f"{keeper.new.name} behind it keeps the output of the old rule, and goes on with that"
    passed = tuple(one if one.holds or not one.output else replace(one, holds=holds) for one in change.differences)
    return replace(change, differences=passed, parts=None)


def _with_parts(
    found: Mapping[str, MeaningChange],
    named: Mapping[str, MeaningChange],
    kept: Iterable[Pair],
    by_name: _Compared,
    program: Program,
) -> Iterator[tuple[str, MeaningChange]]:
    """The changes with what could be rewritten, by what the columns are.

    An operator that knows the columns of a changed one by their places alone tells nothing, and neither does that one.
    """
    read = {pair.old.id: by_name.read_by_place(pair) & found.keys() for pair in kept}
    blind = {id for id, places in read.items() if places}.union(*read.values())
    parted = {id: replace(change, parts=None if id in blind else _parts(change)) for id, change in named.items()}
    hidden = {
        id: (change, _before(change.pair.old, program))
        for id, change in parted.items()
        if id not in found and any(one.holds for one in change.differences)
    }
    for id, change in found.items():
        behind = tuple(one for one, before in hidden.values() if id in before)
        yield id, replace(change, parts=parted[id].parts, behind=behind)


def _left(change: MeaningChange, check: Check) -> MeaningChange:
    """The change without what was rewritten for NEW."""
    if not change.is_settled(check.options.rewritten):
        return change
    return replace(change, differences=tuple(one for one in change.differences if not one.holds))


def _parts(change: MeaningChange) -> tuple[Part | Uncounted, ...] | None:
    """What could be rewritten; None if that is not told of all that would be wrong, or nothing would be, and where a
    state would be written in two ways at once."""
    wrong = [one for one in change.differences if one.holds]
    if not wrong or any(one.parts is None for one in wrong):
        return None
    every = [part for one in wrong for part in one.parts or ()]
    uncounted = {part.state for part in every if isinstance(part, Uncounted)}
    rows = [replace(part, uncounted=part.state in uncounted) for part in every if isinstance(part, Part)]
    told = {part.state for part in rows}
    rest = [part for part in every if isinstance(part, Uncounted) and part.state not in told]
    parts: tuple[Part | Uncounted, ...] = (*rows, *rest)
    return parts if len({part.state for part in parts}) == len(parts) else None


def _can_move(differences: Iterable[Difference]) -> bool:
    return all(one.parts is not None for one in differences if one.holds)


def _before(operator: Operator, program: Program) -> set[str]:
    """All operators that an operator reads from, directly or not."""
    seen, waiting = set[str](), list(operator.inputs)
    while waiting:
        id = waiting.pop()
        if id not in seen and id in program.by_id:
            seen.add(id)
            waiting += program.by_id[id].inputs
    return seen


_COLLECTS = "CollectSinkOperator"
"""Keeps rows that a query has found and nobody has fetched yet, as they are."""
_UNTOLD = "It is not an operator of a compiled plan, and Flink does not describe it"


def _differences(old: Meaning, new: Meaning, words: Words) -> Iterator[Difference]:
    if type(old) is not type(new):
        yield Difference(Aspect.UNKNOWN, "it became another kind of operator", "Its state is of another kind")
    else:
        yield from old.differences(new, words)


class _Meanings:
    """The meaning of the state of each operator of a program."""

    def __init__(self, program: Program, lineage: Lineage) -> None:
        self._program, self._lineage = program, lineage
        self._known: dict[str, Meaning | None] = {}

    def of(self, operator: Operator) -> Meaning | None:
        """The meaning by the operator's node; None if it has none."""
        if operator.id not in self._known:
            self._known[operator.id] = self._read(operator)
        return self._known[operator.id]

    def described(self, operator: Operator) -> Meaning | None:
        """The meaning by the operator's description."""
        return described(operator, self._program)

    def _read(self, operator: Operator) -> Meaning | None:
        node, json = self._lineage.node(operator), self._lineage.json(operator)
        if node is None or json is None:
            return None
        try:
            return meaning_of(node.kind, operator, json, self._lineage)
        except (msgspec.MsgspecError, IndexError, RecursionError):
            return None  # of another shape than this version knows: its description is compared


def _exchanges(found: Mapping[str, MeaningChange], comparison: _Compared) -> Iterator[Exchange]:
    """Cycles of operators that now do each other's work."""
    works: dict[str, str] = {}
    for id, change in found.items():
        for other_id, other in found.items():
            if other_id == id or other_id in works.values():
                continue
            differences = comparison.differences(other.pair.old, change.pair.new)
            if differences is not None and (
                not differences or (_can_move(differences) and not _can_move(change.differences))
            ):
                works[id] = other_id
                break
    seen: set[str] = set()
    for start in works:
        circle, place = [], start
        while place in works and place not in seen:
            seen.add(place)
            circle.append(place)
            place = works[place]
        if circle and place == start:
            yield Exchange(tuple((found[id].pair, found[works[id]].pair.old) for id in circle))


def _origins(operator: Operator, program: Program, *, stateful: bool = False) -> Iterable[str]:
    """The sources whose rows an operator reads; with ``stateful``, where rows that it reads come out of a state last."""
    seen, waiting = set[str](), list(operator.inputs)
    found = []
    while waiting:
        id = waiting.pop()
        if id in seen or id not in program.by_id:
            continue
        seen.add(id)
        before = program.by_id[id]
        if not before.inputs or (stateful and before.states):
            found.append(id)
        else:
            waiting += before.inputs
    return found
