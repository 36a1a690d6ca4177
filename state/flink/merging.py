"""Merges values that come under one key when two keys become one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Form, Unconvertible, form_of
from compat.state.flink.headers import KIND, VALUES, StateMeta
from compat.state.flink.python_states import Apply, Item, arrays_of, value_of
from compat.state.flink.transcoding import Held
from compat.state.flink.values import ttl_inside

_TIME = struct.Struct(">q")
_NUMBERS = frozenset({"Byte", "Short", "Int", "Long", "BigInt", "Float", "Double"})

Merged = Callable[[Sequence[Sequence[bytes]]], list[bytes]]
"""Gives one value for each of some groups of values. Raises Unconvertible."""


class Rule(StrEnum):
    """The conversions of values that need no function."""

    ALL = "all"
    SUM = "sum"
    LEAST = "least"
    GREATEST = "greatest"


_OF_NUMBERS: dict[Rule, Callable[[Sequence[Any]], Any]] = {Rule.SUM: sum, Rule.LEAST: min, Rule.GREATEST: max}


class MergeByRule(Struct, frozen=True):
    """Lists stay side by side, numbers are added, or one of them stays."""

    rule: Rule

    def merger(self, meta: StateMeta) -> Merged:
        """The function that merges the values of a state. Raises Unconvertible if no rule merges them."""
        serializer, kind = meta.serializer(VALUES), meta.option(KIND) or "VALUE"
        if serializer is None:
            raise Unconvertible("a state without a serializer")
        if self.rule is Rule.ALL:
            if kind != "LIST":
                raise Unconvertible("only the elements of lists stay side by side")
            return lambda groups: [b",".join(group) for group in groups]
        inner = serializer.nested[-1] if kind == "MAP" else serializer
        lives = ttl_inside(inner)
        form = form_of(lives or inner)
        if kind == "LIST" or form.called not in _NUMBERS:
            raise Unconvertible(f"`{self.rule}` is of numbers: name another rule, or a function")
        one = _Numbers(form, Held(kind, lives is not None), _OF_NUMBERS[self.rule])
        return lambda groups: list(map(one.merged, groups))


class _Numbers:
    """Numbers that are single values, or values in maps."""

    def __init__(self, form: Form, held: Held, fold: Callable[[Sequence[Any]], Any]) -> None:
        assert form.write is not None
        self._read, self._write, self._held, self._fold = form.read, form.write, held, fold

    def merged(self, group: Sequence[bytes]) -> bytes:
        """The one number, used last when the last of them was."""
        readers = [ByteReader(data, "a value") for data in group]
        marks = {reader.raw(1, "a mark") for reader in readers} if self._held.kind == "MAP" else {b""}
        if marks - {b"", b"\0"}:
            raise Unconvertible("a key in a map has no value")
        times = [reader.raw(_TIME.size, "a time") for reader in readers if self._held.timed]
        number = self._write(self._fold([self._read(reader) for reader in readers]))
        return b"".join((*marks, max(times, default=b""), number))


class MergeByFunction(Struct, frozen=True):
    """The values of a state of PyFlink's process mode through a function, which is given those of one key."""

    apply: Apply

    def merger(self, meta: StateMeta) -> Merged:
        """The function that merges the values of a state. Raises Unconvertible."""
        serializer, kind = meta.serializer(VALUES), meta.option(KIND)
        if serializer is None or kind not in ("LIST", "MAP"):
            raise Unconvertible("it is no state of PyFlink's process mode")
        held = Held(kind, ttl_inside(serializer.nested[-1]) is not None)

        def merged(groups: Sequence[Sequence[bytes]]) -> list[bytes]:
            items = [Item(None, tuple(array for data in group for array in arrays_of(data, held))) for group in groups]
            return [value_of(item, held) for (item,) in self.apply(items)]

        return merged


Merge = MergeByRule | MergeByFunction
