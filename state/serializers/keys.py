"""Keys as bytes: two keys are the same key when their :func:`identity_of` is.

A key of a simple type is written by its type, which gives equal bytes for equal keys. Any other is written in the
canonical form of :func:`compat.state.key_groups.key_bytes`, because equal keys may have unequal bytes; where that form cannot
be read back, it is followed by the key as its type writes it, or by the pickled key where the type is pickled.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compat.state.key_groups import key_bytes
from compat.state.serializers.codecs import PICKLE, codec_of
from compat.state.types import TypeInformation

_CANONICAL = b"\0"
_PICKLED = b"\1"
_TYPED = b"\2"
_LENGTH = struct.Struct(">I")
_CANONICAL_TYPES = frozenset(
    {"STRING", "CHAR", "BYTE", "SHORT", "INT", "LONG", "BOOLEAN", "BIG_INT", "SQL_DATE", "SQL_TIME", "SQL_TIMESTAMP"}
)


@dataclass(frozen=True, slots=True)
class KeyCodec:
    """Writes and reads keys; ``identity`` cuts the bytes down to what tells keys apart."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    identity: Callable[[bytes], bytes]
    canonical: bool


def key_codec_of(type_info: TypeInformation | None) -> KeyCodec:
    """The codec of keys of a type."""
    if type_info is not None and type_info.kind in _CANONICAL_TYPES:
        codec = codec_of(type_info)
        return KeyCodec(codec.encode, codec.decode, _whole, True)
    codec = codec_of(type_info)
    mark = _PICKLED if codec.pickled else _TYPED

    def encode(key: Any) -> bytes:
        canonical = key_bytes(key)
        if _readable(key):
            return _CANONICAL + canonical
        return mark + _LENGTH.pack(len(canonical)) + canonical + codec.encode(key)

    def decode(data: bytes) -> Any:
        if data[:1] == _CANONICAL:
            return _read(data[1:])
        (length,) = _LENGTH.unpack_from(data, 1)
        return (codec.decode if data[:1] == mark else PICKLE.decode)(data[5 + length :])

    return KeyCodec(encode, decode, identity_of, False)


def _whole(data: bytes) -> bytes:
    return data


def identity_of(data: bytes) -> bytes:
    """The identity of the key ``data`` of a type that is not simple: equal for equal keys."""
    if data[:1] == _CANONICAL or not data:
        return data[1:]
    (length,) = _LENGTH.unpack_from(data, 1)
    return data[5 : 5 + length]


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
