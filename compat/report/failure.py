"""A check that could not be made: what went wrong, and on which side."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from compat.check.findings import Direction, Verdict
from compat.compiler.frozen import frozen
from compat.plan.facts import SourceLine


class Side(Enum):
    """Which of the two programs a failure concerns."""

    OLD = "old"
    NEW = "new"


@frozen
class Failure:
    """Why a program or snapshot gave no facts to check.

    ``rule`` is its id in the catalogue (``CMP901`` …), ``name`` what the user calls the program. ``side`` is None where
    one program alone was looked at. ``traceback`` is the program's own, cut to its own frames; ``hint`` what to do.
    """

    rule: str
    message: str
    name: str
    side: Side | None = None
    source: SourceLine | None = None
    traceback: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """The outcome of a check that failed before there was anything to compare. ``failures`` holds at least one."""

    failures: tuple[Failure, ...]
    old: str | None = None
    new: str | None = None
    verdict: Verdict = Verdict.UNKNOWN
    direction: Direction = "forward"

    def __post_init__(self) -> None:
        if not self.failures:
            raise ValueError("an undecided check needs a failure that says why")
