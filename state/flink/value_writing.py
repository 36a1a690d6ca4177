"""Writes Python values in the bytes of a form: values that come from a program rather than from state."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from compat.state.flink.forms import Form, Layout, Unconvertible, Write, unfit
from compat.state.flink.writing import write_mask
from compat.state.rows import Row, RowKind
from compat.state.time import Instant
from compat.state.types import ExternalTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation

_COUNT = struct.Struct(">i")
_BYTES = frozenset({"BytePrimitiveArray", "PickledByteArrayTypeInfo", "byte[]"})
"""What forms of byte arrays are called: no rule makes one of them of another, as bytes say nothing of what they are."""


def writer_of(form: Form) -> Write:
    """What writes values of a form. It raises Unconvertible for values that are not of it, as this does for forms that are not
    written here."""
    parts = [writer_of(part) for part in form.parts]
    match form.layout:
        case Layout.LIST:
            return _list(form, parts[0])
        case Layout.MARKED_LIST:
            return _marked(parts[0])
        case Layout.MAP:
            return _map(*parts)
        case Layout.TUPLE | Layout.ROW | Layout.ROW_OF_CHANGES:
            return _record(form, parts)
        case Layout.POJO:
            return _pojo(form, parts)
    if form.called in _BYTES:
        return lambda value: _COUNT.pack(len(value)) + value
    if form.layout is not None or form.write is None:
        raise Unconvertible(f"values of {form.called} are not written here")
    return form.write


def _list(form: Form, element: Write) -> Write:
    def write(value: Sequence[Any]) -> bytes:
        if None in value:
            unfit(value, f"{form.called}: an element is None")
        return _COUNT.pack(len(value)) + b"".join(map(element, value))

    return write


def _marked(element: Write) -> Write:
    def write(value: Sequence[Any]) -> bytes:
        written = (b"\0" if one is None else b"\1" + element(one) for one in value)
        return _COUNT.pack(len(value)) + b"".join(written)

    return write


def _map(key: Write, value: Write) -> Write:
    def write(found: dict[Any, Any]) -> bytes:
        entries = (key(name) + (b"\1" if one is None else b"\0" + value(one)) for name, one in found.items())
        return _COUNT.pack(len(found)) + b"".join(entries)

    return write


def _record(form: Form, parts: Sequence[Write]) -> Write:
    kind = form.layout is Layout.ROW_OF_CHANGES

    def write(found: Any) -> bytes:
        value = _fields(form, found)
        fields = [None if one is None else part(one) for one, part in zip(value, parts, strict=True)]
        there = b"".join(data for data in fields if data is not None)
        if form.layout is not Layout.TUPLE:
            return write_mask(fields, kind=kind) + there
        return there if None not in fields else unfit(value, f"{form.called}: a field is None")

    return write


def _pojo(form: Form, parts: Sequence[Write]) -> Write:
    """An object of the class itself, and of none that extends it (`PojoSerializer`)."""

    def write(found: Any) -> bytes:
        fields = zip(_fields(form, found), parts, strict=True)
        return b"\2" + b"".join(b"\1" if one is None else b"\0" + part(one) for one, part in fields)

    return write


def _fields(form: Form, found: Any) -> Sequence[Any]:
    """The fields of a record in their order: of a dict or a row with names by these, of others as they come.

    Nobody knows the order of a POJO's fields, which have names for that.
    """
    value = found
    if isinstance(found, Row):
        try:
            value = found.as_dict()
        except TypeError:  # its fields have no names
            value = list(found)
    if isinstance(value, dict):
        if set(value) != set(form.names):
            unfit(found, f"{form.called}: its fields are {', '.join(form.names)}")
        return [value[name] for name in form.names]
    if form.layout is Layout.POJO or not isinstance(value, list | tuple):
        unfit(found, f"{form.called}: give a dict of {', '.join(form.names)}")
    return value if len(value) == len(form.names) else unfit(found, f"{form.called}: it has {len(form.names)} fields")


def as_stored(type: TypeInformation, pickled: Callable[[Any], bytes]) -> Callable[[Any], Any]:
    """What gives of a program's value what is written of it: objects of no declared type as pickles, rows as their fields.

    It raises Unconvertible for values that are not of the type. The inverse of `as_declared`.
    """
    if isinstance(type, ExternalTypeInfo):
        return as_stored(type.type_info, pickled)
    if type.kind == "PICKLED_BYTE_ARRAY":
        return pickled
    if isinstance(type, RowTypeInfo):
        return _row(type, [as_stored(field, pickled) for field in type.field_types])
    if isinstance(type, TupleTypeInfo):
        return _parts(type, [as_stored(field, pickled) for field in type.field_types], nulls=False)
    if isinstance(type, MapTypeInfo):
        return _dict(type, as_stored(type.key_type, pickled), as_stored(type.value_type, pickled))
    if str(type) != "byte[]" and type.kind in ("LIST", "BASIC_ARRAY", "OBJECT_ARRAY", "PRIMITIVE_ARRAY"):
        return _elements(type, as_stored(type.element_type, pickled))  # type: ignore[attr-defined]
    return _single(type)


def _single(type: TypeInformation) -> Callable[[Any], Any]:
    wanted = _CLASSES.get(type.kind, (object,))

    def stored(value: Any) -> Any:
        # True is a number to Python, and none to who declared one.
        is_flag = isinstance(value, bool) and bool not in wanted and object not in wanted
        return value if isinstance(value, wanted) and not is_flag else unfit(value, f"of the type {type}")

    return stored


_CLASSES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("STRING", "CHAR"), (str,)),
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), (int,)),
    **dict.fromkeys(("FLOAT", "DOUBLE"), (float, int)),
    "BOOLEAN": (bool,),
    "BIG_DEC": (Decimal,),
    "SQL_DATE": (date,),
    "SQL_TIME": (time,),
    "SQL_TIMESTAMP": (datetime,),
    "INSTANT": (Instant,),
    "PRIMITIVE_ARRAY": (bytes, bytearray),
}
"""The classes of Python whose objects PyFlink's coders write, by the kinds of types."""


def _elements(type: TypeInformation, element: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def stored(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            unfit(value, f"of the type {type}")
        return [None if one is None else element(one) for one in value]

    return stored


def _dict(type: TypeInformation, key: Callable[[Any], Any], value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def stored(found: Any) -> Any:
        if not isinstance(found, dict):
            unfit(found, f"of the type {type}")
        return {key(name): None if one is None else value(one) for name, one in found.items()}

    return stored


def _parts(type: TypeInformation, fields: Sequence[Callable[[Any], Any]], *, nulls: bool) -> Callable[[Any], Any]:
    """The fields in their order. Where there are no ``nulls``, None is a value like others, which may be pickled."""

    def stored(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(fields):
            unfit(value, f"of the type {type}")
        return [None if nulls and one is None else field(one) for field, one in zip(fields, value, strict=True)]

    return stored


def _row(type: RowTypeInfo, fields: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Rows, and as PyFlink takes them dicts and tuples."""
    in_order = _parts(type, fields, nulls=True)

    def stored(value: Any) -> Any:
        if isinstance(value, Row):
            if value.get_row_kind() is not RowKind.INSERT:
                unfit(value, "a row that was inserted")
            try:
                return in_order(list(value.get_fields_by_names(list(type.field_names))))
            except ValueError as error:
                unfit(value, f"of the type {type}: {error}")
        if isinstance(value, dict):
            if set(value) != set(type.field_names):
                unfit(value, f"of the type {type}")
            return in_order([value[name] for name in type.field_names])
        return in_order(value)

    return stored
