"""Types of all sorts, and values of a type, for laws."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from compat.state.rows import make_row
from compat.state.time import Instant
from compat.state.types import (
    BasicArrayTypeInfo,
    GenericRecordAvroTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

_WHOLE = {"BYTE": 8, "SHORT": 16, "INT": 32, "LONG": 64}
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    **{kind: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for kind, bits in _WHOLE.items()},
    "STRING": st.text(max_size=8),
    "CHAR": st.characters(),
    "BOOLEAN": st.booleans(),
    "FLOAT": st.floats(width=32, allow_nan=False),
    "DOUBLE": st.floats(allow_nan=False),
    "BIG_INT": st.integers(),
    "BIG_DEC": st.decimals(allow_nan=False),
    "INSTANT": st.builds(Instant, st.integers(-(10**9), 10**9), st.integers(0, 999_999_999)),
    "SQL_DATE": st.dates(),
    "SQL_TIME": st.times(),
    "SQL_TIMESTAMP": st.datetimes(),
    "LOCAL_DATE": st.dates(),
    "LOCAL_TIME": st.times(),
    "LOCAL_DATE_TIME": st.datetimes(),
}
LEAF_TYPES: tuple[TypeInformation, ...] = (
    *(getattr(Types, kind)() for kind in LEAVES if hasattr(Types, kind)),
    *(LocalTimeTypeInfo(each) for each in LocalTimeTypeInfo.TimeType),
)
_PRIMITIVE = [type_ for type_ in LEAF_TYPES if type_.kind in {*_WHOLE, "BOOLEAN", "FLOAT", "DOUBLE"}]
NAMES = st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True)
AVRO = GenericRecordAvroTypeInfo(
    json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]}
    )
)


def row(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    """Rows with names."""
    return NAMES.flatmap(
        lambda names: st.lists(inner, min_size=len(names), max_size=len(names)).map(
            lambda types: RowTypeInfo(types, names)
        )
    )


def compound(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    """Types with parts."""
    return st.one_of(
        row(inner),
        st.lists(inner, max_size=4).map(RowTypeInfo),
        st.lists(inner, max_size=4).map(TupleTypeInfo),
        inner.map(ListTypeInfo),
        inner.map(ObjectArrayTypeInfo),
        st.builds(MapTypeInfo, st.sampled_from(LEAF_TYPES), inner),
    )


def types() -> st.SearchStrategy[TypeInformation]:
    """Every type that is not pickled."""
    flat = st.one_of(
        st.sampled_from(LEAF_TYPES),
        st.sampled_from(_PRIMITIVE).map(PrimitiveArrayTypeInfo),
        st.sampled_from([*_PRIMITIVE, Types.STRING()]).map(BasicArrayTypeInfo),
        st.just(AVRO),
    )
    return st.recursive(flat, compound, max_leaves=6)


def values(type_info: TypeInformation) -> st.SearchStrategy[Any]:
    """Values of a type, in the form in which they are read back."""
    if type_info.kind in LEAVES:
        return LEAVES[type_info.kind]
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        fields = st.tuples(*(st.none() | values(field) for field in type_info.field_types))
        if isinstance(type_info, TupleTypeInfo):
            return fields
        names = type_info.field_names
        return st.builds(lambda kind, parts: make_row(names, kind, list(parts)), st.integers(0, 3), fields)
    if isinstance(type_info, MapTypeInfo):
        return st.dictionaries(values(type_info.key_type), st.none() | values(type_info.value_type), max_size=3)
    if isinstance(type_info, GenericRecordAvroTypeInfo):
        return st.fixed_dictionaries({"n": LEAVES["LONG"], "s": LEAVES["STRING"]})
    element = type_info.element_type  # type: ignore[attr-defined]
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        return st.binary(max_size=4) if element.kind == "BYTE" else st.lists(values(element), max_size=3)
    return st.lists(st.none() | values(element), max_size=3)


def typed_values() -> st.SearchStrategy[tuple[TypeInformation, Any]]:
    """A type and a value of it."""
    return types().flatmap(lambda type_info: st.tuples(st.just(type_info), values(type_info)))
