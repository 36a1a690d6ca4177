"""Aggregates: GROUP BY in one or two phases, over windows, and OVER."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.check.sql.aspects import Aspect
from compat.check.sql.contents import Part, Start, View, places_of, rows_in, sums_in, values_of, views_in
from compat.check.sql.expressions import (
    Call,
    Expression,
    Literal,
    Rex,
    canonical,
    expression,
    function_name,
    function_of,
    short_name,
)
from compat.check.sql.meaning import (
    Difference,
    Meaning,
    Stored,
    Words,
    conditions,
    kept,
    keys,
    parts_of_rows,
    watermarks,
)
from compat.check.sql.nodes import AggCall, ExecNode, field_names, read
from compat.check.sql.rows import Branch, Lineage, Rows, Traced, at, picked, traced
from compat.check.sql.windows import Window, Windowing, group_window, window_changes
from compat.state.model.operators import Operator

_WRONG = "Its sums so far go on with the new meaning"
_STAR = {"COUNT"}


class Aggregate(Struct, frozen=True):
    """An aggregate function over expressions; ``inputs`` are its arguments and last the condition of its FILTER.

    ``name`` is what the query calls it, which makes no difference, and ``function`` what it is.
    """

    function: str
    distinct: bool
    ignore_nulls: bool
    inputs: Traced
    name: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aggregate) and self._meaning == other._meaning

    def __hash__(self) -> int:
        return hash(self._meaning)

    @property
    def arguments(self) -> Traced:
        """What it is of, whatever its FILTER."""
        return tuple(branch[:-1] for branch in self.inputs)

    @property
    def condition(self) -> Traced:
        """Its FILTER."""
        return tuple(branch[-1:] for branch in self.inputs)

    @property
    def _meaning(self) -> tuple[object, ...]:
        inputs = self.inputs
        if self.function in _PASSING_NULL_BY:
            inputs = tuple(sorted((_filtered(branch) for branch in inputs), key=repr))
        return self.function, self.distinct, self.ignore_nulls, inputs

    def text(self, lineage: Lineage) -> str:
        """As it is written in SQL."""
        return " or ".join(dict.fromkeys(self._text(branch, lineage) for branch in self.inputs))

    def _text(self, inputs: tuple[Expression, ...], lineage: Lineage) -> str:
        if self.function == _VALUES:
            return f"the values of DISTINCT {', '.join(map(lineage.text, inputs))}"
        *arguments, condition = inputs
        inner = ", ".join(lineage.text(one) for one in arguments) or ("*" if self.function in _STAR else "")
        call = f"{short_name(self.name)}({'DISTINCT ' if self.distinct else ''}{inner})"
        if condition == _ALL:
            return call
        if isinstance(condition, Call) and condition.function == "IS TRUE":
            condition = condition.operands[0]
        return f"{call} FILTER (WHERE {lineage.text(condition)})"


_VALUES = "DISTINCT"
"""Stands for what keeps the values that DISTINCT has met: of the same arguments one for all aggregates."""
_ALL = Literal("true")
_PASSING_NULL_BY = frozenset({"SUM", "MIN", "MAX", "AVG", "COUNT"})


def _filtered(inputs: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The value of ``CASE WHEN condition THEN value END`` and the condition as that of a FILTER, for what passes NULL by."""
    if len(inputs) == 2 and inputs[1] == _ALL and isinstance(inputs[0], Call) and inputs[0].function == "CASE":
        condition, value, *others = inputs[0].operands
        if [one.value for one in others if isinstance(one, Literal) and not one.kind] == ["null"] and len(others) == 1:
            return value, canonical(Call("IS TRUE", (condition,)))
    return inputs


class Sums(Struct, frozen=True):
    """What aggregates add up, in a state: ``fields`` are those of its rows, None if that is not told.

    ``views`` are the states that aggregates have of their own, ``together`` the calls that one result is made of.
    """

    calls: tuple[Aggregate, ...]
    state: str | None = None
    fields: tuple[_Field, ...] | None = None
    views: tuple[View, ...] = ()
    together: frozenset[frozenset[int]] = frozenset()

    def parts(self, new: Sums, words: Words) -> tuple[Part, ...] | None:
        """Where NEW has the same; None if that is not told."""
        if self.state is None or self.state != new.state or self.fields is None or new.fields is None:
            return None
        anew = self._anew(new)
        same = tuple(
            frozenset[int]() if field.distinct in anew else places
            for field, places in zip(new.fields, places_of(self.fields, new.fields), strict=True)
        )
        sums = places_of(self.fields, [one.as_sum for one in new.fields])
        filled = frozenset(now for now, both in enumerate(zip(same, sums, strict=True)) if both[1] and not both[0])
        return (
            Part(
                self.state,
                tuple(sums[now] if now in filled else one for now, one in enumerate(same)),
                tuple(one.start for one in new.fields),
                tuple(one.of.text(words.old) for one in self.fields),
                tuple(one.of.text(words.new) for one in new.fields),
                self.views,
                needed=new.views,
                together=new._fields_together,
                filled=filled,
                was_calls=tuple(one.call for one in self.fields),
                now_calls=tuple(one.call for one in new.fields),
            ),
        )

    @property
    def _fields_together(self) -> tuple[frozenset[int], ...]:
        """The places of the fields of calls that one result is made of, and of those of a DISTINCT with its values."""
        fields = self.fields or ()
        named = [{place for place, one in enumerate(fields) if one.of == call} for call in self.calls]
        results = (frozenset().union(*(named[call] for call in calls)) for calls in self.together)
        values = (
            frozenset(place for place, one in enumerate(fields) if one.distinct == values) for values in self._distinct
        )
        return (*results, *values)

    def _anew(self, new: Sums) -> set[Traced]:
        """What of NEW's is distinct with values that are not those that OLD kept, as each aggregate has marked its own.

        The marks are bits, by the places of the aggregates with the same arguments (Flink: ``DistinctAggCodeGen``): two
        aggregates with the same FILTER share their marks. If rows can be retracted, there is a count for each aggregate
        instead.
        """
        old = self._distinct
        return {
            values
            for values, calls in new._distinct.items()
            if not _marks_alike(old.get(values, []), calls, counts=self._retracts)
        }

    @property
    def _distinct(self) -> dict[Traced, list[Aggregate]]:
        """The aggregates that share values of DISTINCT, by the arguments that these are of (Flink: ``DistinctInfo``)."""
        found: dict[Traced, list[Aggregate]] = {}
        for call in self.calls:
            if call.distinct:
                found.setdefault(call.arguments, []).append(call)
        return found

    @property
    def _retracts(self) -> bool:
        """Whether values of DISTINCT may go again."""
        return any(one.of.function == _VALUES and one.start is Start.UNTOLD for one in self.fields or ())


def _marks_alike(old: Sequence[Aggregate], new: Sequence[Aggregate], *, counts: bool) -> bool:
    """Whether each aggregate of NEW finds the marks that it has set in OLD."""
    if (counts and len(old) != len(new)) or len(old) < len(new):
        return False
    return all(
        one in old and old[old.index(one)].condition == place.condition for one, place in zip(new, old, strict=False)
    )


class _Field(Struct, frozen=True):
    """A field of an accumulator: the one of that ``number`` of so ``many`` that an aggregate has, which is the ``call``-th."""

    of: Aggregate
    number: int
    many: int
    start: Start
    call: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Field) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @property
    def _parts(self) -> tuple[Aggregate, int, int]:
        return self.of, self.number, self.many

    @property
    def distinct(self) -> Traced | None:
        """What the values of DISTINCT are of that it depends on; None without any."""
        if self.of.function == _VALUES:
            return self.of.inputs
        return self.of.arguments if self.of.distinct else None

    @property
    def as_sum(self) -> _Field | None:
        """The sum that is null without any values, of one that is zero then; None for all else."""
        if self.of.function != _ZERO_SUM or self.many != 1:
            return None
        return replace(self, of=replace(self.of, function="SUM", name="SUM"))


def sums_of(
    calls: tuple[Aggregate, ...],
    retracting: tuple[bool, ...],
    rows: Rows,
    operator: Operator,
    state: str | None,
    together: frozenset[frozenset[int]] = frozenset(),
    *,
    counted: bool,
) -> Sums:
    """The sums of aggregates, of which those that are ``retracting`` can take rows back.

    ``together`` are the calls that make one result. ``counted`` says that all rows are counted, too; a ``COUNT(*)`` of the
    query is that count (Flink: ``AggregateInfoList``).
    """
    star = Aggregate("COUNT", False, False, traced(rows, lambda _: (_ALL,)), "COUNT")
    kinds = [*zip(calls, retracting, strict=False), *([(star, True)] if counted and star not in calls else ())]
    starts = [found for call, retracts in kinds if (found := _starts(call, retracts=retracts)) is not None]
    fields: tuple[_Field, ...] | None = None
    if len(calls) == len(retracting) and len(starts) == len(kinds):
        # One that took back rows which it had not counted would be wrong for good.
        of_calls = (
            _Field(call, number, len(found), Start.UNTOLD if any(retracting) else start, place)
            for place, ((call, _), found) in enumerate(zip(kinds, starts, strict=True))
            for number, start in enumerate(found)
        )
        distinct = dict.fromkeys(one.arguments for one in calls if one.distinct)
        values = (Aggregate(_VALUES, True, False, one, _VALUES) for one in distinct)
        # Values are in a separate state: their place in the row is not read.
        start = Start.UNTOLD if any(retracting) else Start.NULL
        fields = (*of_calls, *(_Field(one, 0, 1, start, values_of(place)) for place, one in enumerate(values)))
    return Sums(calls, state, fields, views_in(operator), together)


_ZERO_SUM = "$SUM0"
_NULL, _ZERO = Start.NULL, Start.ZERO
_STARTS: Mapping[str, tuple[Start, ...]] = {
    "COUNT": (_ZERO,),
    _ZERO_SUM: (_ZERO,),
    "SUM": (_NULL,),
    "MIN": (_NULL,),
    "MAX": (_NULL,),
    "AVG": (_ZERO, _ZERO),
    "LISTAGG": (Start.UNTOLD, Start.UNTOLD),
    "SINGLE_VALUE": (Start.UNTOLD, Start.UNTOLD),
    **dict.fromkeys(("FIRST_VALUE", "LAST_VALUE", "LAG", "ARRAY_AGG", "COLLECT"), (Start.UNTOLD,)),
}
"""What the fields of accumulators begin with, by function (``…AggFunction.initialValuesExpressions``)."""
_RETRACTING: Mapping[str, tuple[Start, ...]] = {
    **_STARTS,
    "SUM": (_NULL, _ZERO),
    **dict.fromkeys(("MIN", "MAX", "LISTAGG"), (Start.UNTOLD,)),
}
"""The same for those that can take rows back (``…WithRetractAggFunction``)."""


def _starts(call: Aggregate, *, retracts: bool) -> tuple[Start, ...] | None:
    """What the fields of an aggregate begin with; None for a function whose fields nobody looked up."""
    if call.function.startswith("@"):
        return (Start.UNTOLD,)  # a function of the user's has one object
    return (_RETRACTING if retracts else _STARTS).get(call.function)


def calls_of(calls: tuple[AggCall, ...], rows: Rows) -> tuple[Aggregate, ...]:
    """The aggregates over the rows."""
    names = [function_name(one.internal_name, one.catalog_name, one.system_name, one.class_name) for one in calls]
    return tuple(
        Aggregate(function_of(name), call.distinct, call.ignore_nulls, traced(rows, _inputs(call)), name)
        for name, call in zip(names, calls, strict=True)
    )


def _inputs(call: AggCall) -> Callable[[Branch], Iterator[Expression]]:
    def inputs(branch: Branch) -> Iterator[Expression]:
        yield from (at(branch, place) for place in call.arg_list)
        yield at(branch, call.filter_arg) if call.filter_arg >= 0 else _ALL

    return inputs


def aggregate_changes(old: Sums, new: Sums, words: Words) -> Iterator[Difference]:
    """Whether other things are added up, or in other places."""
    if old.calls == new.calls:
        return
    was, now = [one.text(words.old) for one in old.calls], [one.text(words.new) for one in new.calls]
    if Counter(old.calls) == Counter(new.calls):
        title = f"the aggregates changed places: {', '.join(was)} became {', '.join(now)}"
    elif len(was) == len(now):
        both = zip(was, now, old.calls, new.calls, strict=True)
        changed = [(one, two) for one, two, before, after in both if before != after]
        title = "; ".join(
            f"{one} became {two}" if one != two else f"{one} is over other values" for one, two in changed
        )
    else:
        title = f"the aggregates were {', '.join(was) or 'none'} and are {', '.join(now) or 'none'}"
    yield Difference(Aspect.AGGREGATES, title, _WRONG, parts=old.parts(new, words))


class _GroupNode(ExecNode, frozen=True, rename="camel"):
    grouping: tuple[int, ...] = ()
    agg_calls: tuple[AggCall, ...] = ()
    agg_call_need_retractions: tuple[bool, ...] = ()
    need_retraction: bool = False
    windowing: Windowing | None = None
    window: dict[str, Any] | None = None
    local_agg_input_row_type: Any = None
    partial_agg_grouping: tuple[int, ...] = ()
    partial_original_agg_calls: tuple[AggCall, ...] = ()
    partial_local_agg_input_row_type: Any = None


class Grouped(Struct, frozen=True):
    """A GROUP BY: keys, sums, the rows, and the window if it is over one."""

    rows: Rows
    by: Traced
    sums: Sums
    window: Window | None

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's GROUP BY."""
        assert isinstance(new, Grouped)
        yield from aggregate_changes(self.sums, new.sums, words)
        yield from keys(self.by, new.by, words, "the key of its GROUP BY")
        yield from conditions(self.rows, new.rows, words)
        yield from window_changes(self.window, new.window, words, slices=True)
        if self.window is not None:
            yield from watermarks(self.rows, new.rows, words)


def grouped(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a GROUP BY keeps, in one phase or as the second of two."""
    node = read(text, _GroupNode)
    rows = lineage.sides(operator)[0]
    grouping = node.partial_agg_grouping or node.grouping
    calls = node.partial_original_agg_calls or node.agg_calls
    local = node.local_agg_input_row_type or node.partial_local_agg_input_row_type
    if local is not None:
        before = lineage.before_the_shuffle(operator)
        if before is not None:
            rows, first = before
            grouping = tuple(first[place] for place in grouping if place < len(first))
        else:
            rows = tuple(lineage.output_of(branch.origin, len(field_names(local)))[0] for branch in rows)
    window = group_window(node.window, rows) if node.window is not None else None
    if node.windowing is not None:
        window = node.windowing.over(rows)
        if not window.time:  # the local aggregate knows it, and puts rows into slices
            window = replace(window, time=lineage.time_before_the_shuffle(operator))
    counted = node.need_retraction or (window is not None and window.sliced and window.kind == "HOP")
    retracting = node.agg_call_need_retractions or (node.need_retraction,) * len(calls)
    # If DISTINCT is computed in parts, the state has more than one value for each aggregate.
    state = None if node.partial_original_agg_calls else sums_in(operator)
    together = lineage.together(operator, len(node.grouping), len(calls))
    sums = sums_of(calls_of(calls, rows), retracting, rows, operator, state, together, counted=counted)
    return Grouped(rows, picked(rows, grouping), sums, window)


class _Sort(Struct, frozen=True, rename="camel"):
    index: int
    is_ascending: bool = True
    null_is_last: bool = False


class Sorting(Struct, frozen=True, rename="camel"):
    """An ORDER BY (Flink: ``SortSpec``)."""

    fields: tuple[_Sort, ...] = ()

    def over(self, rows: Rows) -> tuple[Traced, tuple[tuple[bool, bool], ...]]:
        """The expressions, and for each whether it ascends and whether NULL comes last."""
        return picked(rows, (one.index for one in self.fields)), tuple(
            (one.is_ascending, one.null_is_last) for one in self.fields
        )


class Partition(Struct, frozen=True, rename="camel"):
    """A PARTITION BY (Flink: ``PartitionSpec``)."""

    fields: tuple[int, ...] = ()


class _Bound(Struct, frozen=True, rename="camel"):
    kind: str = ""
    is_preceding: bool = True
    offset: Rex | None = None


class _OverGroup(Struct, frozen=True, rename="camel"):
    order_by: Sorting = Sorting()
    is_rows: bool = False
    lower_bound: _Bound = _Bound()
    upper_bound: _Bound = _Bound()
    agg_calls: tuple[AggCall, ...] = ()


class _OverSpec(Struct, frozen=True, rename="camel"):
    partition: Partition = Partition()
    groups: tuple[_OverGroup, ...] = ()
    constants: tuple[Rex, ...] = ()


class _OverNode(ExecNode, frozen=True, rename="camel"):
    over_spec: _OverSpec = _OverSpec()


class Range(Struct, frozen=True):
    """The rows that an OVER looks back to; ``lower`` in milliseconds or rows, where it is a number."""

    rows: bool
    lower: str
    upper: str

    def __str__(self) -> str:
        return f"{'ROWS' if self.rows else 'RANGE'} BETWEEN {self.lower} AND {self.upper}"

    @property
    def is_all(self) -> bool:
        """True for all rows up to the current one."""
        return (self.lower, self.upper) == ("UNBOUNDED PRECEDING", "CURRENT ROW")

    @property
    def reach(self) -> int | None:
        """How far it looks back."""
        number = self.lower.removesuffix(" PRECEDING").removesuffix(" ms")
        return int(number) if number.isdigit() else None


class Over(Struct, frozen=True):
    """OVER aggregates: they keep the rows that they look back to, or with ``only_sums`` what these add up to."""

    rows: Rows
    by: Traced
    order: tuple[tuple[Traced, tuple[tuple[bool, bool], ...]], ...]
    ranges: tuple[Range, ...]
    sums: Sums
    only_sums: bool
    stored: Stored

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's OVER."""
        assert isinstance(new, Over)
        for change in aggregate_changes(self.sums, new.sums, words):
            rows = parts_of_rows(self.stored, new.stored, words)
            yield replace(change, parts=None if change.parts is None or rows is None else (*change.parts, *rows))
        yield from keys(self.by, new.by, words, "the key of its PARTITION BY")
        if self.order != new.order:
            was, now = words.both(self.order[0][0], new.order[0][0])
            title = f"its ORDER BY was {was} and is {now}"
            yield Difference(Aspect.WINDOW, title, "The rows that it kept are sorted by the old order")
        if self.ranges != new.ranges:
            yield self._range_change(new)
        yield from conditions(self.rows, new.rows, words)
        if (self.sums.calls, self.by, self.order) == (new.sums.calls, new.by, new.order):
            yield from kept(self.stored, new.stored, words)
        yield from watermarks(self.rows, new.rows, words)

    def _range_change(self, new: Over) -> Difference:
        was, now = (", ".join(map(str, one.ranges)) for one in (self, new))
        title = f"it looked at {was} and looks at {now}"
        if self.only_sums and new.only_sums and all(one.is_all for one in (*self.ranges, *new.ranges)):
            since = "It kept the sums of all rows so far; rows of the same time now have separate results, or one common result"
            return Difference(Aspect.WINDOW, title, "", since)
        if _is_narrower(self.ranges, new.ranges):
            since = "It kept more rows than it needs, and drops them with the next one"
            return Difference(Aspect.WINDOW, title, "", since)
        return Difference(Aspect.WINDOW, title, "It kept only the rows of the old range, and its sums cover that range")


def _is_narrower(old: tuple[Range, ...], new: tuple[Range, ...]) -> bool:
    """True if each of the ranges of time begins later than before."""
    return len(old) == len(new) and all(
        not one.rows and not two.rows and one.upper == two.upper and (one.reach or -1) >= (two.reach or 0) > 0
        for one, two in zip(old, new, strict=True)
    )


_SUMS = "accState"
"""The state of one accumulator for all rows so far, for ROWS as for RANGE where the order is that of a time.

Flink: ``RowTimeUnboundedPrecedingOverFunctionV2``, ``ProcTimeUnboundedPrecedingFunction``. In another order each row has one.
"""


def over(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What OVER aggregates keep."""
    spec = read(text, _OverNode).over_spec
    rows = lineage.sides(operator)[0]
    constants = tuple(expression(one, ()) for one in spec.constants)
    with_constants = tuple(
        Branch(branch.origin, branch.columns + constants, branch.conditions, branch.watermark) for branch in rows
    )
    ranges = tuple(
        Range(
            group.is_rows,
            _bound(group.lower_bound, with_constants, lineage),
            _bound(group.upper_bound, with_constants, lineage),
        )
        for group in spec.groups
    )
    calls = tuple(call for group in spec.groups for call in calls_of(group.agg_calls, with_constants))
    all_so_far = all(one.is_all for one in ranges)
    kept_rows = rows_in(operator)
    return Over(
        rows,
        picked(rows, spec.partition.fields),
        tuple(group.order_by.over(rows) for group in spec.groups),
        ranges,
        sums_of(
            calls,
            (not all_so_far,) * len(calls),
            rows,
            operator,
            sums_in(operator),
            lineage.together(operator, len(rows[0].columns), len(calls)),
            counted=not all_so_far,
        ),
        any(state.name == _SUMS for state in operator.states or ()),
        # Over all rows by arrival there are sums alone (Flink: `ProcTimeUnboundedPrecedingFunction`).
        Stored(rows, kept_rows, marks=kept_rows == ()),
    )


def _bound(bound: _Bound, rows: Rows, lineage: Lineage) -> str:
    if bound.offset is None:
        return bound.kind.replace("_", " ")
    shown = expression(bound.offset, rows[0].columns if rows else ())
    amount = shown.value if isinstance(shown, Literal) else lineage.text(shown)
    if isinstance(shown, Literal) and shown.kind.startswith("INTERVAL"):
        amount += " ms"
    return f"{amount} {'PRECEDING' if bound.is_preceding else 'FOLLOWING'}"
