"""Rewrites the values of a state, with errors that name the state and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec, TypeVar

from compat.state.flink.contents import Entry
from compat.state.flink.entry_conversion import Conversion, Layouts, Rewrite
from compat.state.flink.errors import NotWritten
from compat.state.flink.forms import Convert, Unconvertible
from compat.state.flink.headers import StateMeta
from compat.state.flink.savepoint import Savepoint

Given = ParamSpec("Given")
Gives = TypeVar("Gives")

_MOST_ENTRIES = 1 << 12
_MOST_BYTES = 4 << 20


def rewrite(
    savepoint: Savepoint, conversion: Conversion, meta: StateMeta, serializer: bytes, layout: Layouts
) -> Rewrite:
    """The function that rewrites the entries of a keyed state. Raises NotWritten, like its function, if that is
    impossible.
    """
    made = _told(savepoint, meta, conversion.rewriter)(meta, serializer, layout)
    return made._replace(anew=_told(savepoint, meta, made.anew))


def rewrite_elements(savepoint: Savepoint, conversion: Conversion, meta: StateMeta, serializer: bytes) -> Convert:
    """The function that rewrites the elements of operator state. Raises as `rewrite` does."""
    return _told(savepoint, meta, _told(savepoint, meta, conversion.converter)(meta, serializer))


def _told(savepoint: Savepoint, meta: StateMeta, convert: Callable[Given, Gives]) -> Callable[Given, Gives]:
    """The same with errors that tell of the state."""

    def told(*given: Given.args, **named: Given.kwargs) -> Gives:
        try:
            return convert(*given, **named)
        except Unconvertible as error:
            raise NotWritten(
                f"the values of the state `{meta.name}` cannot be converted",
                path=savepoint.path,
                why=str(error),
                advice="Say in the recipe what happens to them, by fields, constants or a function; or drop the state.",
            ) from None

    return told


def batches(found: Iterable[Entry], together: Callable[[Entry], object] | None = None) -> Iterator[list[Entry]]:
    """All entries, some at a time: so many that a JVM is not asked for each, and so few that they fit into the memory.

    Those behind one another for which ``together`` is equal are in one.
    """
    batch: list[Entry] = []
    size = 0
    for entry in found:
        full = len(batch) >= _MOST_ENTRIES or size >= _MOST_BYTES
        if full and (together is None or together(entry) != together(batch[-1])):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += len(entry.key) + len(entry.value)
    if batch:
        yield batch
