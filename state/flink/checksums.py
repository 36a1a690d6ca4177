"""The checksums of RocksDB's tables and of Snappy's frames: CRC-32C and XXH3.

``google-crc32c`` and ``xxhash`` compute them where these are installed, and otherwise Python does, which takes longer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

_ROTATED = 0xA282EAD8
_WORD, _LONG = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_POLYNOMIAL = 0x82F63B78
"""Castagnoli's, its bits from the lowest on."""


def crc32c(data: bytes) -> int:
    """The CRC-32C of some bytes."""
    return _crc32c()(data)


def masked_crc32c(data: bytes) -> int:
    """The CRC-32C rotated, as it is stored beside its bytes: a CRC of bytes that contain their own CRC says little."""
    found = crc32c(data)
    return ((found >> 15 | found << 17) + _ROTATED) & _WORD


def xxh3(data: bytes) -> int:
    """The XXH3 hash of 64 bits, without a seed."""
    return _xxh3()(data)


@cache
def _crc32c() -> Callable[[bytes], int]:
    try:
        import google_crc32c  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return plain_crc32c
    found: Callable[[bytes], int] = google_crc32c.value
    return found


@cache
def _xxh3() -> Callable[[bytes], int]:
    try:
        import xxhash  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return plain_xxh3
    found: Callable[[bytes], int] = xxhash.xxh3_64_intdigest
    return found


@cache
def _table() -> tuple[int, ...]:
    found = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        found.append(value)
    return tuple(found)


def plain_crc32c(data: bytes) -> int:
    """The CRC-32C in Python, byte by byte."""
    table, value = _table(), _WORD
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ _WORD


_PRIME32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIME64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_AVALANCHE, _SHORT = 0x165667919E3779F9, 0x9FB21C651E98DF25
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a"
    "51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8f"
    "f8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE, _STRIPES = 64, 16
_EIGHT = struct.Struct("<8Q")
_KEYS = tuple(_EIGHT.unpack_from(_SECRET, 8 * number) for number in range(_STRIPES))
_SCRAMBLE, _LAST = _EIGHT.unpack_from(_SECRET, 128), _EIGHT.unpack_from(_SECRET, 121)


def plain_xxh3(data: bytes) -> int:
    """The XXH3 hash in Python (``xxh3.h`` of xxHash: a separate algorithm for each range of lengths)."""
    length = len(data)
    if length > 240:
        return _of_long(data)
    if length > 16:
        return _of_medium(data)
    if length > 8:
        low = _long(data, 0) ^ _long(_SECRET, 24) ^ _long(_SECRET, 32)
        high = _long(data, length - 8) ^ _long(_SECRET, 40) ^ _long(_SECRET, 48)
        turned = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(length + turned + high + _folded(low, high))
    if length >= 4:
        first, last = int.from_bytes(data[:4], "little"), int.from_bytes(data[-4:], "little")
        value = last + (first << 32) ^ _long(_SECRET, 8) ^ _long(_SECRET, 16)
        value ^= _turned(value, 49) ^ _turned(value, 24)
        value = value * _SHORT & _LONG
        value = (value ^ (value >> 35) + length) * _SHORT & _LONG
        return value ^ value >> 28
    if length:
        joined = data[0] << 16 | data[length >> 1] << 24 | data[-1] | length << 8
        word = int.from_bytes(_SECRET[:4], "little") ^ int.from_bytes(_SECRET[4:8], "little")
        return _avalanche_of_64(joined ^ word)
    return _avalanche_of_64(_long(_SECRET, 56) ^ _long(_SECRET, 64))


def _of_medium(data: bytes) -> int:
    length = len(data)
    found = length * _PRIME64[0]
    if length <= 128:
        for place in range((length - 1) // 32 + 1):
            found += _mixed(data, 16 * place, 32 * place) + _mixed(data, length - 16 * place - 16, 32 * place + 16)
        return _avalanche(found)
    for place in range(8):
        found += _mixed(data, 16 * place, 16 * place)
    found = _avalanche(found)
    for place in range(8, length // 16):
        found += _mixed(data, 16 * place, 16 * (place - 8) + 3)
    return _avalanche(found + _mixed(data, length - 16, 136 - 17))


def _of_long(data: bytes) -> int:
    length = len(data)
    first, second, third = _PRIME32
    sums = [third, *_PRIME64[:4], second, _PRIME64[4], first]
    blocks, block = (length - 1) // (_STRIPE * _STRIPES), _STRIPE * _STRIPES
    for number in range(blocks):
        for stripe in range(_STRIPES):
            _accumulate(sums, _EIGHT.unpack_from(data, number * block + stripe * _STRIPE), _KEYS[stripe])
        for place, key in enumerate(_SCRAMBLE):
            value = sums[place] & _LONG
            sums[place] = (value ^ value >> 47 ^ key) * first & _LONG
    for stripe in range((length - 1 - blocks * block) // _STRIPE):
        _accumulate(sums, _EIGHT.unpack_from(data, blocks * block + stripe * _STRIPE), _KEYS[stripe])
    _accumulate(sums, _EIGHT.unpack_from(data, length - _STRIPE), _LAST)
    found = length * _PRIME64[0]
    for place in range(4):
        low = (sums[2 * place] & _LONG) ^ _long(_SECRET, 11 + 16 * place)
        high = (sums[2 * place + 1] & _LONG) ^ _long(_SECRET, 19 + 16 * place)
        found += _folded(low, high)
    return _avalanche(found)


def _accumulate(sums: list[int], values: tuple[int, ...], keys: tuple[int, ...]) -> None:
    for place, value in enumerate(values):
        mixed = value ^ keys[place]
        sums[place ^ 1] += value
        sums[place] += (mixed & _WORD) * (mixed >> 32)


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _LONG


def _folded(low: int, high: int) -> int:
    product = low * high
    return (product ^ product >> 64) & _LONG


def _mixed(data: bytes, at: int, secret: int) -> int:
    return _folded(
        _long(data, at) ^ _long(_SECRET, secret),
        _long(data, at + 8) ^ _long(_SECRET, secret + 8),
    )


def _avalanche(value: int) -> int:
    value &= _LONG
    value = (value ^ value >> 37) * _AVALANCHE & _LONG
    return value ^ value >> 32


def _avalanche_of_64(value: int) -> int:
    value = (value ^ value >> 33) * _PRIME64[1] & _LONG
    value = (value ^ value >> 29) * _PRIME64[2] & _LONG
    return value ^ value >> 32
