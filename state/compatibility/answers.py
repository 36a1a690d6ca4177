"""The answers on whether a type reads another one, and how those on its parts combine into one."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from msgspec import Struct


class Answer(Enum):
    """Can the new type read what the old one wrote? Flink: ``TypeSerializerSchemaCompatibility.Type``."""

    AS_IS = "as is"
    RECONFIGURED = "with a reconfigured serializer"
    AFTER_MIGRATION = "after migration"
    INCOMPATIBLE = "incompatible"

    @property
    def rank(self) -> int:
        """The order of answers: larger is worse."""
        return _ORDER.index(self)


_ORDER = list(Answer)


class Compatibility(Struct, frozen=True):
    """An answer, and its reasons: one short text for each part of the type that has changed."""

    answer: Answer
    changes: tuple[str, ...] = ()

    @property
    def readable(self) -> bool:
        """True unless the old bytes are lost to the new type."""
        return self.answer is not Answer.INCOMPATIBLE

    def within(self, where: str) -> Compatibility:
        """The same compatibility, for a part of a larger type."""
        return Compatibility(self.answer, tuple(f"{where}: {change}" for change in self.changes))


SAME = Compatibility(Answer.AS_IS)


def worst(parts: Iterable[Compatibility]) -> Compatibility:
    """The answer for a whole: the worst of its parts', with all their reasons."""
    answer, changes = Answer.AS_IS, list[str]()
    for part in parts:
        answer = max(answer, part.answer, key=lambda each: each.rank)
        changes += part.changes
    return Compatibility(answer, tuple(changes))


def incompatible(*changes: str) -> Compatibility:
    """The answer that the new type cannot read the old one."""
    return Compatibility(Answer.INCOMPATIBLE, changes)
