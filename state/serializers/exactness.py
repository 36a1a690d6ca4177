"""Values that survive serialization unchanged, and are immutable.

Only they may be used in place of what reading them again would give.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from types import NoneType
from typing import Any

from compat.state.serializers.codecs import PICKLE, codec_of
from compat.state.types import ExternalTypeInfo, TupleTypeInfo, TypeInformation

_CLASSES: dict[str, type] = {
    **dict.fromkeys(("STRING", "CHAR"), str),
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), int),
    "DOUBLE": float,
    "BOOLEAN": bool,
    "BIG_DEC": Decimal,
}
_PLAIN = frozenset({str, int, float, bool, bytes, NoneType})


def exactness_of(type_info: TypeInformation | None) -> Callable[[Any], bool]:
    """The function that is True for such values of a type; it may also be False for some of them."""
    if type_info is None:
        return is_plain
    if isinstance(type_info, ExternalTypeInfo):
        return exactness_of(type_info.type_info)
    if isinstance(type_info, TupleTypeInfo):
        fields = [exactness_of(field) for field in type_info.field_types]
        return lambda value: (
            type(value) is tuple
            and len(value) == len(fields)
            and all(each is None or exact(each) for exact, each in zip(fields, value, strict=True))
        )
    found = _CLASSES.get(type_info.kind)
    if found is not None:
        return lambda value: type(value) is found
    return is_plain if codec_of(type_info) is PICKLE else lambda value: False


def is_plain(value: Any) -> bool:
    """True for text, numbers, bytes, None and tuples of them, of exactly these classes."""
    kind = type(value)
    return kind in _PLAIN or (kind is tuple and all(map(is_plain, value)))
