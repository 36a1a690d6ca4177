"""Entries of Flink's keyed and broadcast states as rows of a snapshot on Spark.

Keys keep their values, and get the key group of jobs on Spark. Flink's key group differs, as it comes from the hash of a Java
object.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from compat.compiler.spark.flink.declared import LIST, MAP, Declarations, Declared
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.state import names
from compat.state.delta.rows import NO_KEY_GROUP, Kind, Row
from compat.state.flink.errors import SavepointError
from compat.state.flink.python_values import as_declared, coder_of, decoded, decoded_all
from compat.state.flink.state_entries import EntryKind, StateEntry, StoredState
from compat.state.flink.values import Undecodable
from compat.state.key_groups import key_group_of_key
from compat.state.rows import Row as RowValue
from compat.state.serializers import KeyCodec, codec_of, key_codec_of, load
from compat.state.serializers.pickles import RAISED_BY_PICKLES
from compat.state.types import ListTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo, TypeInformation, Types

_NONE, _SOME = b"\0", b"\1"
_CHUNK = (0).to_bytes(8, "big")
_RAW = PrimitiveArrayTypeInfo(Types.BYTE())
_MERGING_WINDOWS = MapTypeInfo(Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())

Place = tuple[int, bytes, bytes]
Write = Callable[[StateEntry, Place], Iterator[Row]]


def of_process_mode(state: StoredState) -> bool:
    """True if the state was written by PyFlink's process mode, which hands bytes to Flink."""
    return state.name != state.declared_name


def name_of(state: StoredState) -> str:
    """The name of a state on Spark: PyFlink gives the state of a rolling aggregate no name of its own."""
    name = state.declared_name
    return names.PYTHON_REDUCE if name.startswith(names.PYTHON_REDUCE) else name


class KeyedStates:
    """Translates the keyed states and timers of one operator, with its key type and number of key groups."""

    def __init__(
        self, operator_id: str, key_type: TypeInformation | None, max_parallelism: int, declared: Declarations
    ) -> None:
        self._id, self._max_parallelism, self._declared = operator_id, max_parallelism, declared
        self._key_type = key_type
        self._keys: KeyCodec = key_codec_of(key_type)
        self._as_key = as_declared(key_type or Types.PICKLED_BYTE_ARRAY(), load)
        self._writers: dict[str, Write] = {}
        self.described: dict[str, dict[str, Any]] = {}

    def rows(self, entry: StateEntry) -> Iterator[Row]:
        """The rows of an entry. Raises Untranslatable."""
        state = entry.state
        try:
            place = self._place(entry)
            if state.kind.timers:
                kind = Kind.EVENT_TIMER if state.kind is EntryKind.EVENT_TIMER else Kind.PROCESSING_TIMER
                group, key, namespace = place
                yield Row(self._id, kind, group, names.TIMERS, key, namespace, b"", b"", entry.value)
                return
            write = self._writers.get(state.name)
            if write is None:
                write = self._writers[state.name] = self._writer(state)
            yield from write(entry, place)
        except (SavepointError, Undecodable) as error:
            told = getattr(error, "what", None) or str(error)
            why = getattr(error, "why", "")
            raise Untranslatable(f"state {state.declared_name!r}: {told}{f' ({why})' if why else ''}") from None
        except Untranslatable:
            raise
        except RAISED_BY_PICKLES as error:
            raise Untranslatable(
                f"state {state.declared_name!r}: a value cannot be made anew: {type(error).__name__}: {error}"
            ) from error

    def describe(self, state: StoredState) -> None:
        """Add a state to the snapshot's description, with or without entries."""
        if not state.kind.timers:
            name = name_of(state)
            declared = self._declared.get(name) or _as_recorded(state)
            self.described[name] = {
                "name": name,
                "kind": declared.kind,
                "type": declared.type.to_json(),
                "scope": "keyed",
                "key_type": (self._key_type or Types.PICKLED_BYTE_ARRAY()).to_json(),
            }

    def _place(self, entry: StateEntry) -> Place:
        """Key group, key and namespace, as bytes."""
        key = entry.key
        if isinstance(key, RowValue) and len(key) == 1:  # PyFlink's keys are the one field of a row
            key = key[0]
        key = self._as_key(key)
        return key_group_of_key(key, self._max_parallelism), self._keys.encode(key), _namespace(entry.namespace)

    def _writer(self, state: StoredState) -> Write:
        name = name_of(state)
        if name == names.MERGING_WINDOWS and state.kind is EntryKind.MAP:
            return self._merging_windows(state)
        declared = self._declared.get(name)
        if declared is None:
            return self._as_it_is(state, _as_recorded(state))
        if (state.kind is EntryKind.MAP) != (declared.kind == MAP):
            raise Untranslatable(
                f"state {name!r} is a {state.kind.value} in the savepoint, and declared as {declared.kind}"
            )
        if declared.kind == MAP:
            return self._map(name, declared, state)
        if declared.kind == LIST:
            return self._list(name, declared, state)
        return self._value(name, declared, state)

    def _row(self, kind: str, name: str, place: Place, map_key: bytes, value: bytes, time: int | None) -> Row:
        group, key, namespace = place
        return Row(self._id, kind, group, name, key, namespace, map_key, value, time)

    def _value(self, name: str, declared: Declared, state: StoredState) -> Write:
        encode = codec_of(declared.type).encode
        convert = as_declared(declared.type, load)
        read = coder_of(declared.type, load) if of_process_mode(state) else None

        def write(entry: StateEntry, place: Place) -> Iterator[Row]:
            if read is not None:
                values = decoded_all(read, entry.value)
                if not values:
                    return
                value = values[0]  # PyFlink takes the first of the list that it keeps a value in
            elif entry.value is None:
                return
            else:
                value = convert(entry.value)
            yield self._row(Kind.VALUE, name, place, b"", encode(value), next(iter(entry.last_used), None))

        return write

    def _list(self, name: str, declared: Declared, state: StoredState) -> Write:
        assert isinstance(declared.type, ListTypeInfo)
        encode = codec_of(declared.type).encode
        element = declared.type.element_type
        convert = as_declared(element, load)
        read = coder_of(element, load) if of_process_mode(state) else None

        def write(entry: StateEntry, place: Place) -> Iterator[Row]:
            times = entry.last_used or (None,) * len(entry.value)
            for number, (time, group) in enumerate(
                groupby(zip(times, entry.value, strict=True), key=lambda pair: pair[0])
            ):
                elements = [value for _, value in group]
                values = list(map(convert, elements)) if read is None else decoded_all(read, elements)
                yield self._row(Kind.LIST, name, place, number.to_bytes(8, "big"), encode(values), time)

        return write

    def _map(self, name: str, declared: Declared, state: StoredState) -> Write:
        assert isinstance(declared.type, MapTypeInfo)
        key_type, value_type = declared.type.key_type, declared.type.value_type
        keys, encode = key_codec_of(key_type), codec_of(value_type).encode
        as_key, as_value = as_declared(key_type, load), as_declared(value_type, load)
        if of_process_mode(state):
            read_key, read_value = coder_of(key_type, load), coder_of(value_type, load)
            as_key = lambda data: decoded(read_key, data)  # noqa: E731
            as_value = lambda data: decoded(read_value, data)  # noqa: E731

        def write(entry: StateEntry, place: Place) -> Iterator[Row]:
            encoded = _NONE if entry.value is None else _SOME + encode(as_value(entry.value))
            map_key = keys.encode(as_key(entry.map_key))
            yield self._row(Kind.MAP, name, place, map_key, encoded, next(iter(entry.last_used), None))

        return write

    def _merging_windows(self, state: StoredState) -> Write:
        """The windows of a key that may merge: in process mode as two numbers each, in thread mode as pickled objects."""
        pickled = _MERGING_WINDOWS.key_type
        keys, encode = key_codec_of(pickled), codec_of(pickled).encode

        def places(window: Any) -> tuple[int, int]:
            if isinstance(window, bytes) and of_process_mode(state):
                start, end = struct.unpack(">qq", window)
                return start, end
            window = load(window) if isinstance(window, bytes) else window
            return window.start, window.end

        def write(entry: StateEntry, place: Place) -> Iterator[Row]:
            key, value = places(entry.map_key), places(entry.value)
            yield self._row(Kind.MAP, names.MERGING_WINDOWS, place, keys.encode(key), _SOME + encode(value), None)

        return write

    def _as_it_is(self, state: StoredState, recorded: Declared) -> Write:
        """A state that the program did not ask for when it was opened: it is carried along as Flink has it."""
        name = name_of(state)
        encode = codec_of(recorded.type).encode

        def write(entry: StateEntry, place: Place) -> Iterator[Row]:
            time = next(iter(entry.last_used), None)
            if isinstance(recorded.type, MapTypeInfo):
                inner = codec_of(recorded.type.value_type).encode
                value = _NONE if entry.value is None else _SOME + inner(entry.value)
                map_key = key_codec_of(recorded.type.key_type).encode(entry.map_key)
                yield self._row(Kind.MAP, name, place, map_key, value, time)
            elif recorded.kind == LIST:
                yield self._row(Kind.LIST, name, place, _CHUNK, encode(entry.value), time)
            elif entry.value is not None:
                yield self._row(Kind.VALUE, name, place, b"", encode(entry.value), time)

        return write


def _as_recorded(state: StoredState) -> Declared:
    """A state by what Flink recorded of it: in process mode lists and maps of bytes. Raises Untranslatable."""
    if name_of(state) == names.MERGING_WINDOWS:
        return Declared(MAP, _MERGING_WINDOWS)
    if state.value_type is None or (state.kind is EntryKind.MAP and state.map_key_type is None):
        raise Untranslatable(f"state {state.declared_name!r}: only a class of the program can read its values")
    if state.kind is EntryKind.MAP:
        assert state.map_key_type is not None
        return Declared(MAP, MapTypeInfo(state.map_key_type, state.value_type))
    if state.kind is EntryKind.LIST:
        return Declared(LIST, ListTypeInfo(state.value_type))
    return Declared(state.kind.value.upper(), state.value_type)


def _namespace(namespace: Any) -> bytes:
    """A window as its serializer writes it on Spark, which is as Flink does; nothing for state of the key alone."""
    if namespace is None:
        return b""
    if isinstance(namespace, bytes):
        return namespace
    values = list(namespace)
    return struct.pack(f">{len(values)}q", *values) if values else b"\0"


class BroadcastStates:
    """Translates the broadcast states of one operator."""

    def __init__(self, operator_id: str, declared: dict[str, Declared]) -> None:
        self._id, self._declared = operator_id, declared
        self.described: dict[str, dict[str, Any]] = {}

    def describe(self, state: StoredState) -> None:
        """Add a state to the snapshot's description. Raises Untranslatable for a state that the program lacks."""
        declared = self._declared.get(state.declared_name)
        if declared is None:
            raise Untranslatable(f"broadcast state {state.declared_name!r} is none of the program's")
        self.described[state.declared_name] = {
            "name": state.declared_name,
            "kind": declared.kind,
            "type": declared.type.to_json(),
            "scope": "broadcast",
        }

    def rows(self, entry: StateEntry) -> Iterator[Row]:
        """The row of an entry. Raises Untranslatable."""
        name = entry.state.declared_name
        type = self._declared[name].type
        assert isinstance(type, MapTypeInfo)
        try:
            if of_process_mode(entry.state):
                key = decoded(coder_of(type.key_type, load), entry.map_key)
                value = decoded(coder_of(type.value_type, load), entry.value)
            else:
                key = as_declared(type.key_type, load)(entry.map_key)
                value = as_declared(type.value_type, load)(entry.value)
        except RAISED_BY_PICKLES as error:
            raise Untranslatable(f"broadcast state {name!r}: {error}") from error
        map_key = key_codec_of(type.key_type).encode(key)
        yield Row(
            self._id, Kind.BROADCAST, NO_KEY_GROUP, name, b"", b"", map_key, codec_of(type.value_type).encode(value)
        )
