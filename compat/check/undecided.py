"""A check that could not be made, or did not have to be."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from compat.check.findings import Direction, Verdict
from compat.loader.failure import Failure


class Unchecked(StrEnum):
    """The reasons why nothing had to be compared; the value is the word in summaries."""

    NEW = "new"
    NO_JOB = "no job"
    LEFT_OUT = "left out by name"
    NOT_CONCERNED = "not concerned"
    NOT_NAMED = "not named"


class Undecided(Struct, frozen=True, kw_only=True):
    """The outcome of a check in which nothing was compared. ``failures`` holds at least one, which says why.

    ``unchecked`` is set if nothing had to be compared: such an outcome does not fail a check.
    """

    failures: tuple[Failure, ...]
    old: str | None = None
    new: str | None = None
    verdict: Verdict = Verdict.UNKNOWN
    direction: Direction = "forward"
    unchecked: Unchecked | None = None

    def __post_init__(self) -> None:
        if not self.failures:
            raise ValueError("an undecided check needs a failure that says why")
