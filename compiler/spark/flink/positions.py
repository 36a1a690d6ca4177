"""The positions of a savepoint's sources, as the splits from which sources on Spark continue.

Flink keeps the readers' splits in ``SourceReaderState``, and the splits that no reader has yet in the coordinator's bytes. The
folder of each connector has their formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from compat.compiler.spark.connectors.base import Position
from compat.compiler.spark.connectors.table import kind_of, source_connector
from compat.compiler.spark.runtime_api.splits import NOTHING_LEFT
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.savepoint import OperatorState

_VERSION = 1


def splits_of(source: Any, operator: OperatorState, elements: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The splits as rows of a snapshot: id, and the split with whether it is read to its end.

    ``elements`` are those of the reader's state. Raises Untranslatable.
    """
    kind, connector = kind_of(source) or type(source).__name__, source_connector(source)
    found: list[Position] | None = [(NOTHING_LEFT, True)] if operator.fully_finished else None
    try:
        if found is None and connector is not None:
            found = connector.positions(source, operator, map(_body, elements))
    except SavepointError as error:
        raise Untranslatable(f"its splits are not those of a source of the kind {kind!r}: {error.what}") from None
    if found is None:
        raise Untranslatable(f"where a source of the kind {kind!r} stands cannot be read from a savepoint")
    for split, done in found:
        yield split["id"].encode(), json.dumps((split, done)).encode()


def _body(element: bytes) -> ByteReader:
    """A split behind the version and the length that `SimpleVersionedSerialization` writes."""
    reader = ByteReader(element, "a split")
    version = reader.integer()
    body = reader.window(reader.integer(), "a split")
    if reader.remaining or version not in (0, _VERSION):
        reader.damaged(f"a split of version {version}")
    return body
