"""Joins: of changing tables, in an interval of time, with a versioned table, within windows."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compat.check.sql.aspects import Aspect
from compat.check.sql.contents import Uncounted, rows_in
from compat.check.sql.expressions import Expression, Rex, canonical, expression
from compat.check.sql.meaning import Difference, Meaning, Stored, Words, conditions, kept, watermarks
from compat.check.sql.nodes import ExecNode, read
from compat.check.sql.rows import Lineage, Rows, Traced, picked, traced
from compat.check.sql.windows import Window, Windowing, window_changes
from compat.state.model.operators import Operator
from compat.state.model.states import StateKind

_KINDS = {
    "INNER": "JOIN",
    "LEFT": "LEFT JOIN",
    "RIGHT": "RIGHT JOIN",
    "FULL": "FULL JOIN",
    "SEMI": "IN or EXISTS",
    "ANTI": "NOT IN or NOT EXISTS",
}
_SIDES = ("left", "right")
_OUTPUT_ONLY = "Its state is right for NEW; its output before the savepoint stays as OLD wrote it"


class _JoinSpec(Struct, frozen=True, rename="camel"):
    join_type: str = "INNER"
    left_keys: tuple[int, ...] = ()
    right_keys: tuple[int, ...] = ()
    filter_nulls: tuple[bool, ...] = ()
    non_equi_condition: Rex | None = None


class _Bounds(Struct, frozen=True, rename="camel"):
    is_event_time: bool = True
    left_lower_bound: int = 0
    left_upper_bound: int = 0
    left_time_index: int = -1
    right_time_index: int = -1


class _IntervalSpec(Struct, frozen=True, rename="camel"):
    join_spec: _JoinSpec = _JoinSpec()
    window_bounds: _Bounds = _Bounds()


class _JoinNode(ExecNode, frozen=True, rename="camel"):
    join_spec: _JoinSpec | None = None
    interval_join_spec: _IntervalSpec | None = None
    left_upsert_keys: tuple[tuple[int, ...], ...] = ()
    right_upsert_keys: tuple[tuple[int, ...], ...] = ()
    left_windowing: Windowing | None = None
    right_windowing: Windowing | None = None
    left_time_attribute_index: int = -1
    right_time_attribute_index: int = -1


class Side(Struct, frozen=True):
    """A side of a join: its rows, the columns of its key, the time that counts, and what is unique in it."""

    stored: Stored
    key: Traced
    time: Traced
    unique: tuple[Traced, ...]
    window: Window | None

    @property
    def rows(self) -> Rows:
        """The rows that it has read."""
        return self.stored.rows


class Join(Struct, frozen=True):
    """A join. ``kind`` is Flink's word; ``counted`` tells that it keeps how many partners a row has found (outer joins)."""

    sides: tuple[Side, ...]
    kind: str
    condition: Traced
    interval: tuple[int, int] | None
    counted: bool

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's join."""
        assert isinstance(new, Join)
        moved = list(self._keys(new, words))
        yield from moved
        if self.kind != new.kind:
            yield from self._kind_changes(new)
        if self.condition != new.condition:
            was, now = words.both(self.condition, new.condition, lambda parts: " AND ".join(parts) or "none")
            title = f"the condition besides equal keys was {was} and is {now}"
            counted = self.counted and new.counted
            yield Difference(Aspect.JOIN, title, _COUNTS if counted else "", _OUTPUT_ONLY)
        if self.interval != new.interval:
            yield _interval_change(self.interval, new.interval)
        for one, two, which in zip(self.sides, new.sides, _SIDES, strict=False):
            yield from conditions(one.rows, two.rows, words)
            if not moved and one.window == two.window:
                yield from kept(one.stored, two.stored, words, f"the {which} rows")
            yield from window_changes(one.window, two.window, words)
            if one.time != two.time:
                was, now = words.both(one.time, two.time)
                title = f"the time of the {which} rows was {was} and is {now}"
                yield Difference(Aspect.JOIN, title, "Its rows are kept under the old time")
            if self.interval is not None or one.window is not None:
                yield from watermarks(one.rows, two.rows, words)

    def _kind_changes(self, new: Join) -> Iterator[Difference]:
        """What of one kind of join is wrong for another one: partners that were counted, or were not."""
        title = f"the {_KINDS.get(self.kind, self.kind)} became a {_KINDS.get(new.kind, new.kind)}"
        before, after = self._counting, new._counting
        gone = [side.stored for side, was, now in zip(self.sides, before, after, strict=True) if was and not now]
        if any(now and not was for was, now in zip(before, after, strict=True)):
            yield Difference(Aspect.JOIN, title, _UNCOUNTED)
        elif gone and self.interval is None:  # in an interval there is a mark beside each row anyhow
            states = [state for one in gone for state in one.states or ()]
            parts = tuple(map(Uncounted, states)) if len(states) == len(gone) else None
            yield Difference(Aspect.JOIN, title, _COUNTS, parts=parts)
        yield Difference(Aspect.JOIN, title, "", _OUTPUT_ONLY)

    @property
    def _counting(self) -> tuple[bool, bool]:
        """For each side whether it counts the partners of its rows (Flink: ``StreamingJoinOperator``), or marks that there
        was one (``TimeIntervalJoin``)."""
        if not self.counted:
            return False, False
        return self.kind in ("LEFT", "FULL", "SEMI", "ANTI"), self.kind in ("RIGHT", "FULL")

    def _keys(self, new: Join, words: Words) -> Iterator[Difference]:
        old_key, new_key = (tuple(side.key for side in join.sides) for join in (self, new))
        if old_key != new_key:
            pairs = [words.both(*both) for both in zip(old_key, new_key, strict=False)]
            was, now = (" = ".join(f"({pair[place]})" for pair in pairs) for place in (0, 1))
            yield Difference(
                Aspect.KEYS,
                f"it joined on {was} and joins on {now}",
                "Its rows are kept under the old key",
            )
        elif [side.unique for side in self.sides] != [side.unique for side in new.sides]:
            yield Difference(
                Aspect.KEYS, "other columns are unique in its rows", "Its rows are kept by the old unique columns"
            )


_UNCOUNTED = "It did not count the partners of each row, and NEW needs these numbers"
_COUNTS = "It counted the partners of each row by the old rule, and uses these numbers for the new one"


def _interval_change(old: tuple[int, int] | None, new: tuple[int, int] | None) -> Difference:
    title = f"the interval of the join was {_shown(old)} and is {_shown(new)}"
    if old is not None and new is not None and old[0] <= new[0] and new[1] <= old[1]:
        return Difference(
            Aspect.JOIN, title, "", "It kept more rows than it needs, and drops them when their time is over"
        )
    return Difference(Aspect.JOIN, title, "Rows that only the new interval needs are already gone")


def _shown(bounds: tuple[int, int] | None) -> str:
    return "none" if bounds is None else f"{bounds[0]} ms to {bounds[1]} ms"


def join(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a join keeps."""
    node = read(text, _JoinNode)
    interval = node.interval_join_spec
    spec = interval.join_spec if interval is not None else node.join_spec or _JoinSpec()
    left, right = [*lineage.sides(operator), (), ()][:2]
    bounds = None if interval is None else interval.window_bounds
    times = (
        (node.left_time_attribute_index, node.right_time_attribute_index)
        if bounds is None
        else (bounds.left_time_index, bounds.right_time_index)
    )
    windows = (node.left_windowing, node.right_windowing)
    uniques = (node.left_upsert_keys, node.right_upsert_keys)
    in_time = interval is not None or node.left_windowing is not None
    sides = tuple(
        Side(
            Stored(
                rows,
                _rows_in(operator, side, len(unique)),
                found=in_time or bool(unique) or lineage.only_inserts(rows),
            ),
            picked(rows, key),
            picked(rows, (time,)) if time >= 0 else (),
            tuple(sorted((picked(rows, one) for one in unique), key=repr)),
            None if windowing is None else windowing.over(rows),
        )
        for side, rows, key, time, unique, windowing in zip(
            _SIDES, (left, right), (spec.left_keys, spec.right_keys), times, uniques, windows, strict=True
        )
    )
    in_windows = node.left_windowing is not None
    versioned = "temporal-join" in node.type
    return Join(
        sides,
        spec.join_type,
        _condition(spec.non_equi_condition, left, right),
        None if bounds is None else (bounds.left_lower_bound, bounds.left_upper_bound),
        spec.join_type != "INNER" and not in_windows and not versioned,
    )


def _rows_in(operator: Operator, side: str, keys: int) -> tuple[str, ...] | None:
    """The states that hold the rows of a side; None if it is not told under which of several keys these are filed."""
    found = rows_in(operator, side)
    filed = any(one.kind is StateKind.MAP and one.name in (found or ()) for one in operator.states or ())
    return None if keys > 1 and filed else found


def _condition(condition: Rex | None, left: Rows, right: Rows) -> Traced:
    if condition is None:
        return ((),)
    return traced(left, lambda branch: _parts(condition, branch.columns + (right[0].columns if right else ())))


def _parts(condition: Rex, columns: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return (canonical(expression(condition, columns)),)
