"""The operators of SQL that keep their state and change its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from compat.check.context import Check
from compat.check.mapping import Pair
from compat.check.similarity import recorded
from compat.check.sql.aspects import Aspect
from compat.check.sql.computed import computed_alike
from compat.check.sql.descriptions import described
from compat.check.sql.exec_nodes import meaning_of
from compat.check.sql.meaning import Difference, Meaning, Words
from compat.check.sql.options import marks_of
from compat.check.sql.rows import Lineage
from compat.check.sql.sources import TableChange, table_changes
from compat.plan.facts import Program
from compat.plan.queries import in_one_state, of_query
from compat.state.model.operators import Operator


class MeaningChange(msgspec.Struct, frozen=True):
    """A pair that keeps its id, and what is different in what it keeps."""

    pair: Pair
    differences: tuple[Difference, ...]


class Exchange(msgspec.Struct, frozen=True):
    """Operators that took each other's places: each pair, and the operator of OLD whose work NEW's does."""

    moved: tuple[tuple[Pair, Operator], ...]


class SqlChanges(msgspec.Struct, frozen=True):
    """All that changed its meaning; what an exchange of statements or tables explains is no change of its own."""

    changes: tuple[MeaningChange, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    tables: tuple[TableChange, ...] = ()


def sql_changes(check: Check) -> SqlChanges:
    """What changed its meaning between the programs of a check."""
    sql = "sql" in (check.old.language, check.new.language)
    pairs = [pair for pair in check.right_pairs if sql or (of_query(pair.old) and of_query(pair.new))]
    kept = [pair for pair in pairs if pair.old.inputs and not _COLLECTS == pair.old.kind == pair.new.kind]
    origins = {id for pair in kept for id in _origins(pair.old, check.old)}
    sources = [
        pair
        for pair in check.mapping.pairs
        if not pair.old.inputs and (pair.old.has_state or pair.old.id in origins) and pair.old.id not in check.doubtful
    ]
    tables = tuple(table_changes(sources, check.new.operators))
    comparison = _Compared(check)
    found = {pair.old.id: change for pair in kept if (change := comparison.change(pair)) is not None}
    if found:
        by_name = _Compared(check, tables, through=True)
        found = {
            id: MeaningChange(change.pair, still)
            for id, change in found.items()
            if (still := _in_both(change, by_name.change(change.pair)))
        }
    found = {id: _passed_on(change, kept, check) for id, change in found.items()}
    found = {id: change for id, change in found.items() if not _is_settled(change, check)}
    exchanges = tuple(_exchanges(found, comparison))
    explained = {pair.old.id for exchange in exchanges for pair, _ in exchange.moved}
    return SqlChanges(tuple(change for id, change in found.items() if id not in explained), exchanges, tables)


class _Compared:
    """The two programs of a check, operator by operator.

    Sources and operators with state are known by their ids and their columns' places: what they read is their own affair.
    With ``tables`` and ``through``, by the tables, and by what the columns are; that way tells no words. Only what differs in
    both ways is a change here: the rest is one of an operator before.
    """

    def __init__(self, check: Check, tables: tuple[TableChange, ...] = (), *, through: bool = False) -> None:
        olds = {one.pair.old.id: one.old.name for one in tables}
        news = {one.pair.new.id: one.new.name for one in tables}
        before, after = marks_of(*(program.settings.get("table_options") or {} for program in (check.old, check.new)))
        was, now = ({}, {}) if through else computed_alike(check.old, check.new)
        self.words = Words(
            Lineage(check.old, olds, through=through, marks=before, computed=was),
            Lineage(check.new, news, through=through, marks=after, computed=now),
        )
        self._olds, self._news = _Meanings(check.old, self.words.old), _Meanings(check.new, self.words.new)

    def change(self, pair: Pair) -> MeaningChange | None:
        """What is different in what a pair keeps."""
        old, new = self._olds.of(pair.old), self._news.of(pair.new)
        if old is None or new is None:
            old, new = self._olds.described(pair.old), self._news.described(pair.new)
        if old is None or new is None:
            untold = Difference(Aspect.UNKNOWN, "nothing tells what it computes", _UNTOLD)
            return None if recorded(pair.old) else MeaningChange(pair, (untold,))
        differences = tuple(_differences(old, new, self.words))
        return MeaningChange(pair, differences) if differences else None

    def does_the_work(self, old: Operator, new: Operator) -> bool:
        """True if an operator of NEW keeps what one of OLD kept."""
        one, two = self._olds.of(old), self._news.of(new)
        return one is not None and two is not None and not any(_differences(one, two, self.words))


def _in_both(change: MeaningChange, other: MeaningChange | None) -> tuple[Difference, ...]:
    """The differences of a change in aspects in which the other one differs too."""
    aspects = set[Aspect]() if other is None else {one.aspect for one in other.differences}
    return tuple(one for one in change.differences if one.aspect in aspects)


def _passed_on(change: MeaningChange, kept: Iterable[Pair], check: Check) -> MeaningChange:
    """The change; where what it put out is kept by an operator behind it, that is what goes on wrongly."""
    if any(one.holds or not one.output for one in change.differences):
        return change
    keeper = next((pair for pair in kept if change.pair.old.id in _origins(pair.old, check.old, stateful=True)), None)
    if keeper is None:
        return change
    holds = f"What it put out by the old rule is kept by {keeper.new.name} behind it, which goes on with that"
    return MeaningChange(change.pair, tuple(replace(one, holds=holds) for one in change.differences))


def _is_settled(change: MeaningChange, check: Check) -> bool:
    """Whether all that is different in what a pair keeps was written anew for NEW.

    Where it is kept in several states, such as the values of DISTINCT, the places in one of them do not tell all.
    """
    places = check.options.rewritten.get(change.pair.old.id)
    if places is None or not (in_one_state(change.pair.old) and in_one_state(change.pair.new)):
        return False
    return all(one.is_settled(places) for one in change.differences)


_COLLECTS = "CollectSinkOperator"
"""Keeps rows that a query has found and nobody has fetched yet, as they are."""
_UNTOLD = "It is no operator of a compiled plan, and Flink does not describe it"


def _differences(old: Meaning, new: Meaning, words: Words) -> Iterator[Difference]:
    if type(old) is not type(new):
        yield Difference(Aspect.UNKNOWN, "it became another kind of operator", "What it kept is of another kind")
    else:
        yield from old.differences(new, words)


class _Meanings:
    """What each operator of a program keeps."""

    def __init__(self, program: Program, lineage: Lineage) -> None:
        self._program, self._lineage = program, lineage
        self._known: dict[str, Meaning | None] = {}

    def of(self, operator: Operator) -> Meaning | None:
        """By its node; None if it has none."""
        if operator.id not in self._known:
            self._known[operator.id] = self._read(operator)
        return self._known[operator.id]

    def described(self, operator: Operator) -> Meaning | None:
        """By its description."""
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
    """Circles of operators that do each other's work now."""
    works: dict[str, str] = {}
    for id, change in found.items():
        for other_id, other_change in found.items():
            if other_id == id or other_id in works.values():
                continue
            if comparison.does_the_work(other_change.pair.old, change.pair.new):
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
