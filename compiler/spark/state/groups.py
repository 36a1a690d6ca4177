"""Key groups of many keys at once: what :mod:`compat.state.key_groups` says of one, with the arithmetic done by numpy."""

from __future__ import annotations

from typing import Any, ClassVar

import mmh3
import numpy as np

from compat.state.key_groups import key_group_of_key, stable_hash

_KNOWN_KEYS = 400_000
_FEW = 16


def key_groups_of(keys: list[Any], max_parallelism: int) -> list[int]:
    """The key group of each key. Flink: ``KeyGroupRangeAssignment.assignToKeyGroup``."""
    if len(keys) < _FEW:
        return [key_group_of_key(key, max_parallelism) for key in keys]
    groups: list[int] = (_murmur(_hashes(keys)) % np.uint32(max_parallelism)).tolist()
    return groups


def _hashes(keys: list[Any]) -> Any:
    if set(map(type, keys)) == {str}:
        try:
            return np.array([mmh3.hash(b"s" + key.encode(), signed=False) for key in keys], np.uint32)
        except UnicodeEncodeError:
            pass
    return np.array([stable_hash(key) & 0xFFFFFFFF for key in keys], np.uint32)


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
    """Which subtask holds a key; remembers the keys that it saw, whatever epoch they came in."""

    _made: ClassVar[dict[tuple[int, int], SubtaskOfKey]] = {}

    def __init__(self, max_parallelism: int, parallelism: int) -> None:
        self._max_parallelism, self._parallelism = max_parallelism, parallelism
        self._known: dict[Any, int] = {}

    @classmethod
    def shared(cls, max_parallelism: int, parallelism: int) -> SubtaskOfKey:
        """The one of this process."""
        place = (max_parallelism, parallelism)
        if place not in cls._made:
            cls._made[place] = cls(max_parallelism, parallelism)
        return cls._made[place]

    def all(self, keys: list[Any]) -> list[int]:
        """The subtask of each key."""
        known = self._known
        try:
            found = list(map(known.get, keys))
        except TypeError:
            return self._subtasks(keys)
        if None in found:
            unknown = list({key for key, subtask in zip(keys, found, strict=True) if subtask is None})
            if len(known) + len(unknown) > _KNOWN_KEYS:
                known.clear()
                unknown = list(set(keys))
            known.update(zip(unknown, self._subtasks(unknown), strict=True))
            found = list(map(known.get, keys))
        return found  # type: ignore[return-value]

    def _subtasks(self, keys: list[Any]) -> list[int]:
        return [
            group * self._parallelism // self._max_parallelism for group in key_groups_of(keys, self._max_parallelism)
        ]
