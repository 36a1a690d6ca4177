"""What writes the values of a state anew, with errors that say of which state they are and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from compat.state.flink.binary import ByteReader
from compat.state.flink.composite_keys import KeyLayout
from compat.state.flink.contents import Entry
from compat.state.flink.errors import NotWritten
from compat.state.flink.forms import Unconvertible
from compat.state.flink.headers import StateMeta
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.transcoding import Conversion, Convert, Transcode

_MOST_ENTRIES = 1 << 12
_MOST_BYTES = 4 << 20


class Rewrite(NamedTuple):
    """What writes the values of a state anew, and the keys of its entries, where these change; and where two keys can become
    one, the one value of the two that they had."""

    values: Convert
    key: Callable[[bytes], bytes] | None = None
    merge: Callable[[bytes, bytes], bytes] | None = None


def rewrite(
    savepoint: Savepoint,
    conversion: Conversion,
    meta: StateMeta,
    serializer: bytes,
    layout: Callable[[], KeyLayout] | None,
) -> Rewrite:
    """How a state is written anew; ``layout`` gives that of the keys of its entries, where it has some.

    Raises NotWritten, as its functions do, for what cannot be converted.
    """
    try:
        convert, map_keys = conversion.converter(meta, serializer), conversion.map_keys(meta)
        key = None if map_keys is None or layout is None else _key(layout(), map_keys.convert, savepoint.path)
    except Unconvertible as error:
        raise _refused(savepoint, meta.name, error) from None

    def told(values: Sequence[bytes]) -> list[bytes]:
        try:
            return convert(values)
        except Unconvertible as error:
            raise _refused(savepoint, meta.name, error) from None

    return Rewrite(told, key, None if map_keys is None else map_keys.merge)


def _key(layout: KeyLayout, map_keys: Transcode, path: str) -> Callable[[bytes], bytes]:
    """What gives the key of an entry with another key in its map."""

    def anew(key: bytes) -> bytes:
        parts = layout.split(key, path)
        group = int.from_bytes(key[: layout.prefix], "big")
        found = map_keys(ByteReader(parts.map_key, path))
        return layout.joined(group, parts._replace(map_key=found), ambiguous=layout.ambiguous)

    return anew


def batches(found: Iterable[Entry]) -> Iterator[list[Entry]]:
    """All entries, some at a time: so many that a JVM is not asked for each, and so few that they fit into the memory."""
    batch: list[Entry] = []
    size = 0
    for entry in found:
        batch.append(entry)
        size += len(entry.key) + len(entry.value)
        if len(batch) == _MOST_ENTRIES or size >= _MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _refused(savepoint: Savepoint, name: str, error: Unconvertible) -> NotWritten:
    return NotWritten(
        f"the values of the state `{name}` cannot be converted",
        path=savepoint.path,
        why=str(error),
        advice="Say in the recipe what becomes of them: fields, constants and without; or drop the state.",
    )
