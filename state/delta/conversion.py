"""Converts values of a snapshot to another declared type, as a recipe says: nothing is rounded, cut or guessed.

Where the new type reads what the old one wrote, `compat.state.compatibility.migration` does it without being asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Unconvertible
from compat.state.flink.python_forms import form_of_type
from compat.state.flink.python_rules import ArrayChange, Coding
from compat.state.flink.transcoding import Constant, Fields
from compat.state.rows import Row
from compat.state.serializers import codec_of
from compat.state.serializers.codecs import join, split
from compat.state.types import (
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from compat.state.types.basic import PickledBytesTypeInfo

Values = Callable[[Any], Any]
"""Converts a value to the new type. Raises Unconvertible for one that does not fit."""


def _array(old: TypeInformation, new: TypeInformation, fields: Fields) -> ArrayChange:
    """What writes values of one type as such of another one, each behind its length, and tells how many these are."""
    one = _coded(old, new, fields)

    def array(data: bytes) -> tuple[bytes, int]:
        parts = split(data)
        return join(None if part is None else one(part) for part in parts), len(parts)

    return array


def _map_key(type: TypeInformation, key: Constant) -> bytes:
    return join([codec_of(type).encode(_single(type)(key))])


CODING = Coding(_array, _map_key)
"""Values as they are in the log, each behind its length: a chunk of a list, or a value that stands alone."""


def _coded(old: TypeInformation, new: TypeInformation, fields: Fields) -> Callable[[bytes], bytes]:
    if old == new and fields == Fields():
        return lambda data: data
    if any(map(_is_pickled, (old, new))):
        raise Unconvertible("what Python pickled no rule reads: name a function")
    before, after, convert = codec_of(old), codec_of(new), _values(old, new, fields)
    return lambda data: after.encode(convert(before.decode(data)))


def _values(old: TypeInformation, new: TypeInformation, fields: Fields) -> Values:
    if isinstance(old, ExternalTypeInfo):
        return _values(old.type_info, new, fields)
    if isinstance(new, ExternalTypeInfo):
        return _values(old, new.type_info, fields)
    if old == new and fields == Fields():
        return lambda value: value
    before, after = _fields(old, fields.single), _fields(new, fields.single)
    if before is not None and after is not None:
        return _record(old, new, before, after, fields)
    if isinstance(old, ListTypeInfo) and isinstance(new, ListTypeInfo):
        element = _values(old.element_type, new.element_type, fields)
        return lambda value: [None if one is None else element(one) for one in value]
    if isinstance(old, MapTypeInfo) and isinstance(new, MapTypeInfo):
        key = _values(old.key_type, new.key_type, Fields())
        held = _values(old.value_type, new.value_type, fields)
        return lambda value: {key(one): None if of is None else held(of) for one, of in value.items()}
    if fields != Fields() or any(one.children() for one in (old, new)):
        raise Unconvertible(f"{old} does not become {new}")
    return _single(new)


def _is_pickled(type: TypeInformation) -> bool:
    return isinstance(type, PickledBytesTypeInfo) or any(map(_is_pickled, type.children()))


def _single(type: TypeInformation) -> Values:
    """What gives a single value, such as a number or a text, as a type has it: by the bytes that PyFlink writes for it."""
    form = form_of_type(type)
    write = form.write
    if write is None:
        raise Unconvertible(f"nothing becomes {type}")
    return lambda value: form.read(ByteReader(write(value), "a value"))


def _fields(type: TypeInformation, single: str | None) -> Mapping[str, TypeInformation] | None:
    """The fields of a record by name, or the only one of a single value; None for what is neither."""
    if isinstance(type, RowTypeInfo):
        return dict(zip(type.field_names, type.field_types, strict=True))
    if isinstance(type, TupleTypeInfo):
        return {f"f{place}": one for place, one in enumerate(type.field_types)}
    return None if single is None else {single: type}


def _record(
    old: TypeInformation,
    new: TypeInformation,
    before: Mapping[str, TypeInformation],
    after: Mapping[str, TypeInformation],
    fields: Fields,
) -> Values:
    """Records of the one type as those of the other, field by field; a single value is a record of one field."""
    fields.require_unfilled()
    _require_there(old, before, (*fields.sources.values(), *fields.dropped))
    _require_there(new, after, (*fields.sources, *fields.constants))
    sources = {name: fields.sources.get(name, name) for name in after if name not in fields.constants}
    if lacking := [name for name, source in sources.items() if source not in before]:
        raise Unconvertible(f"{old} has nothing for {', '.join(lacking)}: say what it was, or a constant")
    if left := [name for name in before if name not in sources.values() and name not in fields.dropped]:
        raise Unconvertible(f"{new} has no field for {', '.join(left)}: name it, or drop it")
    places = {name: place for place, name in enumerate(before)}
    makers = {
        name: (places[source], _values(before[source], after[name], Fields())) for name, source in sources.items()
    }
    constants = {
        name: None if value is None else _single(after[name])(value) for name, value in fields.constants.items()
    }
    is_record = isinstance(old, RowTypeInfo | TupleTypeInfo)

    def convert(value: Any) -> Any:
        parts = list(value) if is_record else [value]
        made = {
            name: None if parts[place] is None else maker(parts[place]) for name, (place, maker) in makers.items()
        } | constants
        return _made(new, [made[name] for name in after])

    return convert


def _made(type: TypeInformation, values: list[Any]) -> Any:
    if isinstance(type, RowTypeInfo):
        row = Row(*values)
        row.set_field_names(list(type.field_names))
        return row
    return tuple(values) if isinstance(type, TupleTypeInfo) else values[0]


def _require_there(type: TypeInformation, fields: Mapping[str, TypeInformation], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in fields:
            raise Unconvertible(f"{type} has no field {name}; it has {', '.join(fields)}")
