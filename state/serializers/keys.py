"""Keys as bytes: two keys are the same key when their identities are.

The type of a simple key writes it, with equal bytes for equal keys. Any other key has an identity beside its bytes, since the
same key may be pickled in several ways. If the identity cannot be read back, the key follows it, as its type writes it, or
pickled if the type is pickled.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from math import copysign
from types import NoneType
from typing import Any

from msgspec import Struct

from compat.state.key_groups import joined, key_bytes, state_of
from compat.state.serializers.codecs import PICKLE, codec_of
from compat.state.types import TypeInformation

_CANONICAL = b"\0"
_PICKLED = b"\1"
_TYPED = b"\2"
_PICKLED_APART = b"\3"
"""As the first, where the key has equals of another class: with the first, these were once one key."""
_LENGTH = struct.Struct(">I")
_DOUBLE = struct.Struct(">d")
_ALONE = frozenset({str, int, bytes, NoneType})
_COMPOUND: dict[type, bytes] = {tuple: b"l", dict: b"m", frozenset: b"t"}
_TEXTS = frozenset({"decimal", "fractions", "datetime", "uuid"})
"""Modules whose objects differ where their texts do."""
_CANONICAL_TYPES = frozenset(
    {"STRING", "CHAR", "BYTE", "SHORT", "INT", "LONG", "BOOLEAN", "BIG_INT", "SQL_DATE", "SQL_TIME", "SQL_TIMESTAMP"}
)


class KeyCodec(Struct, frozen=True):
    """Writes and reads keys; ``identify`` gives the identity of a key, and ``identity`` cuts it out of its bytes."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    identity: Callable[[bytes], bytes]
    identify: Callable[[Any], bytes]
    canonical: bool


def key_codec_of(type_info: TypeInformation | None) -> KeyCodec:
    """The codec of keys of a type."""
    codec = codec_of(type_info)
    if type_info is not None and type_info.kind in _CANONICAL_TYPES:
        return KeyCodec(codec.encode, codec.decode, _whole, codec.encode, True)
    identify = pickled_identity if codec.pickled else typed_identity

    def encode(key: Any) -> bytes:
        identity = identify(key)
        if _readable(key):
            return _CANONICAL + identity
        if not codec.pickled:
            mark = _TYPED
        else:
            mark = _PICKLED if identity == key_bytes(key) else _PICKLED_APART
        return mark + _LENGTH.pack(len(identity)) + identity + codec.encode(key)

    def decode(data: bytes) -> Any:
        if data[:1] == _CANONICAL:
            return _read(data[1:])
        (length,) = _LENGTH.unpack_from(data, 1)
        return (codec if data[:1] == _TYPED or codec.pickled else PICKLE).decode(data[5 + length :])

    return KeyCodec(encode, decode, identity_of, identify, False)


def pickled_identity(key: Any) -> bytes:
    """The identity of keys of an undeclared type. In Flink it is their bytes: ``1``, ``1.0`` and ``True`` are three keys,
    ``0.0`` and ``-0.0`` two, and NaN is one.

    It is the canonical form of :func:`compat.state.key_groups.key_bytes`, except for parts that equal objects of other classes,
    or equal objects that are pickled in another way: these have their own letter, ``x``, and their class. Raises TypeError for
    a key without
    any value of its own, such as a function.
    """
    cls = type(key)
    if cls in _ALONE or _has_no_equals(key, cls):
        return key_bytes(key)
    if cls in _COMPOUND:
        return _COMPOUND[cls] + _parts(key)
    if hasattr(key, "get_row_kind"):
        return b"r" + _parts(key)
    name = f"{cls.__module__}.{cls.__qualname__}".encode()
    part = _part(key, cls)
    if part is None:
        return b"o%d:%b%b" % (len(name), name, pickled_identity(state_of(key)))
    return b"x%d:%b%b" % (len(name), name, part)


def _has_no_equals(key: Any, cls: type) -> bool:
    """True for enums, and for dates, times and UUIDs without a zone."""
    if cls.__module__ in ("datetime", "uuid"):
        return getattr(key, "tzinfo", None) is None
    return hasattr(cls, "__members__") and not isinstance(key, (str, int, float, bytes))


def _part(key: Any, cls: type) -> bytes | None:
    """The value of a key whose class is known; None for an object whose class says what it has."""
    if isinstance(key, float):
        return _float(key)
    if cls.__module__ in _TEXTS:
        return str(key).encode()
    if isinstance(key, (tuple, list, dict, set, frozenset)):
        return _parts(key)
    if isinstance(key, (str, int, bytes, bytearray, memoryview)) or cls.__module__ == "numpy":
        return key_bytes(key)
    return None


def _parts(key: Any) -> bytes:
    if isinstance(key, dict):
        return joined(sorted(joined(map(pickled_identity, entry)) for entry in key.items()))
    parts = map(pickled_identity, key)
    return joined(sorted(parts) if isinstance(key, (set, frozenset)) else parts)


def _float(key: float) -> bytes:
    return b"nan" if key != key else _DOUBLE.pack(key)


def typed_identity(key: Any) -> bytes:
    """The identity of keys whose type gives the class of each part: only what numbers of one class hide is added."""
    if isinstance(key, float) and key == 0:
        return b"f" + _float(key) if copysign(1, key) < 0 else key_bytes(key)
    if isinstance(key, Decimal) and not _is_shortest(key):
        return b"d" + str(key).encode()
    if isinstance(key, (tuple, list)):
        return b"l" + joined(map(typed_identity, key))
    if hasattr(key, "get_row_kind"):
        return b"r" + joined(map(typed_identity, key))
    return key_bytes(key)


def _is_shortest(key: Decimal) -> bool:
    """True for a decimal without zeros at its end, which are part of a key in Flink."""
    _, digits, exponent = key.as_tuple()
    return not isinstance(exponent, int) or exponent == 0 or (exponent < 0 and digits[-1] != 0)


def identity_of(data: bytes) -> bytes:
    """The identity of the key ``data`` of a type that is not simple."""
    if data[:1] == _CANONICAL or not data:
        return data[1:]
    (length,) = _LENGTH.unpack_from(data, 1)
    identity = data[5 : 5 + length]
    if data[:1] != _PICKLED or (identity[:1] in b"ec" and b"+" not in identity):
        return identity
    try:
        return pickled_identity(PICKLE.decode(data[5 + length :]))
    except Exception:  # its class is gone: then no record has such a key
        return identity


def _whole(data: bytes) -> bytes:
    return data


def _readable(key: Any) -> bool:
    kind = type(key)
    if kind is tuple:
        return all(map(_readable, key))
    return kind is str or kind is int or kind is bytes or key is None


def _read(data: bytes) -> Any:
    kind, rest = data[:1], data[1:]
    if kind == b"s":
        return rest.decode("utf-8", "surrogatepass")
    if kind == b"i":
        return int(rest)
    if kind == b"b":
        return rest
    if kind == b"n":
        return None
    parts = []
    position = 0
    while position < len(rest):
        colon = rest.index(b":", position)
        end = colon + 1 + int(rest[position:colon])
        parts.append(_read(rest[colon + 1 : end]))
        position = end
    return tuple(parts)
