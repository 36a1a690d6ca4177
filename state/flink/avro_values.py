"""Avro records as Flink writes them into state: `DataOutputEncoder`, which gives numbers their full width.

This is not Avro's own binary form: int and long have 4 and 8 bytes, lengths and indices 4, and blocks of arrays and maps an
unsigned count in groups of seven bits.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from compat.state.flink.binary import ByteReader

Read = Callable[[ByteReader], Any]
_MANY = 32


def avro_reader(schema: str) -> Read:
    """The reader of the values of a schema, given as JSON text. Raises ValueError for what is no schema."""
    try:
        return _reader(json.loads(schema), {}, "", 0)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not an Avro schema: {error!r}") from None


def _float(reader: ByteReader) -> float:
    value: float = struct.unpack(">f", reader.raw(4, "a number"))[0]
    return value


def _double(reader: ByteReader) -> float:
    value: float = struct.unpack(">d", reader.raw(8, "a number"))[0]
    return value


def _bytes(reader: ByteReader) -> bytes:
    return reader.sized("bytes")


def _string(reader: ByteReader) -> str:
    return reader.sized("a string").decode("utf-8", "replace")


_PRIMITIVES: dict[str, Read] = {
    "null": lambda reader: None,
    "boolean": ByteReader.boolean,
    "int": ByteReader.integer,
    "long": ByteReader.long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}


def _reader(schema: Any, named: dict[str, list[Read]], space: str, depth: int) -> Read:
    if depth > _MANY:
        raise ValueError("it is nested too deeply")
    if isinstance(schema, list):
        return _union([_reader(branch, named, space, depth + 1) for branch in schema])
    if isinstance(schema, str):
        return _PRIMITIVES.get(schema) or _reference(schema, named, space)
    kind = schema["type"]
    if kind in ("record", "error"):
        return _record(schema, named, space, depth)
    if kind == "enum":
        symbols = tuple(schema["symbols"])
        return _keep(schema, named, space, lambda reader: _symbol(reader, symbols))
    if kind == "fixed":
        size = int(schema["size"])
        return _keep(schema, named, space, lambda reader: reader.raw(size, "fixed bytes"))
    if kind == "array":
        return _array(_reader(schema["items"], named, space, depth + 1))
    if kind == "map":
        return _map(_reader(schema["values"], named, space, depth + 1))
    return _reader(kind, named, space, depth + 1)


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _reference(name: str, named: dict[str, list[Read]], space: str) -> Read:
    cell = named.get(_full(name, space)) or named.get(name)
    if cell is None:
        raise ValueError(f"no type is called {name!r}")
    return lambda reader: cell[0](reader)


def _keep(schema: Any, named: dict[str, list[Read]], space: str, read: Read) -> Read:
    named[_full(schema["name"], schema.get("namespace", space))] = [read]
    return read


def _record(schema: Any, named: dict[str, list[Read]], space: str, depth: int) -> Read:
    name = _full(schema["name"], schema.get("namespace", space))
    cell: list[Read] = [lambda reader: None]
    named[name] = cell
    inner = name.rpartition(".")[0]
    fields = [(field["name"], _reader(field["type"], named, inner, depth + 1)) for field in schema["fields"]]
    cell[0] = lambda reader: {field: read(reader) for field, read in fields}
    return cell[0]


def _union(branches: list[Read]) -> Read:
    def read(reader: ByteReader) -> Any:
        place = reader.integer()
        if not 0 <= place < len(branches):
            reader.damaged(f"branch {place} of a union of {len(branches)}")
        return branches[place](reader)

    return read


def _symbol(reader: ByteReader, symbols: tuple[str, ...]) -> str:
    place = reader.integer()
    if not 0 <= place < len(symbols):
        reader.damaged(f"symbol {place} of an enum of {len(symbols)}")
    return symbols[place]


def _array(item: Read) -> Read:
    def read(reader: ByteReader) -> list[Any]:
        found: list[Any] = []
        while count := reader.sevens():
            found += [item(reader) for _ in range(count)]
        return found

    return read


def _map(value: Read) -> Read:
    def read(reader: ByteReader) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while count := reader.sevens():
            for _ in range(count):
                name = _string(reader)
                found[name] = value(reader)
        return found

    return read
