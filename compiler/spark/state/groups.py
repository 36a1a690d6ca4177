"""Key groups of many keys at once: what :mod:`compat.state.key_groups` says of one, with the arithmetic done by numpy."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from compat.state.key_groups import key_group_of_key, stable_hash

_KNOWN_KEYS = 50_000
_FEW = 16
_TAILS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], np.uint32)


def key_groups_of(keys: list[Any], max_parallelism: int) -> list[int]:
    """The key group of each key. Flink: ``KeyGroupRangeAssignment.assignToKeyGroup``."""
    if len(keys) < _FEW:
        return [key_group_of_key(key, max_parallelism) for key in keys]
    groups: list[int] = key_group_array(keys, max_parallelism).tolist()
    return groups


def key_group_array(keys: list[Any], max_parallelism: int) -> Any:
    """The same as an array of numpy's, of many keys."""
    return (_murmur(_hashes(keys)) % np.uint32(max_parallelism)).astype(np.int32)


def _hashes(keys: list[Any]) -> Any:
    kinds = set(map(type, keys))
    if kinds == {str}:
        text = "s" + "s".join(keys)
        if text.isascii():
            return _hashes_of(text.encode(), np.fromiter(map(len, keys), np.int64, len(keys)) + 1)
    elif kinds == {int}:
        texts = [b"i%d" % key for key in keys]
        return _hashes_of(b"".join(texts), np.fromiter(map(len, texts), np.int64, len(texts)))
    return np.array([stable_hash(key) & 0xFFFFFFFF for key in keys], np.uint32)


def _hashes_of(data: bytes, lengths: Any) -> Any:
    """What ``mmh3.hash`` gives of parts of these lengths: murmur3, 32 bits, a word of all parts at a time."""
    start = np.cumsum(lengths) - lengths
    words: Any = np.ndarray((len(data) + 1,), "<u4", data + b"\0\0\0\0", 0, (1,))  # a word begins at each byte
    hashed = np.zeros(len(lengths), np.uint32)
    blocks = lengths >> 2
    for block in range(int(blocks.max())):
        inside = np.flatnonzero(blocks > block)
        if len(inside) == len(lengths):
            hashed = _mixed(hashed ^ _scrambled(words[start + 4 * block]))
        else:
            hashed[inside] = _mixed(hashed[inside] ^ _scrambled(words[start[inside] + 4 * block]))
    hashed ^= _scrambled(words[start + 4 * blocks] & _TAILS[lengths & 3])
    hashed ^= lengths.astype(np.uint32)
    hashed = (hashed ^ hashed >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    hashed = (hashed ^ hashed >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return hashed ^ hashed >> np.uint32(16)


def _scrambled(words: Any) -> Any:
    words = words * np.uint32(0xCC9E2D51)
    return (words << np.uint32(15) | words >> np.uint32(17)) * np.uint32(0x1B873593)


def _mixed(hashed: Any) -> Any:
    hashed = hashed << np.uint32(13) | hashed >> np.uint32(19)
    return hashed * np.uint32(5) + np.uint32(0xE6546B64)


def _murmur(code: Any) -> Any:
    """Flink's ``MathUtils.murmurHash`` of an array of unsigned 32-bit numbers, whose products wrap around."""
    code = code * np.uint32(0xCC9E2D51)
    code = code << np.uint32(15) | code >> np.uint32(17)
    code = code * np.uint32(0x1B873593)
    code = code << np.uint32(13) | code >> np.uint32(19)
    code = code * np.uint32(5) + np.uint32(0xE6546B64)
    code = code ^ np.uint32(4)
    code = (code ^ code >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    code = (code ^ code >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    code = code ^ code >> np.uint32(16)
    sign = code >> np.uint32(31)
    negated = (~code + np.uint32(1)) & np.uint32(0x7FFFFFFF)
    return np.where(sign == 1, negated, code)


class SubtaskOfKey:
    """Which subtask holds a key; remembers the keys that it saw, whatever epoch they came in, unless there are too many."""

    _made: ClassVar[dict[tuple[int, int], SubtaskOfKey]] = {}

    def __init__(self, max_parallelism: int, parallelism: int) -> None:
        self._max_parallelism, self._parallelism = max_parallelism, parallelism
        self._known: dict[Any, int] = {}
        self._too_many = False

    @classmethod
    def shared(cls, max_parallelism: int, parallelism: int) -> SubtaskOfKey:
        """The one of this process."""
        place = (max_parallelism, parallelism)
        if place not in cls._made:
            cls._made[place] = cls(max_parallelism, parallelism)
        return cls._made[place]

    def all(self, keys: list[Any]) -> Any:
        """The subtask of each key, as an array of numpy's."""
        if self._too_many:
            return self._subtasks(keys)
        known = self._known
        try:
            return self._remembered(keys)
        except TypeError:  # there are others, or one cannot be hashed
            pass
        try:
            unknown = list(set(keys).difference(known))
        except TypeError:
            return self._subtasks(keys)
        if len(known) >= _KNOWN_KEYS:
            self._too_many = len(unknown) > len(keys) // 4
            return self._subtasks(keys)
        known.update(zip(unknown, self._subtasks(unknown).tolist(), strict=True))
        return self._remembered(keys)

    def _remembered(self, keys: list[Any]) -> Any:
        return np.fromiter(map(self._known.get, keys), np.int64, len(keys))

    def _subtasks(self, keys: list[Any]) -> Any:
        groups_of = key_groups_of if len(keys) < _FEW else key_group_array
        groups = np.asarray(groups_of(keys, self._max_parallelism), np.int64)
        return groups * self._parallelism // self._max_parallelism
