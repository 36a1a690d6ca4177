"""The forms of values that PyFlink's coders write in process mode, by the types that a program declared.

To Flink these are byte arrays: a value state is a list with one of them, and each may hold several values behind one another
(`python_values`). Objects that were pickled stay as they are.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from msgspec import Struct

from compat.state.flink import forms
from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Form, Layout, NeedsClass, Unconvertible, Write
from compat.state.flink.header_parts import StateForm
from compat.state.flink.headers import KIND, VALUES, StateMeta
from compat.state.flink.python_values import coder_of
from compat.state.flink.transcoding import Convert, Fields, Held, MapKeys, Transcode, in_state, transcoder
from compat.state.flink.values import Undecodable, ttl_inside
from compat.state.types import (
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

_COUNT = struct.Struct(">i")


def form_of_type(type: TypeInformation) -> Form:
    """The form in which PyFlink's coder of a type writes values. Raises Unconvertible for one that is not known."""
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
    if isinstance(type, ListTypeInfo):
        return Layout.MARKED_LIST, (type.element_type,), ()
    return None, (), ()


def _text(value: Any) -> bytes:
    data = forms.as_text(value).encode("utf-8")
    return _COUNT.pack(len(data)) + data


def _decimal(value: Any) -> bytes:
    if isinstance(value, str | bool) or not isinstance(value, int | Decimal):
        forms.unfit(value, "a decimal, or a whole number")
    return _text(str(value))


_WRITE: dict[str, Write] = {
    "STRING": _text,
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


class PythonConversion(Struct, frozen=True):
    """The values of a state of PyFlink's process mode, as another declared type has them: the types of a value, of a list's
    elements, or of a map. To Flink they are bytes before and after."""

    old: TypeInformation
    new: TypeInformation
    fields: Fields = Fields()

    @property
    def form(self) -> StateForm:
        """Nothing: the header stays as it is."""
        return StateForm()

    def map_keys(self, meta: StateMeta) -> MapKeys | None:
        """None: keys stay."""
        return None

    def converter(self, meta: StateMeta, serializer: bytes) -> Convert:
        """What writes the values of a state anew. Raises Unconvertible."""
        arrays = meta.serializer(VALUES)
        kind = meta.option(KIND) or "VALUE"
        if arrays is None or kind not in ("LIST", "MAP"):
            raise Unconvertible("no state of PyFlink's process mode")
        old, new = self.old, self.new
        if isinstance(old, MapTypeInfo) and isinstance(new, MapTypeInfo) and kind == "MAP":
            if old.key_type != new.key_type:
                raise Unconvertible("the keys of a map have another type")
            old, new = old.value_type, new.value_type
        elif kind == "MAP":
            raise Unconvertible("a state that is no map before or after")
        convert = transcoder(form_of_type(old), form_of_type(new), self.fields)
        held = Held(kind, ttl_inside(arrays.nested[-1]) is not None)
        one = in_state(held, held, _in_arrays(convert))
        return lambda values: [one(value) for value in values]


def _in_arrays(convert: Transcode) -> Transcode:
    """The same of values that stand behind one another in a byte array."""

    def array(reader: ByteReader) -> bytes:
        inside = ByteReader(reader.sized("a byte array"), reader.path)
        written = []
        while inside.remaining:
            written.append(convert(inside))
        data = b"".join(written)
        return _COUNT.pack(len(data)) + data

    return array
