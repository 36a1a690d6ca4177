"""A savepoint's metadata in a later format, so that no Flink takes what is in it for what an earlier one wrote."""

from __future__ import annotations

import struct

from compat.state.flink.binary import Part
from compat.state.flink.errors import NotWritten
from compat.state.flink.rewriting import FIRST_WITH_NAMES, Draft, draft_of
from compat.state.flink.writing import write_utf

_VERSION = struct.Struct(">i")
_BEFORE = FIRST_WITH_NAMES - 1


def of_flink_2(draft: Draft) -> Draft:
    """The draft of a savepoint of Flink 1 in the first format of Flink 2 (`MetadataV5Serializer`).

    That version has the name and the uid before each operator, and is otherwise like the one before. Empty texts mean that they
    are unknown. Raises `NotWritten` for metadata of a Flink before 1.15.
    """
    savepoint = draft.savepoint
    if savepoint.format_version != _BEFORE:
        raise NotWritten(
            f"metadata of format {savepoint.format_version} does not become that of Flink 2",
            path=savepoint.path,
            why="checkpoint properties are missing in it",
            advice="Restore it with Flink 1.15 to 1.20, and take a savepoint there.",
        )
    begins = [place.begin for place in draft.places if place.part is Part.OPERATOR]
    ends = [*begins[1:], len(draft.data)][: len(begins)]
    nobody = write_utf("") + write_utf("")
    head = draft.data[: _VERSION.size] + _VERSION.pack(FIRST_WITH_NAMES)
    first = draft.data[2 * _VERSION.size : begins[0] if begins else len(draft.data)]
    operators = (nobody + draft.data[begin:end] for begin, end in zip(begins, ends, strict=True))
    return draft_of(head + first + b"".join(operators), savepoint)
