"""Slots: the forms of keys in memory. Flink finds keys by their bytes, which Python's equality does not always tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache
from itertools import chain
from types import NoneType
from typing import Any

from compat.state.serializers import KeyCodec

_ALONE = frozenset({str, int, bytes, NoneType, date})
"""Classes of keys that equal, in Python, none that is another in Flink, as long as all keys are of such classes."""


_REMEMBERED = 10_000
"""The number of slots of truth values and floats that are reused."""


VOID = b""
"""The namespace of entries without one."""


class ByIdentity:
    """A stand-in for a key that Python cannot hash, such as a list, or that may equal another one of Flink's, as 1.0 does 1."""

    __slots__ = ("identity", "key")

    def __init__(self, key: Any, identity: bytes) -> None:
        self.key = key
        self.identity = identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.identity == other.identity


class InNamespace(tuple):  # type: ignore[type-arg]
    """A key's slot in a namespace; a class of its own, to be distinct from keys that are tuples."""

    __slots__ = ()


class Slots:
    """The slots of keys of one type, in no namespace: keys themselves, where Python tells them from others as Flink does."""

    def __init__(self, codec: KeyCodec) -> None:
        self._identify = codec.identify
        self._alone = _ALONE | {bool} if codec.canonical else _ALONE
        self._remembered = lru_cache(_REMEMBERED, typed=True)(self._by_identity)

    def of(self, key: Any) -> Any:
        """The slot of a key."""
        kind = type(key)
        if kind in self._alone or (kind is tuple and self._alone.issuperset(map(type, key))):
            return key
        if kind is bool or (kind is float and key):  # not of the zeros, which are equal
            return self._remembered(key)
        return self._by_identity(key)

    def _by_identity(self, key: Any) -> ByIdentity:
        return ByIdentity(key, self._identify(key))

    def all_of(self, keys: list[Any]) -> list[Any]:
        """The slots of many keys."""
        return keys if self.are_keys(keys) else list(map(self.of, keys))

    def are_keys(self, keys: Sequence[Any]) -> bool:
        """True for keys that are all their own slots."""
        kinds = set(map(type, keys))
        if kinds == {tuple}:
            kinds = set(map(type, chain.from_iterable(keys)))
        return self._alone.issuperset(kinds)


def split_slot(slot: Any) -> tuple[Any, bytes]:
    """The slot of a key in no namespace, and the namespace."""
    return slot if type(slot) is InNamespace else (slot, VOID)


def plain_key(slot: Any) -> Any:
    """The key of a slot in no namespace."""
    return slot.key if type(slot) is ByIdentity else slot


def plain_keys(slots: Iterable[Any]) -> list[Any]:
    """The keys of many slots in no namespace."""
    keys = list(slots)
    return list(map(plain_key, keys)) if ByIdentity in set(map(type, keys)) else keys
