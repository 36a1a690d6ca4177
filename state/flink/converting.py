"""What writes the values of a state anew, with errors that say of which state they are and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from compat.state.flink.errors import NotWritten
from compat.state.flink.forms import Unconvertible
from compat.state.flink.headers import StateMeta
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.transcoding import Conversion, Convert

T = TypeVar("T")
BATCH = 1 << 12
"""Entries that are converted together: a JVM is asked once for all of them."""


class Rewrite(NamedTuple):
    """What writes the values of a state anew, and what comes behind each key."""

    values: Convert
    map_key: bytes


def rewrite(savepoint: Savepoint, conversion: Conversion, meta: StateMeta, serializer: bytes) -> Rewrite:
    """How a state is written anew. Raises NotWritten, as its function does, for what cannot be converted."""
    try:
        convert, map_key = conversion.converter(meta, serializer), conversion.map_key
    except Unconvertible as error:
        raise _refused(savepoint, meta.name, error) from None

    def told(values: Sequence[bytes]) -> list[bytes]:
        try:
            return convert(values)
        except Unconvertible as error:
            raise _refused(savepoint, meta.name, error) from None

    return Rewrite(told, map_key)


def batches(found: Iterable[T]) -> Iterator[list[T]]:
    """All of them, some at a time."""
    rest = iter(found)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _refused(savepoint: Savepoint, name: str, error: Unconvertible) -> NotWritten:
    return NotWritten(
        f"the values of the state `{name}` cannot be converted",
        path=savepoint.path,
        why=str(error),
        advice="Say in the recipe what becomes of them: fields, constants and without; or drop the state.",
    )
