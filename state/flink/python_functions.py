"""Converts PyFlink's values and keys by a function of the user's: its arguments, and the writing of its results.

A process of its own carries this out, which alone opens pickles (`Pickles`): here nothing is started, and nothing unpickled.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Form, Unconvertible, form_of, shown
from compat.state.flink.python_forms import form_of_type
from compat.state.flink.python_rules import Declared
from compat.state.flink.python_states import Array, Item
from compat.state.flink.python_values import Unpickle, as_declared, coder_of, decoded, decoded_all
from compat.state.flink.snapshot_writing import key_snapshot
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.transcoding import held_forms
from compat.state.flink.value_writing import as_stored, writer_of
from compat.state.flink.values import Read, Undecodable
from compat.state.model.states import StateKind
from compat.state.types import MapTypeInfo, TypeInformation

Function = Callable[..., Any]
Change = Callable[[Item], list[Item]]
"""Gives the result for an item. Raises Unconvertible, and `Failed`."""


class Pickles(NamedTuple):
    """Unpickles and pickles values."""

    load: Unpickle
    dump: Callable[[Any], bytes]


class Failed(Exception):
    """The function failed: the message has its argument, and the last line of the traceback."""


class OfValues(Struct, frozen=True, tag=True, tag_field="of"):
    """The values of a state become others; ``drops`` lets those go for which the function gives None."""

    old: Declared
    new: Declared
    drops: bool = False


class OfKeys(Struct, frozen=True, tag=True, tag_field="of"):
    """Keys become others. ``serializer`` is the snapshot of those that are there, ``old`` and ``new`` are their types."""

    serializer: bytes
    old: str
    new: str


class OfChoice(Struct, frozen=True, tag=True, tag_field="of"):
    """The keys for which the function gives something true are chosen. ``type`` is that of a key that is the only field of a
    row, as those of PyFlink are; None for others."""

    serializer: bytes
    type: str | None


class OfMerge(Struct, frozen=True, tag=True, tag_field="of"):
    """The values that come under one key, as a list, become one."""

    state: Declared


class OfSerialized(Struct, frozen=True, tag=True, tag_field="of"):
    """The values that one serializer of Flink's wrote become such of another one: snapshots of those of a state, and its kinds.

    Without kinds it is a state of subtasks.
    """

    old: bytes
    new: bytes
    kind: str | None = None
    kind_now: str | None = None


Task = OfValues | OfKeys | OfChoice | OfMerge | OfSerialized


def change_of(task: Task, function: Function, pickles: Pickles) -> Change:
    """The executor of a task. Raises Unconvertible for types whose values are not read or written."""
    match task:
        case OfValues():
            return _of_values(task, function, pickles)
        case OfKeys():
            return _of_keys(task, function, pickles)
        case OfChoice():
            return _of_choice(task, function, pickles)
        case OfMerge():
            return _of_merge(task.state, function, pickles)
        case OfSerialized():
            return _of_serialized(task, function)


# ---- values ----


def _of_serialized(task: OfSerialized, function: Function) -> Change:
    """Values that Flink's own serializers write; records are rows here, of which a function may give a dict, too."""
    old, new = (read_versioned(ByteReader(one, "a serializer"), 0) for one in (task.old, task.new))
    if task.kind is None or task.kind_now is None:
        before, after = form_of(old), form_of(new)
    else:
        _, before, _, after = held_forms(task.kind, old, task.kind_now, new)
    write = writer_of(after)

    def change(item: Item) -> list[Item]:
        made = _made(function, (decoded(before.read, item.arrays[0].data),), drops=False)
        return [Item(None, (Array(write(made), b""),))]

    return change


def _of_values(task: OfValues, function: Function, pickles: Pickles) -> Change:
    old, new = task.old, task.new
    before, after = old.of_map(), new.of_map()
    if before is not None and after is not None:
        return _of_entries(before, after, function, pickles, drops=task.drops)
    if old.kind is new.kind is StateKind.LIST:
        return _of_elements(old, new, function, pickles, drops=task.drops)
    whole = _whole_list(old, pickles) if before is None else _whole_map(before, pickles)
    put = _put(new, pickles)

    def change(item: Item) -> list[Item]:
        made = _made(function, (whole(item),), drops=task.drops)
        return [] if made is None else list(put(made, item.time))

    return change


def _whole_list(old: Declared, pickles: Pickles) -> Callable[[Item], Any]:
    """What reads all that a key has in a state that is no map."""
    read = _decoder(old.parsed, pickles)

    def whole(item: Item) -> Any:
        found = decoded_all(read, (array.data for array in item.arrays))
        if old.kind is StateKind.LIST:
            return found
        if len(found) != 1:
            raise Unconvertible(f"a list of {len(found)} elements is no single value")
        return found[0]

    return whole


def _whole_map(old: MapTypeInfo, pickles: Pickles) -> Callable[[Item], dict[Any, Any]]:
    """The same of a map, of whose keys and values an item has the bytes in turn."""
    key, value = _decoder(old.key_type, pickles), _decoder(old.value_type, pickles)

    def whole(item: Item) -> dict[Any, Any]:
        pairs = zip(item.arrays[::2], item.arrays[1::2], strict=True)
        return {decoded(key, name.data): decoded(value, one.data) for name, one in pairs}

    return whole


def _put(new: Declared, pickles: Pickles) -> Callable[[Any, bytes], Iterator[Item]]:
    """What writes all that a key has in a state, from what a function gave."""
    of_map = new.of_map()
    if of_map is not None:
        key, value = _encoder(of_map.key_type, pickles), _encoder(of_map.value_type, pickles)

        def entries(made: Any, time: bytes) -> Iterator[Item]:
            if not isinstance(made, dict):
                raise Unconvertible(f"{shown(made)} is no dict, which a map state is made of")
            for name, one in made.items():
                yield Item(key(name), (Array(value(one), time),))

        return entries
    encode = _encoder(new.parsed, pickles)

    def whole(made: Any, time: bytes) -> Iterator[Item]:
        if new.kind is StateKind.LIST and not isinstance(made, list | tuple):
            raise Unconvertible(f"{shown(made)} is no list, which a list state is made of")
        elements = made if new.kind is StateKind.LIST else (made,)
        if elements:  # a list without any is no entry, as behind `clear`
            yield Item(None, tuple(Array(encode(one), time) for one in elements))

    return whole


def _of_elements(old: Declared, new: Declared, function: Function, pickles: Pickles, *, drops: bool) -> Change:
    """The elements of a list, one by one, which keep the times of their last use."""
    read, encode = _decoder(old.parsed, pickles), _encoder(new.parsed, pickles)

    def change(item: Item) -> list[Item]:
        arrays = []
        for array in item.arrays:
            made = (_made(function, (one,), drops=drops) for one in decoded_all(read, (array.data,)))
            data = b"".join(encode(one) for one in made if one is not None)
            arrays += [Array(data, array.time)] if data else []
        return [Item(None, tuple(arrays))] if arrays else []

    return change


def _of_entries(
    before: MapTypeInfo, after: MapTypeInfo, function: Function, pickles: Pickles, *, drops: bool
) -> Change:
    """The entries of a map: the values, or pairs of key and value for a function that takes two."""
    value, put_value = _decoder(before.value_type, pickles), _encoder(after.value_type, pickles)

    def of_value(item: Item) -> list[Item]:
        (array,) = item.arrays
        made = _made(function, (decoded(value, array.data),), drops=drops)
        return [] if made is None else [Item(item.map_key, (Array(put_value(made), array.time),))]

    if not _takes_two(function):
        if before.key_type != after.key_type:
            raise Unconvertible("the keys of the map have another type: let the function take and give key and value")
        return of_value
    key, put_key = _decoder(before.key_type, pickles), _encoder(after.key_type, pickles)

    def of_pair(item: Item) -> list[Item]:
        (array,) = item.arrays
        made = _made(function, (decoded(key, item.map_key or b""), decoded(value, array.data)), drops=drops)
        if made is None:
            return []
        if not isinstance(made, list | tuple) or len(made) != 2:
            raise Unconvertible(f"{shown(made)} is no pair of a key and a value")
        return [Item(put_key(made[0]), (Array(put_value(made[1]), array.time),))]

    return of_pair


def _decoder(type: TypeInformation, pickles: Pickles) -> Read:
    """What reads values as PyFlink's coder of a type wrote them. Raises Unconvertible for a type that is not known."""
    try:
        return coder_of(type, pickles.load)
    except Undecodable as error:
        raise Unconvertible(f"{error} cannot be read here") from None


def _encoder(type: TypeInformation, pickles: Pickles) -> Callable[[Any], bytes]:
    """What writes values as PyFlink's coder of a type does."""
    write, stored = writer_of(form_of_type(type)), as_stored(type, pickles.dump)
    return lambda value: write(stored(value))


def _takes_two(function: Function) -> bool:
    places = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    try:
        given = inspect.signature(function).parameters.values()
    except ValueError:  # one of Python's own, which does not tell
        return False
    return sum(one.kind in places and one.default is one.empty for one in given) == 2


def _of_merge(state: Declared, function: Function, pickles: Pickles) -> Change:
    """Of a list state the elements of all, of a map the values that are under one key in it."""
    of_map = state.of_map()
    type = state.parsed if of_map is None else of_map.value_type
    read, put = _decoder(type, pickles), _put(Declared(_without_keys(state.kind), str(type)), pickles)

    def change(item: Item) -> list[Item]:
        found = decoded_all(read, (array.data for array in item.arrays))
        made = list(put(_made(function, (found,), drops=False), item.time))
        return made or [Item(None, ())]

    return change


def _without_keys(kind: StateKind) -> StateKind:
    return StateKind.VALUE if kind is StateKind.MAP else kind


# ---- keys ----


def _of_keys(task: OfKeys, function: Function, pickles: Pickles) -> Change:
    read, new = _key_reader(task.serializer, task.old, pickles), _parsed(task.new)
    write = writer_of(form_of(read_versioned(ByteReader(key_snapshot(new), "NEW's keys"), 0)))
    stored = as_stored(new, pickles.dump)

    def change(item: Item) -> list[Item]:
        made = _made(function, (read(item.arrays[0].data),), drops=False)
        return [Item(None, (Array(write([stored(made)]), b""),))]

    return change


def _of_choice(task: OfChoice, function: Function, pickles: Pickles) -> Change:
    read = _key_reader(task.serializer, task.type, pickles)

    def change(item: Item) -> list[Item]:
        return [item] if _called(function, read(item.arrays[0].data)) else []

    return change


def _key_reader(serializer: bytes, type: str | None, pickles: Pickles) -> Callable[[bytes], Any]:
    """What reads keys as a program sees them: those of PyFlink are the only field of a row."""
    form: Form = form_of(read_versioned(ByteReader(serializer, "OLD's keys"), 0))
    if type is None:
        return lambda data: decoded(form.read, data)
    declared = as_declared(_parsed(type), pickles.load)
    return lambda data: declared(decoded(form.read, data)[0])


def _parsed(type: str) -> TypeInformation:
    return Declared(StateKind.VALUE, type).parsed


# ---- the function ----


def _made(function: Function, given: tuple[Any, ...], *, drops: bool) -> Any:
    made = _called(function, *given)
    if made is None and not drops:
        raise Unconvertible(f"it gives None for {_all(given)}; with `drops: true` what it is None for goes")
    return made


def _called(function: Function, *given: Any) -> Any:
    try:
        return function(*given)
    except Exception as error:  # whatever the user's function raises
        place = traceback.extract_tb(error.__traceback__)[-1]
        last = traceback.format_exception_only(error)[-1].strip()
        raise Failed(f"it fails for {_all(given)}: {last} (line {place.lineno} of {place.name})") from error


def _all(given: tuple[Any, ...]) -> str:
    return ", ".join(map(shown, given))
