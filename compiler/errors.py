"""Why a program is refused.

::

    Exception
    └── ProgramError               the program cannot become a job; says at which stage, and where in the program
        └── FlinkError             Flink itself refuses it; carries the Java exception's class

Each carries an :class:`ErrorCode` for code to read: messages are Flink's own, for people, and not an interface.
A stage is one of ``build`` (while the program calls the API), ``streamGraph``, ``hashes``, ``jobGraph`` and
``executionGraph`` (when the cluster starts the job).

Layers below and above a program have their own errors: ``StoreError`` and ``SavepointError`` in ``compat.state``,
``RestoreRefused`` and ``JobFailed`` in ``compat.compiler.spark``, ``InputError`` in ``compat.loader``.
"""

from __future__ import annotations

from enum import Enum
from typing import TypedDict, Unpack

from msgspec import Struct


class Location(Struct, frozen=True):
    """A place in a program: absolute or given path of the file, and the line, from 1.

    ``end`` is the end of the call at that place, as a line from 1 and a column from 0 in bytes of UTF-8; it distinguishes
    several calls in one line. It is None if unknown, and does not count in comparisons: two places on one line are equal.
    """

    file: str
    line: int
    end: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and (self.file, self.line) == (other.file, other.line)

    def __hash__(self) -> int:
        return hash((self.file, self.line))


class ErrorCode(Enum):
    """The kinds of error in a program; plans give the value in ``error.code``.

    The first four tell the kind of error, the others name one condition each, which the check knows a rule for.
    """

    UNUSABLE = "unusable"
    ILLEGAL_ARGUMENT = "illegal-argument"
    ILLEGAL_STATE = "illegal-state"
    UNSUPPORTED = "unsupported"
    DUPLICATE_UID = "duplicate-uid"
    MALFORMED_UID_HASH = "malformed-uid-hash"
    FORWARD_CHANGES_PARALLELISM = "forward-changes-parallelism"
    CHECKPOINTED_ITERATION = "checkpointed-iteration"
    PARALLELISM_ABOVE_MAX = "parallelism-above-max"


class Where(TypedDict, total=False):
    """The details that an error may give besides its message; see :class:`ProgramError`."""

    code: ErrorCode
    value: str | None
    stage: str
    operator: str | None
    location: Location | None


class ProgramError(Exception):
    """A program that cannot become a job.

    ``code`` is the kind of the error, ``value`` the wrong text that the program gave, if there is one, and ``stage`` the stage
    where it failed. ``operator`` names the stream or operator, ``location`` the line of the program, or None.
    """

    kind = "ProgramError"

    def __init__(
        self,
        message: str,
        *,
        code: ErrorCode = ErrorCode.UNUSABLE,
        value: str | None = None,
        stage: str = "build",
        operator: str | None = None,
        location: Location | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.value = value
        self.stage = stage
        self.operator = operator
        self.location = location


class NeedsPyFlink(ProgramError):
    """A program that asks for a part of PyFlink that only PyFlink itself has, such as the Table API."""


class FlinkError(ProgramError):
    """A program that Flink refuses. ``kind`` is the Java class of the exception that Flink throws."""

    def __init__(self, kind: str, message: str, **where: Unpack[Where]) -> None:
        super().__init__(message, **where)
        self.kind = kind


def illegal_argument(message: str, **where: Unpack[Where]) -> FlinkError:
    """The program passed a value that Flink does not take."""
    where.setdefault("code", ErrorCode.ILLEGAL_ARGUMENT)
    return FlinkError("java.lang.IllegalArgumentException", message, **where)


def illegal_state(message: str, **where: Unpack[Where]) -> FlinkError:
    """The program, as a whole, is in a state that Flink does not take."""
    where.setdefault("code", ErrorCode.ILLEGAL_STATE)
    return FlinkError("java.lang.IllegalStateException", message, **where)


def job_exception(message: str, **where: Unpack[Where]) -> FlinkError:
    """The cluster takes the job and cannot start it."""
    return FlinkError("org.apache.flink.runtime.JobException", message, **where)


def unsupported(message: str, **where: Unpack[Where]) -> FlinkError:
    """The program asks for a combination that Flink does not support."""
    where.setdefault("code", ErrorCode.UNSUPPORTED)
    return FlinkError("java.lang.UnsupportedOperationException", message, **where)


def malformed_uid_hash(text: str, **where: Unpack[Where]) -> FlinkError:
    """The program set a uid hash that is no operator id."""
    message = f"Node hash must be a 32 character String that describes a hex code. Found: {text}"
    where |= {"code": ErrorCode.MALFORMED_UID_HASH, "value": text}
    return illegal_argument(message, **where)
