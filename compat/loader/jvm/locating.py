"""Finds the first value that does not survive, by restoring ever smaller parts of the key groups with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from compat.loader.jvm.harness import OperatorFailed
from compat.state.flink.contents import Entry, Group, group_of

T = TypeVar("T")
Attempt = Callable[[Sequence[Group]], object]
"""Restores key groups. Raises OperatorFailed."""


class Located(Struct, frozen=True):
    """The first key group whose restore fails, the failure, and the entry in it, if key groups can be split."""

    failure: OperatorFailed
    group: Group
    entry: Entry | None


def locate(groups: Sequence[Group], attempt: Attempt) -> Located | None:
    """The first failure in key groups that fail together; None if no key group fails on its own."""
    group = _first(groups, lambda part: _fails(attempt, part))
    failure = _fails(attempt, [group])
    if failure is None:
        return None
    entries = group.entries()
    if entries is None:
        return Located(failure, group, None)
    entry = _first(entries, lambda part: _fails(attempt, [group_of(group.number, part)]))
    alone = _fails(attempt, [group_of(group.number, [entry])])
    return Located(failure, group, None) if alone is None else Located(alone, group, entry)


def _first(parts: Sequence[T], fails: Callable[[Sequence[T]], object]) -> T:
    """The first part that fails on its own, if one does: each half is tried in turn."""
    while len(parts) > 1:
        half = parts[: len(parts) // 2]
        parts = half if fails(half) is not None else parts[len(parts) // 2 :]
    return parts[0]


def _fails(attempt: Attempt, groups: Sequence[Group]) -> OperatorFailed | None:
    try:
        attempt(groups)
    except OperatorFailed as error:
        return error
    return None
