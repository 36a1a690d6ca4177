"""Top-N, LIMIT and deduplication, over all rows and within windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from compat.check.sql.aggregates import Partition, Sorting
from compat.check.sql.aspects import Aspect
from compat.check.sql.contents import rows_in
from compat.check.sql.expressions import Column, Rex, canonical, conjuncts, expression
from compat.check.sql.meaning import Difference, Meaning, Stored, Words, conditions, kept, keys, watermarks
from compat.check.sql.nodes import ExecNode, read
from compat.check.sql.options import is_limited
from compat.check.sql.rows import Branch, Lineage, Rows, Traced, picked
from compat.check.sql.sources import identity
from compat.check.sql.windows import Window, Windowing, window_changes
from compat.plan.queries import description
from compat.state.model.operators import Operator

_ALL_ROWS = "Retract"
_COUNTER = "counterState"
_MATERIALIZER = "SinkMaterializer"
_OF_FLINK = frozenset({"sink_writer", "sink_committer", "sink_global_committer", "SinkOperator"})
"""The operators that Flink makes of a sink of any connector, which rules about connectors judge."""
_CUT = "table.exec.sink.type-length-enforcer"


class _Range(Struct, frozen=True, rename="camel"):
    type: str = ""
    start: int = 1
    end: int | None = None
    end_index: int | None = None


class _Strategy(Struct, frozen=True, rename="camel"):
    type: str = ""
    primary_keys: tuple[int, ...] = ()


class _RankNode(ExecNode, frozen=True, rename="camel"):
    rank_type: str = "ROW_NUMBER"
    partition: Partition = Partition()
    partition_spec: Partition | None = None
    order_by: Sorting = Sorting()
    sort_spec: Sorting | None = None
    rank_range: _Range = _Range()
    rank_strategy: _Strategy = _Strategy()
    output_row_number: bool = False
    windowing: Windowing | None = None


class Rank(Struct, frozen=True):
    """A top-N or LIMIT: it keeps the first rows of each partition, or all rows if those that it reads can go again."""

    rows: Rows
    by: Traced
    order: Traced
    directions: tuple[tuple[bool, bool], ...]
    function: str
    range: _Range
    strategy: _Strategy
    unique: Traced
    numbered: bool
    window: Window | None
    stored: Stored

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's top-N."""
        assert isinstance(new, Rank)
        yield from keys(self.by, new.by, words, "the key of its PARTITION BY")
        if (self.order, self.directions, self.function) != (new.order, new.directions, new.function):
            title = f"its order was {self._order(words.old)} and is {new._order(words.new)}"
            yield Difference(Aspect.RANK, title, "The rows that it kept are the first ones by the old order")
        if self.range != new.range:
            yield self._range_change(new)
        if self.strategy.type != new.strategy.type or self.unique != new.unique:
            title = f"it kept its rows by the strategy {self.strategy.type} and keeps them by {new.strategy.type}"
            yield Difference(Aspect.RANK, title, "Its rows are kept in the old form")
        yield from conditions(self.rows, new.rows, words)
        if (self.by, self.order, self.window) == (new.by, new.order, new.window):
            yield from kept(self.stored, new.stored, words)
        yield from window_changes(self.window, new.window, words)
        if self.window is not None:
            yield from watermarks(self.rows, new.rows, words)

    def _order(self, lineage: Lineage) -> str:
        texts = [lineage.text(one) for one in (self.order[0] if self.order else ())]
        directions = ("ASC" if ascending else "DESC" for ascending, _ in self.directions)
        shown = ", ".join(f"{one} {two}" for one, two in zip(texts, directions, strict=False)) or "none"
        return shown if self.function == "ROW_NUMBER" else f"{shown} ({self.function})"

    def _range_change(self, new: Rank) -> Difference:
        title = f"it kept the ranks {_shown(self.range)} and is to keep the ranks {_shown(new.range)}"
        if self.range.type != new.range.type or self.range.end_index != new.range.end_index:
            return Difference(Aspect.RANK, title, "It kept only the rows within the old bound")
        larger = (new.range.end or 0) > (self.range.end or 0)
        if self.strategy.type == _ALL_ROWS and self.window is None:
            since = "It kept all rows, and counts them anew; rows that it put out before are not taken back"
            return Difference(Aspect.RANK, title, "", since)
        if larger:
            return Difference(
                Aspect.RANK,
                title,
                f"The ranks up to {self.range.end} go on; the rows of later ranks are gone, so these ranks begin with new "
                "rows",
            )
        if not (new.numbered or self.stored.marks) and self.window is None and new.range.end != self.range.end:
            return Difference(
                Aspect.RANK, title, "It kept more rows than the new bound allows, and goes on with that many"
            )
        since = "It kept the rows that it needs; rows of higher ranks that it put out before are not taken back"
        return Difference(Aspect.RANK, title, "", since)


def _shown(range: _Range) -> str:
    if range.end_index is not None:
        return f"from {range.start} to the number in a column"
    return f"{range.start} to {'the last' if range.end is None else range.end}"


def rank(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a top-N keeps."""
    node = read(text, _RankNode)
    rows = lineage.sides(operator)[0]
    order, directions = (node.sort_spec or node.order_by).over(rows)
    return Rank(
        rows,
        picked(rows, (node.partition_spec or node.partition).fields),
        order,
        directions,
        node.rank_type,
        node.rank_range,
        node.rank_strategy,
        picked(rows, node.rank_strategy.primary_keys),
        node.output_row_number,
        None if node.windowing is None else node.windowing.over(rows),
        Stored(
            rows,
            rows_in(operator),
            found=node.rank_strategy.type != _ALL_ROWS,
            # The first rows by arrival are counted (Flink: `AppendOnlyFirstNFunction`).
            marks=any(one.name == _COUNTER for one in operator.states or ()),
        ),
    )


class _DeduplicateNode(ExecNode, frozen=True, rename="camel"):
    unique_keys: tuple[int, ...] = ()
    partition_keys: tuple[int, ...] = ()
    order_key: int = -1
    is_rowtime: bool = True
    keep_last_row: bool = False
    windowing: Windowing | None = None
    filter_condition: Rex | None = None


class Deduplication(Struct, frozen=True):
    """The one row that is kept for each key: the first or the last one by a time, or by arrival."""

    rows: Rows
    by: Traced
    last: bool
    time: str
    order: Traced
    window: Window | None
    stored: Stored

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's deduplication."""
        assert isinstance(new, Deduplication)
        yield from keys(self.by, new.by, words, "the key of its PARTITION BY")
        if (self.last, self.time, self.order) != (new.last, new.time, new.order):
            title = f"it kept the {self._which(words.old)} and keeps the {new._which(words.new)}"
            yield Difference(Aspect.RANK, title, "The rows that it kept were chosen by the old rule")
        yield from conditions(self.rows, new.rows, words)
        if (self.by, self.order, self.window) == (new.by, new.order, new.window):
            yield from kept(self.stored, new.stored, words)
        yield from window_changes(self.window, new.window, words)
        if self.time == "event time":
            yield from watermarks(self.rows, new.rows, words)

    def _which(self, lineage: Lineage) -> str:
        by = ", ".join(lineage.text(one) for one in self.order[0]) if self.order else self.time
        return f"{'last' if self.last else 'first'} row by {by}"


def deduplication(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a deduplication keeps."""
    node = read(text, _DeduplicateNode)
    rows = lineage.sides(operator)[0]
    return Deduplication(
        rows,
        picked(rows, node.unique_keys or node.partition_keys),
        node.keep_last_row,
        "event time" if node.is_rowtime else "processing time",
        picked(rows, (node.order_key,)) if node.order_key >= 0 else (),
        None if node.windowing is None else node.windowing.over(rows),
        # Of first rows by arrival there is a mark only (Flink: `ProcTimeDeduplicateKeepFirstRowFunction`).
        Stored(rows, rows_in(operator), marks=not (node.is_rowtime or node.keep_last_row or node.windowing)),
    )


class LastRows(Struct, frozen=True):
    """The last row of each key: of a table of changes, or of what a sink was given."""

    rows: Rows
    by: Traced
    what: str
    stored: Stored

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to what NEW keeps."""
        assert isinstance(new, LastRows)
        yield from keys(self.by, new.by, words, self.what)
        yield from conditions(self.rows, new.rows, words)
        if self.by == new.by:
            yield from kept(self.stored, new.stored, words)


def normalized(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What the normalization of changes keeps: of a filter that the planner has put into it, the rows that meet that (Flink:
    ``ProcTimeDeduplicateKeepLastRowFunction``)."""
    node = read(text, _DeduplicateNode)
    rows = lineage.sides(operator)[0]
    if (condition := node.filter_condition) is not None:
        rows = tuple(_meeting(branch, condition, node.names) for branch in rows)
    by = picked(rows, node.unique_keys)
    return LastRows(rows, by, "its primary key", Stored(rows, rows_in(operator)))


def _meeting(branch: Branch, condition: Rex, names: tuple[str, ...]) -> Branch:
    """Rows that meet a condition besides; the columns of a source that tells none have their ``names``."""
    columns = branch.columns or tuple(Column(branch.origin, name) for name in names)
    met = conjuncts(canonical(expression(condition, columns)))
    return replace(branch, conditions=branch.conditions.union(met))


class _PrimaryKey(Struct, frozen=True):
    columns: tuple[str, ...] = ()


class _Column(Struct, frozen=True, rename="camel"):
    name: str
    kind: str = "PHYSICAL"
    data_type: Any = None


class _Schema(Struct, frozen=True, rename="camel"):
    columns: tuple[_Column, ...] = ()
    primary_key: _PrimaryKey = _PrimaryKey()

    @property
    def keys(self) -> tuple[int, ...]:
        """The places of the primary key among the columns that are written."""
        written = [one.name for one in self.columns if one.kind != "COMPUTED"]
        return tuple(written.index(name) for name in self.primary_key.columns if name in written)

    @property
    def limited(self) -> bool:
        """True if some column takes texts or bytes up to a length only."""
        return any(is_limited(one.data_type) for one in self.columns)


class _Resolved(Struct, frozen=True, rename="camel"):
    table_schema: _Schema = msgspec.field(name="schema", default=_Schema())
    options: Mapping[str, str] = {}
    partition_keys: tuple[str, ...] = ()


class _Table(Struct, frozen=True, rename="camel"):
    identifier: str = ""
    resolved_table: _Resolved = _Resolved()


class _Sink(Struct, frozen=True):
    table: _Table = _Table()


class _SinkNode(ExecNode, frozen=True, rename="camel"):
    dynamic_table_sink: _Sink = _Sink()
    input_upsert_key: tuple[int, ...] | None = None
    configuration: Mapping[str, str] = {}


class Materialized(Struct, frozen=True):
    """The rows that a sink was given for each of its keys. ``unique`` tells which of them a change is of.

    ``cut`` is what happens to texts that are longer than their column, empty if that cannot be.
    """

    last: LastRows
    unique: Traced
    cut: str

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to what NEW keeps."""
        assert isinstance(new, Materialized)
        yield from self.last.differences(new.last, words)
        if self.last.by == new.last.by:
            yield from keys(self.unique, new.unique, words, "what is unique in its rows")
        if self.cut != new.cut:
            title = f"texts that are longer than their column were kept by {self.cut or 'none'} and are by {new.cut or 'none'}"
            yield Difference(Aspect.ROWS, title, "It does not recognise a change of a kept row as a change of that row")


class Nothing(Struct, frozen=True, kw_only=True):
    """What is kept is no part of a query: the files that a sink has begun, for instance."""

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """None."""
        return iter(())


class Begun(Struct, frozen=True):
    """What operators of a connector have begun to write into a table: files, for instance, that are to be committed to it."""

    table: str
    options: Mapping[str, str]
    columns: tuple[_Column, ...]
    partitioned_by: tuple[str, ...]

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """Whether it is another table, or whether that is not told."""
        assert isinstance(new, Begun)
        if self.options and self == new:
            return
        names = sorted({name for name, _ in self.options.items() ^ new.options.items()})
        title = f"it wrote into {self.table} and writes into {new.table}"
        if self.table == new.table:
            title = f"it writes into {self.table} with other options: {', '.join(names)}"
            if self.partitioned_by != new.partitioned_by:
                title = f"it writes into other partitions of {self.table}"
            elif self.columns != new.columns:
                title = f"it writes other columns into {self.table}"
            elif not names:
                title = f"it is unknown which table {self.table} is: its options are not in the plan"
        yield Difference(Aspect.UNKNOWN, title, "Its unfinished output may belong to another table than NEW's")


def materialized(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a sink with a primary key keeps of the rows that it was given (Flink: ``SinkUpsertMaterializer``).

    Behind the query, operators of the connector keep what they have begun to write into the table.
    """
    node = read(text, _SinkNode)
    own = operator.kind not in _OF_FLINK or operator.detail.get("class") is not None
    if own and description(operator, numbered=False) is None:
        table = node.dynamic_table_sink.table
        known = table.resolved_table
        return Begun(
            table.identifier.replace("`", ""),
            identity(known.options),
            known.table_schema.columns,
            known.partition_keys,
        )
    if not operator.name.startswith(_MATERIALIZER):
        return Nothing()
    rows = lineage.sides(operator)[0]
    schema = node.dynamic_table_sink.table.resolved_table.table_schema
    # Without a key of the rows' own, a row is taken back by one that is equal to it.
    stored = Stored(rows, rows_in(operator), found=bool(node.input_upsert_key))
    last = LastRows(rows, picked(rows, schema.keys), "the primary key of its table", stored)
    cut = node.configuration.get(_CUT, "") if schema.limited else ""
    return Materialized(last, picked(rows, node.input_upsert_key or ()), cut)
