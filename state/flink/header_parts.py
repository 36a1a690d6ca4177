"""The bytes of a header, state by state, from which a header of other states can be made.

Names of states, classes and fields can change; values stay the same. A POJO's fields keep the order of its snapshot, so that
the serializer of the new class reads them by their new names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink.binary import ByteReader, Part, Place
from compat.state.flink.errors import NotWritten
from compat.state.flink.headers import (
    FIRST_COMPRESSED_OPERATOR_VERSION,
    QUEUE,
    VALUES,
    BackendHeader,
    read_keyed_header,
    read_operator_header,
)
from compat.state.flink.snapshots import in_header
from compat.state.flink.splicing import splice
from compat.state.flink.writing import write_utf


class StateKey(NamedTuple):
    """A managed state of a savepoint: its operator's id, its name, whether it belongs to keys."""

    operator: str
    name: str
    keyed: bool


class Field(NamedTuple):
    """A field of a class, or a constant of an enum."""

    owner: str
    name: str


class TypeNames(Struct, frozen=True):
    """The classes, fields and constants that have other names now; the class of a field is the one that it was."""

    classes: Mapping[str, str] = {}
    fields: Mapping[Field, str] = {}

    @property
    def named(self) -> bool:
        """True if any has another name."""
        return bool(self.classes or self.fields)


class StateForm(Struct, frozen=True):
    """What a header says of a state besides its name, where that is to be another: the serializer of its values with what
    stands before it there, options by their names, and the ``first`` serializer within that of its values."""

    serializer: bytes | None = None
    options: Mapping[str, str] = {}
    first: bytes | None = None


class HeaderParts(Struct, frozen=True):
    """A header that was read to its end, in the bytes of its parts: the key serializer's snapshot, each state behind its name,
    and, as they were, the serializers of values. ``met`` are the names of types in it that change in these bytes."""

    header: BackendHeader
    key_serializer: bytes
    states: Mapping[str, bytes]
    values: Mapping[str, bytes]
    met: frozenset[str | Field]


def keyed_parts(
    data: bytes, path: str, types: TypeNames, forms: Mapping[str, StateForm], keys: bytes | None = None
) -> HeaderParts:
    """The parts of a keyed backend's header, with other forms for some states, by their names, and another serializer of
    ``keys``, as `writeVersionedSnapshot` gives it: timers have theirs within their own.

    Raises NotWritten if the header cannot be read to its end.
    """
    places: list[Place] = []
    header = read_keyed_header(data, path, places=places)
    if keys is None:
        return _parts(header, data, places, types, forms, path)
    timers = {meta.name: StateForm(first=keys) for meta in header.states if meta.type == QUEUE}
    parts = _parts(header, data, places, types, {**forms, **timers}, path)
    return replace(parts, key_serializer=in_header(keys))


def operator_parts(data: bytes, path: str, types: TypeNames, forms: Mapping[str, StateForm]) -> HeaderParts:
    """The parts of an operator state's header. Raises as `keyed_parts` does."""
    places: list[Place] = []
    return _parts(read_operator_header(data, path, places=places), data, places, types, forms, path)


def _parts(
    header: BackendHeader,
    data: bytes,
    places: list[Place],
    types: TypeNames,
    forms: Mapping[str, StateForm],
    path: str,
) -> HeaderParts:
    if header.unreadable is not None:
        raise NotWritten(
            "states whose header cannot be read to its end cannot be written anew",
            path=path,
            why=header.unreadable.what,
            advice="Name none of the states of this operator; its id can be changed.",
        )
    anew = _Anew(data, places, types, path)
    keys = [anew.part(place) for place in places if place.part is Part.KEY_SERIALIZER]
    metas = (*header.states, *header.broadcast_states)
    states = [place for place in places if place.part is Part.STATE]
    named = {meta.name: anew.part(place, forms.get(meta.name)) for meta, place in zip(metas, states, strict=True)}
    values = {meta.name: anew.values(place) for meta, place in zip(metas, states, strict=True)}
    return HeaderParts(header, keys[0] if keys else b"", named, values, frozenset(anew.met))


class _Anew:
    """The parts of a header in their bytes, with types by their other names; ``met`` are those that were in it."""

    def __init__(self, data: bytes, places: list[Place], types: TypeNames, path: str) -> None:
        self._data = data
        self._places = places
        self._types = types
        self._path = path
        self.met: set[str | Field] = set()

    def part(self, place: Place, form: StateForm | None = None) -> bytes:
        """The bytes of a part; of a state those behind its name, with another form where one is given."""
        form = form or StateForm()
        options = {name: write_utf(value) for name, value in form.options.items()}
        first = [] if form.first is None else [form.first]

        def formed(one: Place) -> bytes | None:
            if one.part is Part.OPTION:
                return options.get(one.owner)
            if one.part is Part.NESTED and first:
                return first.pop()
            return form.serializer if _is_of_values(one) and form.serializer is not None else self._named(one)

        return splice(self._data[: place.end], self._within(place), formed, begin=place.begin)

    def values(self, state: Place) -> bytes:
        """The serializer of a state's values, as it was; nothing if it has none."""
        found = (self._data[one.begin : one.end] for one in self._within(state) if _is_of_values(one))
        return next(found, b"")

    def _within(self, place: Place) -> Iterator[Place]:
        return (one for one in self._places if place.begin <= one.begin and one.end <= place.end and one != place)

    def _named(self, place: Place) -> bytes | None:
        """A name of a type in place of the one that is there, nothing for that of a state, which stands before the rest."""
        if place.part is Part.STATE_NAME:
            return b""
        key = _key(place, self._data)
        if place.part is Part.SUBCLASS_NAME and key in self._types.classes:
            raise NotWritten(
                f"the class {key} cannot get another name",
                path=self._path,
                why="its objects stand in states of a superclass, and each has the name of its class",
                advice="Convert the states with convert-state, keep the class, or drop the states.",
            )
        name = self._types.fields.get(key) if isinstance(key, Field) else self._types.classes.get(key or "")
        if name is None or key is None:
            return None
        self.met.add(key)
        return write_utf(name)


def _is_of_values(place: Place) -> bool:
    return (place.part, place.owner) == (Part.SERIALIZER, VALUES)


def _key(place: Place, data: bytes) -> str | Field | None:
    """The class, field or constant whose name stands at a place; None if something else does."""
    if place.part not in (Part.CLASS_NAME, Part.SUBCLASS_NAME, Part.FIELD_NAME):
        return None
    name = ByteReader(data, "", start=place.begin).utf()
    return Field(place.owner, name) if place.part is Part.FIELD_NAME else name


def keyed_header(version: int, key_serializer: bytes, states: Iterable[tuple[str, bytes]]) -> bytes:
    """The header of a keyed backend of some states (`KeyedBackendSerializationProxy`); what follows is not compressed."""
    return struct.pack(">i?", version, False) + key_serializer + _listed(states)


def operator_header(
    version: int, compressed: bool, states: Iterable[tuple[str, bytes]], broadcast: Iterable[tuple[str, bytes]]
) -> bytes:
    """The header of operator state (`OperatorBackendSerializationProxy`)."""
    flag = struct.pack(">?", compressed) if version >= FIRST_COMPRESSED_OPERATOR_VERSION else b""
    return struct.pack(">i", version) + flag + _listed(states) + _listed(broadcast)


def _listed(states: Iterable[tuple[str, bytes]]) -> bytes:
    written = [write_utf(name) + data for name, data in states]
    return struct.pack(">H", len(written)) + b"".join(written)
