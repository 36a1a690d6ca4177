"""The forms of values that PyFlink's coders write in process mode, by the types that a program declared.

For Flink these are byte arrays: a value state is a list with one array, and each array may hold several values one after the
other (`python_values`). Pickled objects stay as they are.
"""

from __future__ import annotations

import struct
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from compat.state.flink import forms
from compat.state.flink.forms import Form, Layout, NeedsClass, Write
from compat.state.flink.python_values import coder_of
from compat.state.flink.values import Undecodable
from compat.state.types import (
    ExternalTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

_COUNT = struct.Struct(">i")
_EPOCH = datetime(1970, 1, 1)


def form_of_type(type: TypeInformation) -> Form:
    """The form in which PyFlink's coder of a type writes values. Raises Unconvertible for an unknown type."""
    if isinstance(type, ExternalTypeInfo):
        return form_of_type(type.type_info)
    try:
        read = coder_of(type, lambda data: data)
    except Undecodable as error:
        raise NeedsClass(f"{error} cannot be read here") from None
    layout, parts, names = _parts(type)
    write = _WRITE.get(type.kind) if layout is None else None
    return Form(str(type), type, read, write, layout, tuple(map(form_of_type, parts)), names)


def _parts(type: TypeInformation) -> tuple[Layout | None, tuple[TypeInformation, ...], tuple[str, ...]]:
    if isinstance(type, RowTypeInfo):
        return Layout.ROW_OF_CHANGES, tuple(type.field_types), tuple(type.field_names)
    if isinstance(type, TupleTypeInfo):
        fields = tuple(type.field_types)
        return Layout.TUPLE, fields, tuple(f"f{place}" for place in range(len(fields)))
    if isinstance(type, MapTypeInfo):
        return Layout.MAP, (type.key_type, type.value_type), ()
    if type.kind in ("LIST", "BASIC_ARRAY", "OBJECT_ARRAY"):
        return Layout.MARKED_LIST, (type.element_type,), ()  # type: ignore[attr-defined]
    if type.kind == "PRIMITIVE_ARRAY" and str(type) != "byte[]":
        return Layout.LIST, (type.element_type,), ()  # type: ignore[attr-defined]
    return None, (), ()


def _text(value: Any) -> bytes:
    data = forms.as_text(value).encode("utf-8")
    return _COUNT.pack(len(data)) + data


def _decimal(value: Any) -> bytes:
    if isinstance(value, str | bool) or not isinstance(value, int | Decimal):
        forms.unfit(value, "a decimal, or a whole number")
    return _text(str(value))


def _date(value: Any) -> bytes:
    return forms.INT((value - _EPOCH.date()).days) if isinstance(value, date) else forms.unfit(value, "a day")


def _time(value: Any) -> bytes:
    """The milliseconds of the day, which is all that PyFlink writes of a time."""
    if not isinstance(value, time) or value.microsecond % 1000:
        forms.unfit(value, "a time in whole milliseconds")
    return forms.INT(((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000)


_WRITE: dict[str, Write] = {
    "STRING": _text,
    "SQL_DATE": _date,
    "SQL_TIME": _time,
    "BOOLEAN": forms.boolean,
    "BYTE": forms.BYTE,
    "SHORT": forms.SHORT,
    "INT": forms.INT,
    "LONG": forms.long,
    "BIG_INT": forms.long,
    "FLOAT": forms.floating(">f"),
    "DOUBLE": forms.floating(">d"),
    "BIG_DEC": _decimal,
    "SQL_TIMESTAMP": lambda value: forms.LONG(forms.millis(value)),
    "INSTANT": forms.instant,
}
