"""Joins of several inputs in one operator (``table.optimizer.multi-join.enabled``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from msgspec import Struct

from compat.check.sql.aspects import Aspect
from compat.check.sql.expressions import Call, Expression, Rex, canonical, conjuncts, expression
from compat.check.sql.meaning import Difference, Meaning, Stored, Words, conditions, kept
from compat.check.sql.nodes import ExecNode, read
from compat.check.sql.rows import Lineage, Rows, Traced, at, picked
from compat.state.model.operators import Operator

_OUTPUT_ONLY = "Its state is right for NEW; its output before the savepoint stays as OLD wrote it"
"""It keeps rows and how often each came, and counts partners anew for each row that comes: no rule of its own is in that."""


class _Attributes(Struct, frozen=True, rename="camel"):
    left_input_id: int = -1
    left_field_index: int = -1
    right_input_id: int = -1
    right_field_index: int = -1


class _MultiJoinNode(ExecNode, frozen=True, rename="camel"):
    join_types: tuple[str, ...] = ()
    join_conditions: tuple[Rex | None, ...] = ()
    join_attribute_map: Mapping[str, tuple[_Attributes, ...]] = {}
    input_unique_keys: tuple[tuple[tuple[int, ...], ...], ...] = ()


class MultiJoin(Struct, frozen=True):
    """A join of several inputs: their rows, kept by the columns that are equal, and what else joins them."""

    sides: tuple[Rows, ...]
    equal: tuple[Traced, ...]
    unique: tuple[tuple[Traced, ...], ...]
    kinds: tuple[str, ...]
    conditions: Traced

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's join."""
        assert isinstance(new, MultiJoin)
        moved = list(self._keys(new, words))
        yield from moved
        if self.kinds != new.kinds:
            title = f"it joined by {', '.join(self.kinds[1:])} and joins by {', '.join(new.kinds[1:])}"
            yield Difference(Aspect.JOIN, title, "", _OUTPUT_ONLY)
        if not moved and self.conditions != new.conditions:
            was, now = words.both(self.conditions, new.conditions, lambda parts: " AND ".join(parts) or "none")
            yield Difference(Aspect.JOIN, f"its further conditions were {was} and are {now}", "", _OUTPUT_ONLY)
        for number, (one, two) in enumerate(zip(self.sides, new.sides, strict=False), 1):
            yield from conditions(one, two, words)
            if not moved:
                yield from kept(Stored(one), Stored(two), words, f"the rows of its input {number}")

    def _keys(self, new: MultiJoin, words: Words) -> Iterator[Difference]:
        if self.equal != new.equal or len(self.sides) != len(new.sides):
            was, now = (_equalities(one.equal, side) for one, side in ((self, words.old), (new, words.new)))
            title = f"it joined on {was} and joins on {now}"
            yield Difference(Aspect.KEYS, title, "Its rows are kept under the old key")
        elif self.unique != new.unique:
            yield Difference(
                Aspect.KEYS, "other columns are unique in its rows", "Its rows are kept by the old unique columns"
            )


def _equalities(equal: tuple[Traced, ...], lineage: Lineage) -> str:
    pairs = (branch for traced in equal for branch in traced)
    return " AND ".join(dict.fromkeys(" = ".join(map(lineage.text, pair)) for pair in pairs)) or "nothing"


def multi_join(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a join of several inputs keeps (Flink: ``StreamingMultiJoinOperator``)."""
    node = read(text, _MultiJoinNode)
    sides = tuple(lineage.sides(operator))
    links = [one for number in sorted(node.join_attribute_map, key=int) for one in node.join_attribute_map[number]]
    equal = tuple(_linked(sides, one) for one in links if one.left_input_id >= 0)
    unique = tuple(
        tuple(sorted((picked(rows, key) for key in found), key=repr))
        for rows, found in zip(sides, node.input_unique_keys, strict=True)
    )
    return MultiJoin(sides, equal, unique, node.join_types, _further(node, sides, equal))


def _linked(sides: tuple[Rows, ...], link: _Attributes) -> Traced:
    """The two columns that have to be equal, in every combination of branches."""
    lefts, rights = sides[link.left_input_id], sides[link.right_input_id]
    pairs = (
        (canonical(at(left, link.left_field_index)), canonical(at(right, link.right_field_index)))
        for left, right in product(lefts, rights)
    )
    return tuple(sorted(pairs, key=repr))


def _further(node: _MultiJoinNode, sides: tuple[Rows, ...], equal: tuple[Traced, ...]) -> Traced:
    """The conditions beside the columns that have to be equal."""
    same = {canonical(Call("=", pair)) for traced in equal for pair in traced}
    found = set[tuple[Expression, ...]]()
    for branches in product(*sides):
        columns = tuple(column for branch in branches for column in branch.columns)
        whole = [canonical(expression(one, columns)) for one in node.join_conditions if one is not None]
        parts = {part for one in whole for part in conjuncts(one)} - same - {canonical(_TRUE)}
        found.add(tuple(sorted(parts, key=repr)))
    return tuple(sorted(found, key=repr))


_TRUE = expression(Rex(kind="LITERAL", value=True), ())
