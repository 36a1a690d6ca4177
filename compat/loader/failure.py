"""Why there is no plan: what went wrong, and with which program."""

from __future__ import annotations

from enum import Enum, StrEnum

from msgspec import Struct

from compat.state.model.source_line import SourceLine

SAID = "It said:"
"""The line of a traceback behind which is what the program said."""
CLASSPATH = '--classpath "$JAR"'
"""The option that gives a job a jar that it lacks, as it is typed in a shell."""
CONNECTOR = "--connector {0}"
"""The option that has a connector, or another part of a job's surroundings, fetched by its name."""
FETCHED = (
    f"Write {CONNECTOR}, which fetches it by its Maven coordinates, or put its jar on the class path: --classpath JAR."
)
"""What to do where that is missing."""
RUNTIME_PROPERTIES = '--runtime-properties "$FILE"'
"""The option that gives a job the properties of AWS's service, likewise."""


class Undecidable(StrEnum):
    """The rules that tell why nothing was compared, by their ids."""

    SAVEPOINT_UNREADABLE = "CMP501"
    PROGRAM_FAILED = "CMP901"
    PROGRAM_TIMEOUT = "CMP902"
    NO_JOB = "CMP903"
    INTERNAL_ERROR = "CMP906"
    NOT_CHECKED = "CMP908"
    REMOVED_JOB = "CMP909"


class Side(Enum):
    """Which of the two programs a failure concerns."""

    OLD = "old"
    NEW = "new"


class Failure(Struct, frozen=True, kw_only=True):
    """Why a program or snapshot gave no facts to check.

    ``rule`` tells the kind of failure, ``name`` what the user calls the program. ``side`` is None where
    one program alone was looked at. ``traceback`` is the program's own, cut to its own frames; ``hint`` what to do.
    ``option`` is what has to be added to the command for that, as it is typed in a shell, ``command`` one to run first;
    ``flink`` is a version of Flink that has what the program lacked.
    """

    rule: Undecidable
    message: str
    name: str
    side: Side | None = None
    source: SourceLine | None = None
    traceback: str | None = None
    hint: str | None = None
    option: str | None = None
    command: str | None = None
    flink: str | None = None
