"""The reason why there is no plan: what went wrong, and in which program."""

from __future__ import annotations

from enum import Enum, StrEnum

from msgspec import Struct

from compat.state.model.source_line import SourceLine

SAID = "It said:"
"""The line of a traceback that precedes the program's output."""
CLASSPATH = '--classpath "$JAR"'
"""The option that adds a missing jar to a job, as typed in a shell."""
CONNECTOR = "--connector {0}"
"""The option that downloads a connector, or another missing part, by its name."""
FETCHED = f"Write {CONNECTOR}, which downloads it from Maven, or put its jar on the class path: --classpath JAR."
"""The advice for a missing connector."""
RUNTIME_PROPERTIES = '--runtime-properties "$FILE"'
"""The option that gives a job the properties of AWS's service, as typed in a shell."""


class Undecidable(StrEnum):
    """The ids of the rules for checks without a comparison."""

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

    ``rule`` is the kind of failure, ``name`` the user's name for the program. ``side`` is None if only one program was
    loaded. ``traceback`` is the program's own, cut to its own frames; ``hint`` what to do. ``option`` is the option to
    add to the command, as typed in a shell, ``command`` a command to run first; ``flink`` is a version of Flink that
    has what the program lacked.
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
