"""Key groups of many keys at once: what :mod:`compat.state.key_groups` says of one, with the arithmetic done by numpy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import mmh3
import numpy as np

from compat.state.key_groups import key_group_of_key, stable_hash

_KNOWN_KEYS = 50_000
_FEW = 16
_MANY = 2048
"""The number of keys from which hashing them word by word in parallel is faster than one after the other."""
_AT_A_TIME = 8192
_1, _4, _5, _13, _15, _16, _17, _19, _31 = np.array([1, 4, 5, 13, 15, 16, 17, 19, 31], np.uint32)
_FIRST_FACTOR, _SECOND_FACTOR = np.array([0xCC9E2D51, 0x1B873593], np.uint32)
_THIRD_FACTOR, _FOURTH_FACTOR = np.array([0x85EBCA6B, 0xC2B2AE35], np.uint32)
_ADDED, _LARGEST = np.array([0xE6546B64, 0x7FFFFFFF], np.uint32)
_TAILS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], np.uint32)
_POWERS = 10 ** np.arange(16)
"""Numbers below the last of them are written as text many at once."""
_FIRST_DIGITS, _FOUR_DIGITS = (
    np.frombuffer(b"".join(form % number for number in range(count)), "<u4")
    for form, count in ((b"i%03d", 1000), (b"%04d", 10_000))
)
"""The first word of a number's text, by its first three digits, and all others, by four."""


def key_groups_of(keys: list[Any], max_parallelism: int) -> list[int]:
    """The key group of each key. Flink: ``KeyGroupRangeAssignment.assignToKeyGroup``."""
    if len(keys) < _FEW:
        return [key_group_of_key(key, max_parallelism) for key in keys]
    groups: list[int] = key_group_array(keys, max_parallelism).tolist()
    return groups


def key_group_array(keys: list[Any], max_parallelism: int) -> Any:
    """The key groups of many keys, as a numpy array: calculated in portions that fit into the processor's cache."""
    if len(keys) <= _AT_A_TIME:
        return (_murmur(_hashes(keys)) % np.uint32(max_parallelism)).astype(np.int32)
    parts = (keys[start : start + _AT_A_TIME] for start in range(0, len(keys), _AT_A_TIME))
    return np.concatenate([key_group_array(part, max_parallelism) for part in parts])


def _hashes(keys: list[Any]) -> Any:
    kinds = set(map(type, keys))
    if kinds == {str}:
        text = "s" + "s".join(keys)
        if text.isascii():
            if len(keys) < _MANY:
                return _hashes_one_by_one(map("s".__add__, keys), len(keys))
            return _hashes_of_parts(text.encode(), np.fromiter(map(len, keys), np.int64, len(keys)) + 1)
    elif kinds == {int}:
        if len(keys) < _MANY:
            return _hashes_one_by_one([b"i%d" % key for key in keys], len(keys))
        return _hashes_of_numbers(keys)
    return np.array([stable_hash(key) & 0xFFFFFFFF for key in keys], np.uint32)


def _hashes_one_by_one(texts: Iterable[str | bytes], count: int) -> Any:
    return np.fromiter(map(mmh3.hash, texts), np.int32, count).view(np.uint32)


def _hashes_of_numbers(keys: list[int]) -> Any:
    """The hashes of whole numbers."""
    try:
        numbers = np.array(keys, np.int64)
        written = numbers.min() >= 0 and numbers.max() < _POWERS[-1]
    except OverflowError:
        written = False
    if not written:
        texts = [b"i%d" % key for key in keys]
        return _hashes_of_parts(b"".join(texts), np.fromiter(map(len, texts), np.int64, len(texts)))
    digits = 1 + np.searchsorted(_POWERS[1:], numbers, "right")
    words = np.zeros((len(keys), 2 + digits.max() // 4), np.uint32)
    last = words.shape[1] - 2
    rest = numbers * _POWERS[3 + 4 * last - digits]  # the first digit of all at the same place
    for word in range(last, 0, -1):
        before = rest // 10_000
        words[:, word] = _FOUR_DIGITS[rest - 10_000 * before]
        rest = before
    words[:, 0] = _FIRST_DIGITS[rest]
    return _hashes_of(words.tobytes(), np.arange(len(keys)) * 4 * words.shape[1], 1 + digits)


def _hashes_of_parts(data: bytes, lengths: Any) -> Any:
    """The hashes of parts of these lengths, one behind the other."""
    return _hashes_of(data + b"\0\0\0\0", np.cumsum(lengths) - lengths, lengths)


def _hashes_of(data: bytes, start: Any, lengths: Any) -> Any:
    """What ``mmh3.hash`` gives of parts that start there: murmur3, 32 bits, a word of all parts at a time.

    There is a word more behind the last part.
    """
    words: Any = np.ndarray((len(data) - 3,), "<u4", data, 0, (1,))  # a word begins at each byte
    hashed = np.zeros(len(lengths), np.uint32)
    blocks = lengths >> 2
    for block in range(int(blocks.max())):
        inside = np.flatnonzero(blocks > block)
        if len(inside) == len(lengths):
            hashed = _mixed(hashed ^ _scrambled(words[start + 4 * block]))
        else:
            hashed[inside] = _mixed(hashed[inside] ^ _scrambled(words[start[inside] + 4 * block]))
    hashed ^= _scrambled(words[start + 4 * blocks] & _TAILS[lengths & 3])
    return _ended(hashed ^ lengths.astype(np.uint32))


def _scrambled(words: Any) -> Any:
    words = words * _FIRST_FACTOR
    return (words << _15 | words >> _17) * _SECOND_FACTOR


def _mixed(hashed: Any) -> Any:
    hashed = hashed << _13 | hashed >> _19
    return hashed * _5 + _ADDED


def _ended(hashed: Any) -> Any:
    hashed = (hashed ^ hashed >> _16) * _THIRD_FACTOR
    hashed = (hashed ^ hashed >> _13) * _FOURTH_FACTOR
    return hashed ^ hashed >> _16


def _murmur(code: Any) -> Any:
    """Flink's ``MathUtils.murmurHash`` of an array of unsigned 32-bit numbers, whose products wrap around."""
    code = _ended(_mixed(_scrambled(code)) ^ _4)
    return np.where(code >> _31, (~code + _1) & _LARGEST, code)


class SubtaskOfKey:
    """The subtask of each key; remembers the keys that it saw, from all epochs, unless there are too many."""

    _made: ClassVar[dict[tuple[int, int], SubtaskOfKey]] = {}

    def __init__(self, max_parallelism: int, parallelism: int) -> None:
        self._max_parallelism, self._parallelism = max_parallelism, parallelism
        self._known: dict[Any, int] = {}
        self._too_many = False

    @classmethod
    def shared(cls, max_parallelism: int, parallelism: int) -> SubtaskOfKey:
        """The instance of this process."""
        place = (max_parallelism, parallelism)
        if place not in cls._made:
            cls._made[place] = cls(max_parallelism, parallelism)
        return cls._made[place]

    def all(self, keys: list[Any]) -> Any:
        """The subtask of each key, as a numpy array."""
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
