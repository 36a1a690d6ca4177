"""The rows that an operator of a job in SQL reads: traced through projections, filters and unions to where rows come from.

That is a table, or an operator that keeps state: what comes out of it has a meaning of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from compat.check.sql.computed import Computed
from compat.check.sql.expressions import (
    CONTENT,
    VIA,
    Call,
    Column,
    Expression,
    Literal,
    Rex,
    canonical,
    columns_in,
    conjuncts,
    expression,
    function_name,
    function_of,
    places_of,
    text,
)
from compat.check.sql.nodes import AggCall, ExecNode, read
from compat.check.sql.options import Marks
from compat.check.sql.sources import identity, only_inserts, table_of
from compat.plan.facts import Program
from compat.state.model.operators import Operator

SOURCES = frozenset({"table-source-scan", "legacy-table-source-scan", "data-stream-scan"})
"""Kinds of nodes that read tables."""

_SAME_ROWS = frozenset({"mini-batch-assigner", "drop-update-before", "exchange", "union", "sink"})
_LOCAL = frozenset({"local-group-aggregate", "local-window-aggregate"})
_SUMS = frozenset(
    {
        "group-aggregate",
        "global-group-aggregate",
        "group-window-aggregate",
        "window-aggregate",
        "global-window-aggregate",
    }
)
_INSERTING = frozenset(
    {
        "global-window-aggregate",
        "interval-join",
        "match",
        "over-aggregate",
        "temporal-sort",
        "window-aggregate",
        "window-deduplicate",
        "window-join",
        "window-rank",
    }
)
"""Kinds of nodes with state that never take a row back."""
_ADDING = frozenset({"correlate", "python-correlate", "async-correlate", "lookup-join"})
"""Nodes without state that put columns behind those that they read."""

_COSMETIC = frozenset(
    {"id", "description", "outputType", "configuration", "inputProperties", "state", "type", "flinkVersion"}
)
_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_NUMBER = re.compile(r"\[\d+\]:?")
_COLUMN_NUMBERS = re.compile(r"EXPR\$\d+|\$f\d+|w\d+\$o\d+")


class Branch(Struct, frozen=True):
    """Rows from one place: the operator that they come out of, their columns, and the conditions that they meet.

    Several branches come together in a union. ``watermark`` is the expression of the watermark, where it is set on the way.
    """

    origin: str
    columns: tuple[Expression, ...]
    conditions: frozenset[Expression] = frozenset()
    watermark: Expression | None = None


Rows = tuple[Branch, ...]
Traced = tuple[tuple[Expression, ...], ...]
"""What is computed from a row, branch by branch, in an order that does not depend on that of the branches."""


class _Calc(ExecNode, frozen=True, rename="camel"):
    projection: tuple[Rex, ...] = ()
    condition: Rex | None = None


class _Watermark(ExecNode, frozen=True, rename="camel"):
    watermark_expr: Rex | None = None


class _Expand(ExecNode, frozen=True, rename="camel"):
    projects: tuple[tuple[Rex, ...], ...] = ()


class _Windowing(Struct, frozen=True, rename="camel"):
    window: Any = None
    time_attribute_index: int = -1


class _TableFunction(ExecNode, frozen=True, rename="camel"):
    windowing: _Windowing = _Windowing()


class _Table(Struct, frozen=True, rename="camel"):
    abilities: tuple[dict[str, Any], ...] = ()


class _Scan(ExecNode, frozen=True, rename="camel"):
    scan_table_source: _Table = _Table()


class _Property(Struct, frozen=True, rename="camel"):
    kind: str = ""


class _NamedProperty(Struct, frozen=True, rename="camel"):
    property: _Property = _Property()


class _Properties(ExecNode, frozen=True, rename="camel"):
    named_window_properties: tuple[_NamedProperty, ...] = ()


class _Sums(ExecNode, frozen=True, rename="camel"):
    grouping: tuple[int, ...] = ()
    agg_calls: tuple[AggCall, ...] = ()
    local_agg_input_row_type: Any = None


class _OverGroup(Struct, frozen=True, rename="camel"):
    agg_calls: tuple[AggCall, ...] = ()


class _OverSpec(Struct, frozen=True, rename="camel"):
    groups: tuple[_OverGroup, ...] = ()
    constants: tuple[Rex, ...] = ()


class _OverSums(ExecNode, frozen=True, rename="camel"):
    over_spec: _OverSpec = _OverSpec()


class Local(ExecNode, frozen=True, rename="camel"):
    """The node that aggregates before the shuffle: the global one tells its calls in terms of what this one reads."""

    grouping: tuple[int, ...] = ()
    windowing: _Windowing = _Windowing()


class Lineage:
    """Where the rows of each operator of a program come from."""

    def __init__(
        self,
        program: Program,
        tables: Mapping[str, str] | None = None,
        *,
        through: bool = False,
        marks: Marks | None = None,
        computed: Computed | None = None,
    ) -> None:
        """Columns of tables are known by their source's id, or by what ``tables`` gives for it. ``computed`` are the computed
        columns that have a name.

        Columns that come out of a state are identified by their place. With ``through`` they are identified by their meaning:
        the column of the kept rows, if rows are passed on as a whole, or the aggregated value.
        """
        self._program, self._through = program, through
        self._tables = tables or {}
        self._several = sum(not operator.inputs for operator in program.operators) > 1
        self._marks = marks or Marks()
        self._computed = computed or {}
        self._named = set[Column]()
        self._texts: dict[str, str | None] = {}
        self._nodes: dict[str, ExecNode | None] = {}
        self._rows: dict[str, Rows] = {}

    def node(self, operator: Operator) -> ExecNode | None:
        """What all nodes tell of the node of an operator; None if it has none."""
        if operator.id not in self._nodes:
            self._nodes[operator.id] = _node(operator)
        return self._nodes[operator.id]

    def json(self, operator: Operator) -> str | None:
        """The node of an operator, with marks on what depends on options that differ; None if it has none."""
        if operator.id not in self._texts:
            node = operator.exec_node
            self._texts[operator.id] = None if node is None else self._marks.on(node)
        return self._texts[operator.id]

    def sides(self, operator: Operator) -> list[Rows]:
        """The rows of each input of an operator, inputs of a union together."""
        numbers = self._program.sides.get(operator.id) or (0,) * len(operator.inputs)
        sides: dict[int, Rows] = {}
        for number, source in zip(numbers, operator.inputs, strict=True):
            sides[number] = sides.get(number, ()) + self._given(operator, source)
        return [sides[number] for number in sorted(sides)]

    def before_the_shuffle(self, operator: Operator) -> tuple[Rows, tuple[int, ...]] | None:
        """What the local aggregate before a global one reads, and its keys; None if there is none before it."""
        found = self._local(operator)
        return None if found is None else (self.sides(found[0])[0], read(found[1], Local).grouping)

    def time_before_the_shuffle(self, operator: Operator) -> Traced:
        """The time by which the local aggregate before a global one puts rows into slices; nothing if none does."""
        found = self._local(operator)
        if found is None:
            return ()
        place = read(found[1], Local).windowing.time_attribute_index
        return picked(self.sides(found[0])[0], (place,)) if place >= 0 else ()

    def _local(self, operator: Operator) -> tuple[Operator, str] | None:
        """The local aggregate before a global one, and its JSON; None if there is none."""
        for source in operator.inputs:
            before = self._program.by_id.get(source)
            node = None if before is None else self.node(before)
            if (
                before is not None
                and node is not None
                and node.kind in _LOCAL
                and (json := self.json(before)) is not None
            ):
                return before, json
        return None

    def places_read(self, operator: Operator) -> set[int] | None:
        """The places of an operator's columns that those behind it read; None for all of them."""
        found = set[int]()
        for one in self._program.operators:
            if operator.id not in one.inputs or one.exec_node is None:
                continue
            if (node := self.node(one)) is None or node.kind != "calc":
                return None
            calc = read(one.exec_node, _Calc)
            found.update(place for rex in (*calc.projection, calc.condition) for place in places_of(rex))
        return found

    def together(self, operator: Operator, first: int, count: int) -> frozenset[frozenset[int]]:
        """Which of ``count`` columns of an operator, from the ``first`` on, one result or condition behind it is made of."""
        found = (
            frozenset(place - first for place in places if first <= place < first + count)
            for places in self._by_place.results.get(operator.id, ())
        )
        return frozenset(places for places in found if len(places) > 1)

    @cached_property
    def _by_place(self) -> Lineage:
        return Lineage(self._program) if self._through else self

    @cached_property
    def results(self) -> Mapping[str, set[frozenset[int]]]:
        """The places of the columns that values and conditions are made of, by the operator that gives the columns."""
        found: dict[str, set[frozenset[int]]] = {}
        for operator in self._program.operators:
            for branch in (branch for side in self.sides(operator) for branch in side):
                for given in (*branch.columns, *branch.conditions):
                    of = (one.place for one in columns_in(given) if one.of == branch.origin and one.place.isdigit())
                    found.setdefault(branch.origin, set()).add(frozenset(map(int, of)))
        return found

    def output_of(self, id: str, count: int) -> Rows:
        """Rows of an operator with state, with this many columns."""
        return (Branch(id, tuple(Column(id, str(place)) for place in range(count))),)

    def only_inserts(self, rows: Rows) -> bool:
        """Whether rows are known never to be taken back."""
        for branch in rows:
            before = self._program.by_id.get(branch.origin)
            node = None if before is None else self.node(before)
            if before is None or node is None or not (node.kind in _INSERTING or only_inserts(before)):
                return False
        return True

    def name(self, column: Column) -> str:
        """What a column is called: by its table, else by the operator that it comes out of."""
        operator = self._program.by_id.get(column.of)
        if operator is None:
            return column.place
        if not operator.inputs:
            table = table_of(operator)
            return column.place if table is None else self._of_table(table.short, column.place)
        if not column.place.isdigit():
            what = _WORD.sub("_", column.place).lower() if column.place.isalpha() else "a column"
            return f"{what} of {operator.name}"
        node = self.node(operator)
        names = () if node is None else node.names
        place = int(column.place)
        if place < len(names) and not _COLUMN_NUMBERS.fullmatch(names[place]):
            return names[place]
        return self._origin(column, operator, node) or f"column {place + 1} of {operator.name}"

    def _origin(self, column: Column, operator: Operator, node: ExecNode | None) -> str | None:
        """What a column without a name is where an operator has read it; None in a circle, as a plan from a file may be."""
        if node is None or column in self._named:
            return None
        self._named.add(column)
        try:
            handed = self._handed_on(operator, node)
            return self.text(handed[int(column.place)]) if int(column.place) < len(handed) else None
        except RecursionError:
            return None
        finally:
            self._named.remove(column)

    def text(self, given: Expression) -> str:
        """An expression in words."""
        return text(given, self._called)

    def _called(self, given: Expression) -> str | None:
        if isinstance(given, Column):
            return self.name(given)
        column = self._computed.get(canonical(given)) if self._computed and isinstance(given, Call) else None
        return None if column is None else self._of_table(column.table.rpartition(".")[2], column.name)

    def _of_table(self, table: str, column: str) -> str:
        return f"{table}.{column}" if self._several else column

    def _given(self, operator: Operator, id: str) -> Rows:
        """The rows that an operator has from another one: a step of its own node before it hands on what that has read."""
        before = self._program.by_id.get(id)
        if before is not None and _is_step_of(before, operator) and not before.states:
            return tuple(branch for side in self.sides(before) for branch in side)
        return self._rows_of(id)

    def _rows_of(self, id: str) -> Rows:
        if id not in self._rows:
            self._rows[id] = (Branch(id, ()),)  # what a loop comes back to
            operator = self._program.by_id.get(id)
            if operator is not None:
                self._rows[id] = self._traced(operator)
        return self._rows[id]

    def _traced(self, operator: Operator) -> Rows:
        node, json = self.node(operator), self.json(operator)
        if node is None or json is None:
            return self._described(operator)
        own = [id for id in operator.inputs if _is_step_of(self._program.by_id.get(id), operator)]
        if own and not operator.states:
            return tuple(branch for id in own for branch in self._rows_of(id))
        if node.kind in SOURCES:
            return (_scanned(self._tables.get(operator.id, operator.id), read(json, _Scan)),)
        if operator.states:
            return (Branch(operator.id, tuple(self._outputs(operator, node, json))),)
        inputs = [branch for side in self.sides(operator) for branch in side]
        if node.kind in _SAME_ROWS:
            return tuple(inputs)
        if node.kind in _STEPS:
            return tuple(made for branch in inputs for made in _STEPS[node.kind](json, branch))
        if not inputs:
            return (Branch(operator.id, tuple(Column(operator.id, name) for name in node.names), _content(json)),)
        return tuple(_unknown_step(json, node, branch) for branch in inputs)

    def _outputs(self, operator: Operator, node: ExecNode, json: str) -> Iterator[Expression]:
        """The columns of the rows that an operator with state gives."""
        names = node.names
        properties = read(json, _Properties).named_window_properties
        numbered = len(names) - len(properties)
        handed = self._what_comes_out(operator, node, json) if self._through else ()
        for place in range(len(names)):
            if place >= numbered:
                yield Column(operator.id, properties[place - numbered].property.kind)
            elif place < len(handed):
                yield Call(f"{VIA}{operator.id}", (handed[place],))
            else:
                yield Column(operator.id, f"+{place - len(handed)}" if handed else str(place))

    def _what_comes_out(self, operator: Operator, node: ExecNode, json: str) -> tuple[Expression, ...]:
        """What the first columns are that an operator gives: as it has read them, or what it adds up.

        Nothing of a node that is of another shape than this version knows.
        """
        handed = self._handed_on(operator, node)
        try:
            if node.kind in _SUMS:
                return self._sums(operator, read(json, _Sums))
            if node.kind != "over-aggregate" or not handed:
                return handed
            spec = read(json, _OverSums).over_spec
        except msgspec.MsgspecError:
            return ()
        columns = (*self.sides(operator)[0][0].columns, *(expression(one, ()) for one in spec.constants))
        return handed + tuple(_sum(call, columns) for group in spec.groups for call in group.agg_calls)

    def _sums(self, operator: Operator, node: _Sums) -> tuple[Expression, ...]:
        """The keys and the sums of a GROUP BY; empty if the plan does not tell what they are of."""
        rows, grouping = self.sides(operator)[0], node.grouping
        before = self.before_the_shuffle(operator)
        if before is not None:
            rows, first = before
            grouping = tuple(first[place] for place in grouping if place < len(first))
        if len(rows) != 1 or (before is None) is not (node.local_agg_input_row_type is None):
            return ()
        return tuple(canonical(at(rows[0], place)) for place in grouping) + tuple(
            _sum(call, rows[0].columns) for call in node.agg_calls
        )

    def _handed_on(self, operator: Operator, node: ExecNode) -> tuple[Expression, ...]:
        """The columns that an operator gives as it has read them; empty if it makes rows of its own."""
        sides = self.sides(operator)
        if (node.kind.endswith("aggregate") and node.kind != "over-aggregate") or any(len(rows) != 1 for rows in sides):
            return ()
        columns = tuple(canonical(column) for rows in sides for column in rows[0].columns)
        return columns if len(columns) <= len(node.names) else tuple(canonical(one) for one in sides[0][0].columns)

    def _described(self, operator: Operator) -> Rows:
        """Rows of an operator without a node: those of exactly its description over its input."""
        inputs = [column for side in self.sides(operator) for branch in side for column in branch.columns]
        described = Call("rows", (Literal(_NUMBER.sub("", operator.description or operator.name)), *inputs))
        return (Branch(operator.id, (), frozenset({described})),)


def _sum(call: AggCall, columns: Sequence[Expression]) -> Expression:
    """What a call of an aggregate function adds up, as an expression."""
    name = function_name(call.internal_name, call.catalog_name, call.system_name, call.class_name)
    places = (*call.arg_list, *((call.filter_arg,) if call.filter_arg >= 0 else ()))
    how = f"{call.distinct} {call.ignore_nulls} {call.filter_arg >= 0}"
    found = (columns[place] if place < len(columns) else Column("", str(place)) for place in places)
    return canonical(Call(function_of(name), tuple(found), how))


def _is_step_of(before: Operator | None, operator: Operator) -> bool:
    """True if one node made both operators."""
    return before is not None and operator.exec_node is not None and before.exec_node == operator.exec_node


def _node(operator: Operator) -> ExecNode | None:
    """The node of an operator; None if it has none, or one that cannot be read."""
    try:
        return None if operator.exec_node is None else read(operator.exec_node, ExecNode)
    except msgspec.MsgspecError:
        return None


def _scanned(id: str, scan: _Scan) -> Branch:
    """Rows of a table; what was pushed into its source beside the choice of columns is a condition."""
    pushed = frozenset(
        Call("pushed into the source", (Literal(msgspec.json.encode(one, order="sorted").decode()),))
        for one in scan.scan_table_source.abilities
        if one.get("type") not in ("ProjectPushDown", "ReadingMetadata", "WatermarkPushDown")
    )
    return Branch(id, tuple(Column(id, name) for name in scan.names), pushed)


def _calc(json: str, branch: Branch) -> Iterator[Branch]:
    calc = read(json, _Calc)
    condition = None if calc.condition is None else canonical(expression(calc.condition, branch.columns))
    yield Branch(
        branch.origin,
        tuple(expression(one, branch.columns) for one in calc.projection),
        branch.conditions | frozenset(conjuncts(condition)),
        branch.watermark,
    )


def _watermark(json: str, branch: Branch) -> Iterator[Branch]:
    rex = read(json, _Watermark).watermark_expr
    watermark = None if rex is None else canonical(expression(rex, branch.columns))
    yield Branch(branch.origin, branch.columns, branch.conditions, watermark)


def _expand(json: str, branch: Branch) -> Iterator[Branch]:
    for project in read(json, _Expand).projects:
        columns = tuple(expression(one, branch.columns) for one in project)
        yield Branch(branch.origin, columns, branch.conditions, branch.watermark)


def _table_function(json: str, branch: Branch) -> Iterator[Branch]:
    node = read(json, _TableFunction)
    window = Literal(msgspec.json.encode(node.windowing.window, order="sorted").decode(), CONTENT)
    time = node.windowing.time_attribute_index
    operands = (window, *branch.columns[time : time + 1]) if time >= 0 else (window,)
    added = tuple(Call(name, operands) for name in node.names[len(branch.columns) :])
    yield Branch(branch.origin, branch.columns + added, branch.conditions, branch.watermark)


_STEPS: dict[str, Callable[[str, Branch], Iterator[Branch]]] = {
    "calc": _calc,
    "watermark-assigner": _watermark,
    "expand": _expand,
    "window-table-function": _table_function,
}


def _unknown_step(json: str, node: ExecNode, branch: Branch) -> Branch:
    """A node without state that is not told apart further: its rows are those of exactly this node over its input."""
    content = Literal(content_of(json, branch.columns), CONTENT)
    same = branch.columns if node.kind in _ADDING and len(branch.columns) <= len(node.names) else ()
    made = tuple(Call(f"{node.kind} {name}", (content, *branch.columns)) for name in node.names[len(same) :])
    return Branch(branch.origin, same + made, branch.conditions | {Call(node.kind, (content,))}, branch.watermark)


def _content(json: str) -> frozenset[Expression]:
    return frozenset({Call("rows", (Literal(content_of(json, ()), CONTENT),))})


def content_of(json: str, columns: Sequence[Expression]) -> str:
    """All that a node's JSON says but for its looks, with the expressions in it traced; equal texts mean the same."""
    value = msgspec.json.decode(json)
    kept = {key: part for key, part in value.items() if key not in _COSMETIC}
    return msgspec.json.encode(_plain(kept, columns), order="sorted").decode()


def _plain(value: Any, columns: Sequence[Expression]) -> Any:
    if isinstance(value, dict):
        if value.get("kind") in ("INPUT_REF", "CALL", "LITERAL", "PATTERN_INPUT_REF", "FIELD_ACCESS"):
            try:
                return repr(canonical(expression(msgspec.convert(value, Rex), columns)))
            except msgspec.ValidationError:
                pass
        if value.get("type") == "FieldRef" and 0 <= value.get("index", -1) < len(columns):
            return repr(canonical(columns[value["index"]]))  # a key of a lookup join
        options = value.get("options")
        told = value | {"options": identity(options)} if "schema" in value and isinstance(options, dict) else value
        return {key: _plain(part, columns) for key, part in told.items() if key != "name"}
    return [_plain(part, columns) for part in value] if isinstance(value, list) else value


def traced(rows: Rows, parts: Callable[[Branch], Iterable[Expression]]) -> Traced:
    """What is computed from each branch of the rows, in the one form of all that mean the same."""
    return tuple(sorted((tuple(canonical(part) for part in parts(branch)) for branch in rows), key=repr))


def picked(rows: Rows, places: Iterable[int]) -> Traced:
    """The columns at these places. A place beyond the columns, of rows that are not known, is a column of nothing."""
    chosen = tuple(places)
    return traced(rows, lambda branch: (at(branch, place) for place in chosen))


def at(branch: Branch, place: int) -> Expression:
    """The column at a place."""
    return branch.columns[place] if 0 <= place < len(branch.columns) else Column(branch.origin, str(place))
