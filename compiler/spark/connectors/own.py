"""The sources and sinks of a program's own: they need have no base class of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compat.compiler.spark.runtime_api.splits import Split, SplitEnumerator


def as_enumerator(given: Any) -> SplitEnumerator:
    """The enumerator that a source's ``create_enumerator`` made, with defaults for the methods that it lacks."""
    return given if isinstance(given, SplitEnumerator) else _OwnEnumerator(given)


class _OwnEnumerator(SplitEnumerator):
    """An enumerator that has ``discover`` and ``complete``, and any of the other methods."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.concurrent = bool(getattr(given, "concurrent", False))

    @property
    def complete(self) -> bool:  # type: ignore[override]
        return bool(self._given.complete)

    def discover(self, known: set[str]) -> list[Split]:
        return self._given.discover(known)  # type: ignore[no-any-return]

    def ready(self, split: Split) -> bool:
        ready = self._method("ready")
        return super().ready(split) if ready is None else bool(ready(split))

    def fill(self, split: Split, limit: int) -> Split:
        fill = self._method("fill")
        return super().fill(split, limit) if fill is None else fill(split, limit)

    def owner(self, split: Split, parallelism: int) -> int | None:
        owner = self._method("owner")
        return super().owner(split, parallelism) if owner is None else int(owner(split, parallelism))

    def notify_checkpoint_complete(self, splits: Sequence[Split]) -> None:
        notify = self._method("notify_checkpoint_complete")
        if notify is not None:
            notify(splits)

    def _method(self, name: str) -> Callable[..., Any] | None:
        return getattr(self._given, name, None)
