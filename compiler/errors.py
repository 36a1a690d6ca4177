"""Why a program is refused.

::

    ProgramError                   the program cannot become a job; says at which stage, and where in the program
    └── FlinkError                 Flink itself refuses it; carries the Java exception's class

A stage is one of ``build`` (while the program calls the API), ``streamGraph``, ``hashes`` and ``jobGraph``.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a program: absolute or given path of the file, and the line, from 1.

    ``end`` is where the call ends that stands there, as line from 1 and column from 0, in bytes of UTF-8: what tells
    several calls of one line apart. None where it is not known; two places on one line are the same place.
    """

    file: str
    line: int
    end: tuple[int, int] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class ProgramError(Exception):
    """A program that cannot become a job.

    ``stage`` tells how far it came, ``operator`` names the stream or operator concerned (or None) and
    ``location`` the line of the program (or None).
    """

    kind = "ProgramError"

    def __init__(
        self,
        message: str,
        *,
        stage: str = "build",
        operator: str | None = None,
        location: Location | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.stage = stage
        self.operator = operator
        self.location = location


class FlinkError(ProgramError):
    """A program that Flink refuses. ``kind`` is the Java class of the exception that Flink throws."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        stage: str = "build",
        operator: str | None = None,
        location: Location | None = None,
    ) -> None:
        super().__init__(message, stage=stage, operator=operator, location=location)
        self.kind = kind


def illegal_argument(message: str, **where: object) -> FlinkError:
    """The program passed a value that Flink does not take."""
    return FlinkError("java.lang.IllegalArgumentException", message, **where)  # type: ignore[arg-type]


def illegal_state(message: str, **where: object) -> FlinkError:
    """The program, as a whole, is in a state that Flink does not take."""
    return FlinkError("java.lang.IllegalStateException", message, **where)  # type: ignore[arg-type]


def unsupported(message: str, **where: object) -> FlinkError:
    """The program asks for a combination that Flink does not support."""
    return FlinkError("java.lang.UnsupportedOperationException", message, **where)  # type: ignore[arg-type]
