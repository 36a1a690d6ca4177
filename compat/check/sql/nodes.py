"""The nodes of compiled plans: what all have in common, and the rows that they give."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

_TYPE = re.compile(r"(?:stream-exec|batch-exec)-(?P<kind>.+?)(?:_\d+)?")


class StateEntry(Struct, frozen=True, rename="camel"):
    """A state of a node, and its time to live (``3600000 ms``)."""

    name: str = ""
    ttl: str = ""


class ExecNode(Struct, frozen=True, rename="camel"):
    """The properties that every node has (Flink: ``ExecNodeBase``)."""

    id: int
    type: str
    output_type: Any = None
    description: str = ""
    state: tuple[StateEntry, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of node without its version: ``group-aggregate``."""
        match = _TYPE.fullmatch(self.type)
        return self.type if match is None else match["kind"]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that the node gives."""
        return field_names(self.output_type)


class AggCall(Struct, frozen=True, rename="camel"):
    """A call of an aggregate function in a plan (Flink: ``AggregateCallJsonSerializer``)."""

    internal_name: str = ""
    catalog_name: str = ""
    system_name: str = ""
    class_name: str = msgspec.field(name="class", default="")
    arg_list: tuple[int, ...] = ()
    filter_arg: int = -1
    distinct: bool = False
    ignore_nulls: bool = False


N = TypeVar("N", bound=ExecNode)


def read(text: str, kind: type[N]) -> N:
    """A node of a kind. Raises msgspec.DecodeError for one that is not as that kind is written."""
    return msgspec.json.decode(text, type=kind)


def field_names(row: Any) -> tuple[str, ...]:
    """The names of the fields of a row type, as a plan writes it: as SQL, or as an object."""
    if isinstance(row, dict):
        return tuple(str(field.get("name", "")) for field in row.get("fields", ()))
    if not isinstance(row, str):
        return ()
    names, depth, place = [], 0, 0
    while place < len(row):
        char = row[place]
        if char == "`" or char == "'":
            end = _end(row, place)
            if char == "`" and depth == 1 and row[:place].rstrip()[-1:] in ("<", ","):
                names.append(row[place + 1 : end].replace("``", "`"))
            place = end
        depth += (char in "<(") - (char in ">)")
        place += 1
    return tuple(names)


def _end(text: str, start: int) -> int:
    """Where a quoted part ends that begins at ``start``."""
    quote, place = text[start], start + 1
    while place < len(text):
        if text[place] == quote:
            if text[place : place + 2] != quote * 2:
                return place
            place += 1
        place += 1
    return place
