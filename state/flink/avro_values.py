"""Avro records as Flink writes them into state: `DataOutputEncoder`, which gives numbers their full width.

This is not Avro's own binary form: int and long have 4 and 8 bytes, lengths and indices 4, and blocks of arrays and maps an
unsigned count in groups of seven bits.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from compat.state.flink.binary import ByteReader
from compat.state.flink.writing import write_sevens

Read = Callable[[ByteReader], Any]
Write = Callable[[Any], bytes]
_MANY = 32


class Codec(NamedTuple):
    """Reads and writes the values of a schema. ``same`` is equal for schemas whose values have the same bytes; ``write`` raises
    ValueError for a value that is not of the schema."""

    read: Read
    write: Write
    same: object


def avro_reader(schema: str) -> Read:
    """The reader of a schema's values, from its JSON text. Raises ValueError for anything but a schema."""
    return _parsed(schema)[0].read


def avro_fields(schema: str) -> dict[str, Codec]:
    """The fields of a record's schema, in order; none for other schemas. Raises ValueError for anything but a schema."""
    return _parsed(schema)[1]


def _parsed(schema: str) -> tuple[Codec, dict[str, Codec]]:
    try:
        parsed = json.loads(schema)
        schemas = _Schemas()
        whole = schemas.codec(parsed, "", 0)
        return whole, schemas.fields.get(_full_name(parsed, ""), {}) if isinstance(parsed, dict) else {}
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not an Avro schema: {error!r}") from None


def _full_name(schema: dict[str, Any], space: str) -> str:
    return _full(schema["name"], schema.get("namespace", space)) if "name" in schema else ""


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


class _Schemas:
    """The types of a schema that have names: they can be referred to, also from within themselves."""

    def __init__(self) -> None:
        self._named: dict[str, list[Codec]] = {}
        self.fields: dict[str, dict[str, Codec]] = {}

    def codec(self, schema: Any, space: str, depth: int) -> Codec:
        if depth > _MANY:
            raise ValueError("it is nested too deeply")
        if isinstance(schema, list):
            return _union([self.codec(branch, space, depth + 1) for branch in schema])
        if isinstance(schema, str):
            return _PRIMITIVES.get(schema) or self._reference(schema, space)
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema, space, depth)
        if kind == "enum":
            return self._keep(_enum(tuple(schema["symbols"])), _full_name(schema, space))
        if kind == "fixed":
            return self._keep(_fixed(int(schema["size"])), _full_name(schema, space))
        if kind == "array":
            return _array(self.codec(schema["items"], space, depth + 1))
        if kind == "map":
            return _map(self.codec(schema["values"], space, depth + 1))
        return self.codec(kind, space, depth + 1)

    def _reference(self, name: str, space: str) -> Codec:
        cell = self._named.get(_full(name, space)) or self._named.get(name)
        if cell is None:
            raise ValueError(f"no type is called {name!r}")
        if cell[0] is not _UNFINISHED:
            return cell[0]
        # Within itself a type is known by its name alone.
        return Codec(lambda reader: cell[0].read(reader), lambda value: cell[0].write(value), ("itself", name))

    def _keep(self, codec: Codec, name: str) -> Codec:
        self._named[name] = [codec]
        return codec

    def _record(self, schema: Any, space: str, depth: int) -> Codec:
        name = _full_name(schema, space)
        self._named[name] = cell = [_UNFINISHED]
        inner = name.rpartition(".")[0]
        fields = {field["name"]: self.codec(field["type"], inner, depth + 1) for field in schema["fields"]}

        def write(value: Any) -> bytes:
            if not isinstance(value, dict) or value.keys() != fields.keys():
                raise ValueError(f"{value!r} is no {name}")
            return b"".join(codec.write(value[field]) for field, codec in fields.items())

        same = ("record", tuple((field, codec.same) for field, codec in fields.items()))
        cell[0] = Codec(lambda reader: {field: codec.read(reader) for field, codec in fields.items()}, write, same)
        self.fields[name] = fields
        return cell[0]


def _refuse(value: Any) -> bytes:
    raise ValueError(f"{value!r} is of a type that refers to itself before it ends")


_UNFINISHED = Codec(lambda reader: None, _refuse, None)


def _packed(layout: str, types: type | tuple[type, ...], name: str) -> Codec:
    packer = struct.Struct(layout)

    def write(value: Any) -> bytes:
        if isinstance(value, types) and isinstance(value, bool) is (name == "boolean"):
            try:
                data = packer.pack(value)
            except (struct.error, OverflowError):
                data = b""
            if data and (packer.unpack(data)[0] == value or value != value):
                return data
        raise ValueError(f"{value!r} is not of {name}")

    def read(reader: ByteReader) -> Any:
        return packer.unpack(reader.raw(packer.size, "a number"))[0]

    return Codec(read, write, name)


def _write_text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return _write_bytes(value.encode())


def _write_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError(f"{value!r} are no bytes")
    return struct.pack(">i", len(value)) + value


def _string(reader: ByteReader) -> str:
    return reader.sized("a string").decode("utf-8", "replace")


def _null(value: Any) -> bytes:
    if value is not None:
        raise ValueError(f"{value!r} is not null")
    return b""


_PRIMITIVES: dict[str, Codec] = {
    "null": Codec(lambda reader: None, _null, "null"),
    "boolean": _packed(">?", bool, "boolean")._replace(read=ByteReader.boolean),
    "int": _packed(">i", int, "int"),
    "long": _packed(">q", int, "long"),
    "float": _packed(">f", (int, float), "float"),
    "double": _packed(">d", (int, float), "double"),
    "bytes": Codec(lambda reader: reader.sized("bytes"), _write_bytes, "bytes"),
    "string": Codec(_string, _write_text, "string"),
}


def _union(branches: list[Codec]) -> Codec:
    def read(reader: ByteReader) -> Any:
        place = reader.integer()
        if not 0 <= place < len(branches):
            reader.damaged(f"branch {place} of a union of {len(branches)}")
        return branches[place].read(reader)

    def write(value: Any) -> bytes:
        if sum(codec.same != "null" for codec in branches) > 1 and value is not None:
            raise ValueError(f"of several branches nobody knows which one {value!r} is of")
        for place, codec in enumerate(branches):
            if (codec.same == "null") is (value is None):
                return struct.pack(">i", place) + codec.write(value)
        raise ValueError(f"{value!r} has no branch")

    return Codec(read, write, ("union", tuple(codec.same for codec in branches)))


def _enum(symbols: Sequence[str]) -> Codec:
    def read(reader: ByteReader) -> str:
        place = reader.integer()
        if not 0 <= place < len(symbols):
            reader.damaged(f"symbol {place} of an enum of {len(symbols)}")
        return symbols[place]

    def write(value: Any) -> bytes:
        if value not in symbols:
            raise ValueError(f"{value!r} is none of {', '.join(symbols)}")
        return struct.pack(">i", symbols.index(value))

    return Codec(read, write, ("enum", tuple(symbols)))


def _fixed(size: int) -> Codec:
    def write(value: Any) -> bytes:
        if not isinstance(value, bytes) or len(value) != size:
            raise ValueError(f"{value!r} has not {size} bytes")
        return value

    return Codec(lambda reader: reader.raw(size, "fixed bytes"), write, ("fixed", size))


def _blocks(items: list[bytes]) -> bytes:
    """All items as one block, and the empty one that ends them."""
    return (write_sevens(len(items)) + b"".join(items) if items else b"") + b"\0"


def _array(item: Codec) -> Codec:
    def read(reader: ByteReader) -> list[Any]:
        found: list[Any] = []
        while count := reader.sevens():
            found += [item.read(reader) for _ in range(count)]
        return found

    def write(value: Any) -> bytes:
        if not isinstance(value, list):
            raise ValueError(f"{value!r} is no array")
        return _blocks([item.write(one) for one in value])

    return Codec(read, write, ("array", item.same))


def _map(of: Codec) -> Codec:
    def read(reader: ByteReader) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while count := reader.sevens():
            for _ in range(count):
                name = _string(reader)
                found[name] = of.read(reader)
        return found

    def write(value: Any) -> bytes:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r} is no map")
        return _blocks([_write_text(name) + of.write(one) for name, one in value.items()])

    return Codec(read, write, ("map", of.same))
