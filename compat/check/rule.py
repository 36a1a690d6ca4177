"""A rule of the check: one record with its texts and its function that finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from compat.check.findings import Fate, Finding, Level

if TYPE_CHECKING:
    from compat.check.context import Check


class Family(Enum):
    """The subject of a rule: the first digit of its id, and the heading of its family in the catalogue."""

    IDENTITY = "1", "Identity of operators"
    SHAPE = "2", "Shape of the job"
    SCALING = "3", "Parallelism and key groups"
    STATES = "4", "States and their types"
    SNAPSHOTS = "5", "Savepoints and checkpoints"
    SETTINGS = "6", "Settings"
    SQL = "7", "Meaning of SQL"
    CONNECTORS = "8", "Sources and sinks"
    RUNNING = "9", "The check itself"

    def __init__(self, digit: str, title: str) -> None:
        self.digit = digit
        self.title = title


class Rule(Struct, frozen=True, kw_only=True):
    """A rule: its texts in the catalogue, its meaning for the state, and the function that finds.

    ``id`` is permanent. ``level`` is the usual one, ``other_levels`` are the other possible levels of a finding, and
    ``when`` says in which cases. ``fate`` is the fate of the state of the operator that such a finding is about; under
    a mere warning or note the state is restored. ``old`` and ``new`` are the example: the change from one version to
    the next (the same text if nothing has to change). ``only_in_flink`` marks rules that do not apply to jobs on Spark.
    ``failure`` marks rules that leave a check undecided. ``find`` gives the findings of a check; None for a rule that
    is reported when programs are loaded, refused or read.
    """

    id: str
    name: str
    level: Level
    fate: Fate
    summary: str
    why: str
    old: str
    new: str
    fix: str
    other_levels: tuple[Level, ...] = ()
    when: str = ""
    only_in_flink: bool = False
    failure: bool = False
    find: Callable[[Check], Iterator[Finding]] | None = None

    @property
    def family(self) -> Family:
        """The family that the id says. Raises ValueError for an id of none."""
        for family in Family:
            if self.id[3:4] == family.digit:
                return family
        raise ValueError(f"no family of rules has the first digit of {self.id}")

    @property
    def level_text(self) -> str:
        """The level as shown in the catalogue's table."""
        return "failure" if self.failure else self.level.value

    def level_of(self, level: Level | None) -> Level:
        """The level of a finding: the usual one, or the given one. Raises ValueError if the rule does not have it."""
        if level is None or level is self.level:
            return self.level
        if level not in self.other_levels:
            raise ValueError(f"{self.id} has no findings of level {level.value}")
        return level
