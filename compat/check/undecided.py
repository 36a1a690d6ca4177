"""A check that could not be made."""

from __future__ import annotations

from msgspec import Struct

from compat.check.findings import Direction, Verdict
from compat.loader.failure import Failure


class Undecided(Struct, frozen=True, kw_only=True):
    """The outcome of a check that failed before there was anything to compare. ``failures`` holds at least one."""

    failures: tuple[Failure, ...]
    old: str | None = None
    new: str | None = None
    verdict: Verdict = Verdict.UNKNOWN
    direction: Direction = "forward"

    def __post_init__(self) -> None:
        if not self.failures:
            raise ValueError("an undecided check needs a failure that says why")
