"""Operators that are compared as a whole: MATCH_RECOGNIZE, and those of no family that is told apart."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compat.check.sql.aggregates import Partition
from compat.check.sql.aspects import Aspect
from compat.check.sql.meaning import Difference, Meaning, Words, conditions, kept, keys
from compat.check.sql.nodes import ExecNode, read
from compat.check.sql.rows import Lineage, Rows, Traced, content_of, picked
from compat.check.sql.windows import Window, Windowing, window_changes
from compat.state.frozen import frozen
from compat.state.model.operators import Operator


class _MatchSpec(Struct, frozen=True, rename="camel"):
    partition: Partition = Partition()


class _MatchNode(ExecNode, frozen=True, rename="camel"):
    match_spec: _MatchSpec = _MatchSpec()


@frozen(kw_only=False)
class Pattern:
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
            yield Difference(Aspect.PATTERN, title, "The matches that had begun were begun by the old pattern")
        elif self.by == new.by:
            yield from kept(self.rows, new.rows, words, "the rows of its matches")


def pattern(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a MATCH_RECOGNIZE keeps."""
    rows = lineage.sides(operator)[0]
    node = read(text, _MatchNode)
    return Pattern(rows, picked(rows, node.match_spec.partition.fields), _contents(text, rows))


def _contents(text: str, rows: Rows) -> tuple[str, ...]:
    return tuple(sorted(content_of(text, branch.columns) for branch in rows)) or (content_of(text, ()),)


class _WindowNode(ExecNode, frozen=True, rename="camel"):
    windowing: Windowing | None = None


@frozen(kw_only=False)
class WindowedRows:
    """The rows of windows that grow (SESSION), until they end."""

    rows: Rows
    window: Window | None

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to NEW's windows."""
        assert isinstance(new, WindowedRows)
        yield from conditions(self.rows, new.rows, words)
        yield from window_changes(self.window, new.window, words)


def windowed_rows(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """What a table function of windows keeps."""
    rows = lineage.sides(operator)[0]
    windowing = read(text, _WindowNode).windowing
    return WindowedRows(rows, None if windowing is None else windowing.over(rows))


@frozen(kw_only=False)
class Whole:
    """An operator of a sort of which only this much is known: whether all that its node says is as before."""

    sides: tuple[Rows, ...]
    content: tuple[str, ...]

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """Whether anything is different."""
        assert isinstance(new, Whole)
        if self.content != new.content or self.sides != new.sides:
            yield Difference(Aspect.UNKNOWN, "what it does changed", "Whether its state means the same is not known")


def whole(operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """An operator as a whole."""
    sides = tuple(lineage.sides(operator))
    columns = tuple(column for rows in sides for branch in rows[:1] for column in branch.columns)
    return Whole(sides, (content_of(text, columns),))
