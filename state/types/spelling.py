"""Parses Flink's spelling of a type, as in plans and reports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from compat.state.types.base import TypeInformation
from compat.state.types.basic import (
    BASIC_TYPES,
    DateTypeInfo,
    LocalTimeTypeInfo,
    PickledBytesTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from compat.state.types.composite import (
    BasicArrayTypeInfo,
    GenericRecordAvroTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)

_LEAVES: tuple[TypeInformation, ...] = (
    *BASIC_TYPES.values(),
    DateTypeInfo(),
    TimeTypeInfo(),
    TimestampTypeInfo(),
    PickledBytesTypeInfo(),
    *(LocalTimeTypeInfo(each) for each in LocalTimeTypeInfo.TimeType),
)
_WORDS: dict[str, TypeInformation] = {str(leaf): leaf for leaf in _LEAVES}
_ARRAYS: dict[str, TypeInformation] = {
    str(array): array
    for array in map(
        PrimitiveArrayTypeInfo,
        (BASIC_TYPES[kind] for kind in ("BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "CHAR")),
    )
}
_ONE_PART: dict[str, Callable[[TypeInformation], TypeInformation]] = {
    "List": ListTypeInfo,
    "BasicArrayTypeInfo": BasicArrayTypeInfo,
    "ObjectArrayTypeInfo": ObjectArrayTypeInfo,
}
_WORD = re.compile(r"Java Tuple\d+|\w+(?:\[\])?")
_NAME = re.compile(r"[^:(),<>]+(?=: )")
_AVRO = 'GenericRecord("'


class _NotAType(ValueError):
    pass


def parse_type(text: str) -> TypeInformation | None:
    """The type with this spelling; None for one that only Java knows, and for rows whose field names are ambiguous."""
    try:
        found, rest = _type(text)
    except (ValueError, TypeError, RecursionError):
        return None
    # Two types may be spelled alike; the one that was found must at least be spelled as given.
    return found if not rest and str(found) == text else None


def _type(text: str) -> tuple[TypeInformation, str]:
    if text.startswith(_AVRO):
        schema, end = json.JSONDecoder().raw_decode(text, len(_AVRO))
        return GenericRecordAvroTypeInfo(json.dumps(schema)), _after(text[end:], '")')
    match = _WORD.match(text)
    if match is None:
        raise _NotAType(text)
    word, rest = match[0], text[match.end() :]
    if word == "Row":
        return _row(rest)
    if word.startswith("Java Tuple"):
        parts, rest = _parts(rest) if rest.startswith("<") else ([], rest)
        return TupleTypeInfo(parts), rest
    if word == "Map":
        (key, value), rest = _parts(rest)
        return MapTypeInfo(key, value), rest
    if word in _ONE_PART:
        (element,), rest = _parts(rest)
        return _ONE_PART[word](element), rest
    found = _WORDS.get(word) or _ARRAYS.get(word)
    if found is None:
        raise _NotAType(text)
    return found, rest


def _row(text: str) -> tuple[TypeInformation, str]:
    names: list[str] = []
    types: list[TypeInformation] = []
    if not text.startswith("("):
        return RowTypeInfo([]), text
    while not text.startswith(")"):
        text = _after(text, ", " if names else "(")
        match = _NAME.match(text)
        if match is None:
            raise _NotAType(text)
        found, text = _type(text[match.end() + 2 :])
        names.append(match[0])
        types.append(found)
    return RowTypeInfo(types, names), text[1:]


def _parts(text: str) -> tuple[list[TypeInformation], str]:
    parts: list[TypeInformation] = []
    while not text.startswith(">"):
        found, text = _type(_after(text, ", " if parts else "<"))
        parts.append(found)
    return parts, text[1:]


def _after(text: str, prefix: str) -> str:
    if not text.startswith(prefix):
        raise _NotAType(text)
    return text[len(prefix) :]
