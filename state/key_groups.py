"""The subtask of a key: Flink's key groups.

A key's 32-bit hash gives its key group, a number below the max parallelism; each subtask holds a contiguous range of
key groups. Flink: ``KeyGroupRangeAssignment``, ``MathUtils``.

Flink hashes Java objects with ``hashCode()``. The hash of a Python key is :func:`stable_hash`, which depends only on the key's
value: not on the process, the machine, ``PYTHONHASHSEED`` or the order in which a set was filled.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import mmh3

LOWEST_DEFAULT_MAX_PARALLELISM = 1 << 7
HIGHEST_MAX_PARALLELISM = 1 << 15
"""Flink: ``KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM``."""

_MASK = 0xFFFFFFFF


def murmur_hash(code: int) -> int:
    """Flink's ``MathUtils.murmurHash``: from a signed 32-bit hash to a number from 0 to 2^31 - 1."""
    code = code * 0xCC9E2D51 & _MASK
    code = (code << 15 | code >> 17) & _MASK
    code = code * 0x1B873593 & _MASK
    code = (code << 13 | code >> 19) & _MASK
    code = code * 5 + 0xE6546B64 & _MASK
    code ^= 4
    code = (code ^ code >> 16) * 0x85EBCA6B & _MASK
    code = (code ^ code >> 13) * 0xC2B2AE35 & _MASK
    code ^= code >> 16
    if code < 0x80000000:
        return code
    return 0 if code == 0x80000000 else 0x100000000 - code


def default_max_parallelism(parallelism: int) -> int:
    """The max parallelism if none is set: 1.5 times the parallelism, up to a power of two, from 128 to 32768."""
    wanted = parallelism + parallelism // 2
    power = 1 << max(wanted - 1, 0).bit_length()
    return min(max(power, LOWEST_DEFAULT_MAX_PARALLELISM), HIGHEST_MAX_PARALLELISM)


def key_group_of_key(key: Any, max_parallelism: int) -> int:
    """The key group of a Python key."""
    return murmur_hash(stable_hash(key)) % max_parallelism


def key_groups_of_subtask(max_parallelism: int, parallelism: int, subtask: int) -> range:
    """The key groups that a subtask holds. ValueError unless subtask < parallelism <= max parallelism <= 32768."""
    _check(max_parallelism, parallelism)
    if not 0 <= subtask < parallelism:
        raise ValueError(f"There is no subtask {subtask} at parallelism {parallelism}.")
    start = (subtask * max_parallelism + parallelism - 1) // parallelism
    end = ((subtask + 1) * max_parallelism - 1) // parallelism
    return range(start, end + 1)


def subtask_of_key_group(max_parallelism: int, parallelism: int, key_group: int) -> int:
    """The subtask that holds a key group."""
    return key_group * parallelism // max_parallelism


def subtask_of_key(key: Any, max_parallelism: int, parallelism: int) -> int:
    """The subtask that holds a Python key."""
    return subtask_of_key_group(max_parallelism, parallelism, key_group_of_key(key, max_parallelism))


def _check(max_parallelism: int, parallelism: int) -> None:
    if not 0 < parallelism <= max_parallelism <= HIGHEST_MAX_PARALLELISM:
        raise ValueError(
            f"Parallelism {parallelism} and max parallelism {max_parallelism} do not fit: "
            f"0 < parallelism <= max parallelism <= {HIGHEST_MAX_PARALLELISM} is needed."
        )


def stable_hash(key: Any) -> int:
    """A signed 32-bit hash of a key: murmur3 (x86, 32 bits, seed 0) of :func:`key_bytes`.

    Keys that are equal and of the kinds named there have equal hashes: ``1``, ``1.0`` and ``True`` have the same.
    """
    hashed: int = mmh3.hash(key_bytes(key))
    return hashed


def key_bytes(key: Any) -> bytes:
    """The key as bytes: a letter for the kind, then the value; parts of compound keys with their length before them.

    ============================================  ======================================================================
    ``n``                                         None
    ``i``                                         whole numbers, also ``True`` and ``1.0``: decimal text
    ``f``                                         other floats: 8 bytes, big-endian; every NaN the same
    ``d``                                         other decimals and fractions: numerator and denominator, lowest terms
    ``s``, ``b``                                  text (UTF-8), bytes
    ``l``, ``r``                                  tuples and lists; rows (values in order, without names)
    ``m``, ``t``                                  dicts and sets: entries sorted by their bytes
    ``e``                                         enums: class and name
    ``c``                                         dates, times and UUIDs: class and text
    ``o``                                         other objects: class, and what their ``__getstate__`` gives
    ============================================  ======================================================================

    Raises TypeError for a key without any value of its own, such as a function.
    """
    kind = type(key)
    if kind is str:
        return b"s" + str.encode(key, "utf-8", "surrogatepass")
    if kind is int or kind is bool:
        return b"i%d" % key
    if kind is tuple or kind is list:
        return b"l" + joined(map(key_bytes, key))
    return _other_bytes(key)


def joined(parts: Iterable[bytes]) -> bytes:
    """Parts of a key, each with its length before it."""
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)


def _other_bytes(key: Any) -> bytes:
    if key is None:
        return b"n"
    if isinstance(key, float):
        return _float_bytes(key)
    cls = type(key)
    name = f"{cls.__module__}.{cls.__qualname__}".encode()
    if isinstance(key, str):
        return b"s" + str.__str__(key).encode("utf-8", "surrogatepass")
    if isinstance(key, int):
        return key_bytes(int(key))
    if hasattr(cls, "__members__"):
        return b"e" + name + b"." + str(key.name).encode()
    if isinstance(key, (bytes, bytearray, memoryview)):
        return b"b" + bytes(key)
    if hasattr(key, "get_row_kind"):
        return b"r" + joined(map(key_bytes, key))
    if isinstance(key, (tuple, list)):
        return b"l" + joined(map(key_bytes, key))
    if isinstance(key, dict):
        return b"m" + joined(sorted(joined(map(key_bytes, entry)) for entry in key.items()))
    if isinstance(key, (set, frozenset)):
        return b"t" + joined(sorted(map(key_bytes, key)))
    if cls.__module__ in ("decimal", "fractions"):
        return _exact_number_bytes(key)
    if cls.__module__ in ("datetime", "uuid"):
        return b"c" + name + b":" + _calendar_text(key).encode()
    if hasattr(key, "item") and cls.__module__ == "numpy":
        return key_bytes(key.item())
    return b"o%d:%b%b" % (len(name), name, key_bytes(state_of(key)))


def _float_bytes(key: float) -> bytes:
    if key.is_integer():
        return b"i%d" % int(key)
    return b"f" + (b"nan" if key != key else struct.pack(">d", key))


def _exact_number_bytes(key: Any) -> bytes:
    """A decimal or fraction: as the equal whole number or float where there is one."""
    if key != key:
        return b"fnan"
    if key in (float("inf"), float("-inf")):
        return _float_bytes(float(key))
    if key == int(key):
        return b"i%d" % int(key)
    numerator, denominator = key.as_integer_ratio()
    try:
        nearest = numerator / denominator
    except OverflowError:
        nearest = 0.0
    if nearest == key:
        return _float_bytes(nearest)
    return b"d%d/%d" % (numerator, denominator)


def _calendar_text(key: Any) -> str:
    """The text of a date, time, duration or UUID; equal points in time in two zones have the same."""
    if getattr(key, "tzinfo", None) is not None and hasattr(key, "astimezone"):
        from datetime import UTC

        return str(key.astimezone(UTC))
    return str(key)


def state_of(key: Any) -> Any:
    """The fields of a key object. Raises TypeError for one without any value, such as a function."""
    state = key.__getstate__() if not callable(key) and not isinstance(key, type) else None
    if state is None:
        cls = type(key)
        raise TypeError(
            f"A key of type {cls.__module__}.{cls.__qualname__} has no value to hash: key by text, numbers, bytes, tuples "
            "or rows of them."
        )
    return state
