"""MATCH_RECOGNIZE, sessions, sorting, rows in flight, and operators that are compared as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from compat.check.sql.aggregates import Partition, Sorting
from compat.check.sql.aspects import Aspect
from compat.check.sql.contents import rows_in
from compat.check.sql.meaning import Difference, Meaning, Stored, Words, conditions, kept, keys
from compat.check.sql.nodes import ExecNode, read
from compat.check.sql.rows import Lineage, Rows, Traced, content_of, picked
from compat.check.sql.windows import Window, Windowing, window_changes
from compat.state.model.operators import Operator


class _MatchSpec(Struct, frozen=True, rename="camel"):
    partition: Partition = Partition()


class _MatchNode(ExecNode, frozen=True, rename="camel"):
    match_spec: _MatchSpec = _MatchSpec()


class Pattern(Struct, frozen=True):
    """A MATCH_RECOGNIZE: it keeps how far each beginning of a match has come."""

    rows: Rows
    by: Traced
    content: tuple[str, ...]

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's pattern."""
        assert isinstance(new, Pattern)
        yield from keys(self.by, new.by, words, "the key of its PARTITION BY")
        yield from conditions(self.rows, new.rows, words)
        if self.content != new.content:
            title = "its pattern, its conditions or its measures changed"
            yield Difference(Aspect.PATTERN, title, "Its partial matches began with the old pattern")
        elif self.by == new.by:
            yield from kept(Stored(self.rows), Stored(new.rows), words, "the rows of its matches")


def pattern(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a MATCH_RECOGNIZE keeps."""
    rows = lineage.sides(operator)[0]
    node = read(text, _MatchNode)
    return Pattern(rows, picked(rows, node.match_spec.partition.fields), _contents(text, rows))


def _contents(text: str, rows: Rows) -> tuple[str, ...]:
    return tuple(sorted(content_of(text, branch.columns) for branch in rows)) or (content_of(text, ()),)


class _WindowNode(ExecNode, frozen=True, rename="camel"):
    windowing: Windowing | None = None


class Sessions(Struct, frozen=True):
    """The rows of sessions until these end. ``read`` tells that somebody reads when a session began or ended."""

    rows: Rows
    by: Traced
    window: Window | None
    read: bool

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's sessions."""
        assert isinstance(new, Sessions)
        holds = "" if not new.read else "Open sessions have the old key, and so do their beginnings and ends"
        since = "Rows that it kept come out with the sessions of the old key"
        for one in keys(self.by, new.by, words, "the key of its sessions"):
            yield replace(one, holds=holds, since=since, output=False)
        yield from conditions(self.rows, new.rows, words)
        yield from kept(Stored(self.rows), Stored(new.rows), words)
        yield from window_changes(self.window, new.window, words)


def sessions(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What sessions keep (Flink: ``UnalignedWindowTableFunctionOperator``); table functions of other windows keep nothing."""
    rows = lineage.sides(operator)[0]
    node = read(text, _WindowNode)
    if node.windowing is None:
        return Sessions(rows, (), None, read=True)
    own = range(len(rows[0].columns) if rows else 0, len(node.names))
    places = lineage.places_read(operator)
    window = node.windowing.over(rows)
    return Sessions(rows, picked(rows, node.windowing.keys), window, places is None or not places.isdisjoint(own))


class _SortNode(ExecNode, frozen=True, rename="camel"):
    order_by: Sorting = Sorting()


class Sorted(Struct, frozen=True):
    """The rows of an ORDER BY until the time has come that it sorts by first, or all rows if that is no time."""

    rows: Rows
    order: Traced
    directions: tuple[tuple[bool, bool], ...]
    stored: Stored

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's ORDER BY."""
        assert isinstance(new, Sorted)
        yield from conditions(self.rows, new.rows, words)
        yield from kept(self.stored, new.stored, words)
        if (self.order, self.directions) != (new.order, new.directions):
            was, now = words.both(self.order, new.order)
            first = [{one[:1] for one in side.order} for side in (self, new)]
            holds = "" if first[0] == first[1] else "Its rows are kept under the old time"
            since = "The rows that it kept are sorted by the new order when they go on"
            yield Difference(Aspect.RANK, f"its ORDER BY was {was} and is {now}", holds, since)


def ordered(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What an ORDER BY keeps (Flink: ``RowTimeSortOperator``, ``ProcTimeSortOperator``, ``StreamSortOperator``)."""
    rows = lineage.sides(operator)[0]
    node = read(text, _SortNode)
    order, directions = node.order_by.over(rows)
    return Sorted(rows, order, directions, Stored(rows, rows_in(operator), found="temporal" in node.kind))


class InFlight(Struct, frozen=True):
    """Rows whose answer has not come yet: they are asked for again after the restore."""

    sides: tuple[Rows, ...]

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to the rows that NEW asks for."""
        assert isinstance(new, InFlight)
        for one, two in zip(self.sides, new.sides, strict=False):
            yield from kept(Stored(one), Stored(two), words, "the rows in flight")


def in_flight(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What an operator keeps that asks for something asynchronously (Flink: ``AsyncWaitOperator``)."""
    return InFlight(tuple(lineage.sides(operator)))


class _LookupNode(ExecNode, frozen=True, rename="camel"):
    require_upsert_materialize: bool = False


def looked_up(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a lookup join keeps: rows in flight, or what it has found for each row (Flink: ``KeyedLookupJoinWrapper``)."""
    keeps_answers = read(text, _LookupNode).require_upsert_materialize
    return (whole if keeps_answers else in_flight)(operator, text, lineage)


class Whole(Struct, frozen=True):
    """An operator of a sort of which only this much is known: whether all that its node says is as before."""

    sides: tuple[Rows, ...]
    content: tuple[str, ...]

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """Whether anything is different."""
        assert isinstance(new, Whole)
        if self.content != new.content or self.sides != new.sides:
            yield Difference(Aspect.UNKNOWN, "what it does changed", "It is unknown whether its state means the same")


def whole(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """An operator as a whole."""
    sides = tuple(lineage.sides(operator))
    columns = tuple(column for rows in sides for branch in rows[:1] for column in branch.columns)
    return Whole(sides, (content_of(text, columns),))


class Unlisted(Struct, frozen=True):
    """An operator of a node that a later Flink has, and nobody has looked at."""

    kind: str

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """That nothing is known of it, even where all that it says is as before."""
        assert isinstance(new, Unlisted)
        title = f"the state of the operators of a {self.kind} is unknown"
        yield Difference(Aspect.UNKNOWN, title, "This version of the check does not know such operators")
