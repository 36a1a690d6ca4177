"""Requests to child processes, and their results; both travel as JSON."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cache

import msgspec
from msgspec import field

from compat.compiler.gc_policy import collection_paused
from compat.compiler.versions import LATEST_FLINK
from compat.loader.former import Use
from compat.plan.writing import encoded
from compat.state.model.fields import Record
from compat.state.model.job import Plan, Refused

BEGUN = b" "
"""What a child process writes before it runs a program: without it, the fault is ours."""


class Request(Record, frozen=True, kw_only=True):
    """One program to load.

    ``path`` is the file to run and ``shown`` its name in reports; ``root`` is a folder whose files are shown as ``root_shown``
    plus their path in it. ``options`` are those of ``-D``.

    For a program of a revision, ``root`` is its project as it was then, ``folder`` the former working directory, and
    ``taken_from`` the project as it is now. ``pyfiles`` are modules, folders and archives that it imports from,
    ``environment`` variables that it gets; with ``strict_imports`` a module that is not installed is a failure.
    ``watched`` is the root of a project for which the program's file accesses are recorded. ``runtime_properties`` replaces the
    file that AWS's Managed Service for Apache Flink gives. At ``dump_at`` of the monotonic clock, which all processes of a
    machine share, the program prints its stack.
    """

    path: str
    shown: str
    root: str = ""
    root_shown: str = ""
    folder: str = ""
    taken_from: str = ""
    pyfiles: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    strict_imports: bool = False
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    flink: str = LATEST_FLINK
    call_open: bool = True
    topology: bool = False
    watched: str = ""
    runtime_properties: str = ""
    dump_at: float = 0.0


class Loads(Record, frozen=True, kw_only=True):
    """What a program looked at of its project while it was built, by paths from the project's root.

    ``files`` are the files that it imported or read, or tried to; ``names`` are the names of the modules that it asked for,
    part by part; ``folders`` are the folders that it listed.
    """

    files: tuple[str, ...]
    names: tuple[str, ...]
    folders: tuple[str, ...]


class Frame(Record, frozen=True, kw_only=True):
    """A line of the program on the way to where it failed."""

    file: str
    line: int
    function: str
    text: str


class Lacking(StrEnum):
    """What a program may not have been given."""

    ARGUMENTS = "arguments"
    PERHAPS_ARGUMENTS = "perhaps arguments"
    VARIABLE = "variable"
    INPUT = "input"
    FILE = "file"
    MODULE = "module"
    FLINK = "flink"


class Lack(Record, frozen=True, kw_only=True):
    """What a program was not given, by its name, and the places that were looked at (of a file: where it is).

    Of its Flink the name is the version that it was given. ``others`` are variables that it needs as
    well, or a sample of the file.
    """

    what: Lacking
    name: str = ""
    places: str = ""
    others: tuple[str, ...] = ()


class Crash(Record, frozen=True, kw_only=True):
    """A program that ended in an exception: its type and message, and the program's own frames, outermost first.

    ``fault`` marks a fault of compat, with compat's own frames. ``said`` is the end of the program's output. ``flink`` is a
    version of Flink that has what the program lacked.
    """

    type: str
    message: str
    frames: tuple[Frame, ...]
    hint: str | None = None
    lacks: Lack | None = None
    flink: str | None = None
    fault: bool = False
    said: str = ""


MOST_TOLD = 10_000
"""Characters of what an exception says that are told on."""

END = b"\n"
"""The end of a result, which is one line: a process that the program left behind may keep the pipe open."""


def clipped(text: str, most: int = MOST_TOLD) -> str:
    """``text``, or its beginning and how much more there is."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters more)"


class _Job(Record, frozen=True, kw_only=True):
    """A job on its way through the pipe."""

    plan: Plan | None = None
    refused: Refused | None = None


class _Result(Record, frozen=True, kw_only=True):
    """A :class:`Loaded` on its way through the pipe."""

    jobs: tuple[_Job, ...]
    crash: Crash | None = None
    steady: bool = False
    needs_pyflink: Crash | None = None
    absent: tuple[str, ...] = ()
    loads: Loads | None = None
    former: tuple[Use, ...] = ()
    endless: str = ""


@cache
def decoder() -> msgspec.json.Decoder[_Result]:
    """The decoder of results. It takes some milliseconds to make: best done while the programs run."""
    return msgspec.json.Decoder(_Result)


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded program: the plans of the jobs it submitted, in order, and how it failed, if it did.

    ``steady`` says that nothing in the program can give another job at the next start. ``needs_pyflink`` are the names that it
    used and that only PyFlink itself has, such as the Table API, with their lines. ``former`` are its uses of names that
    PyFlink no longer has. ``absent`` are modules that are not installed and were replaced by stand-ins. ``loads`` are its file
    accesses, if they were watched. ``said`` is the end of the output of a program without a job, ``endless`` the line on which
    it waited behind its jobs when it was ended.
    """

    plans: tuple[Plan | Refused, ...]
    crash: Crash | None = None
    steady: bool = False
    needs_pyflink: Crash | None = None
    absent: tuple[str, ...] = ()
    loads: Loads | None = None
    said: str = ""
    former: tuple[Use, ...] = ()
    endless: str = ""

    def to_json(self) -> bytes:
        """The result as a child process writes it."""
        jobs = tuple(_Job(plan=plan) if isinstance(plan, Plan) else _Job(refused=plan) for plan in self.plans)
        return encoded(
            _Result(
                jobs=jobs,
                crash=self.crash,
                steady=self.steady,
                needs_pyflink=self.needs_pyflink,
                absent=self.absent,
                loads=self.loads,
                former=self.former,
                endless=self.endless,
            )
        )

    @classmethod
    @collection_paused()
    def from_json(cls, text: bytes) -> Loaded:
        """The result that a child process wrote. Raises ValueError for anything else."""
        try:
            result = decoder().decode(text)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:  # as for half of a surrogate pair in a text
            result = _converted(text)
        except RecursionError:
            raise ValueError("It is nested too deeply.") from None
        plans = tuple(plan for job in result.jobs if (plan := job.plan or job.refused) is not None)
        return cls(
            plans=plans,
            crash=result.crash,
            steady=result.steady,
            needs_pyflink=result.needs_pyflink,
            absent=result.absent,
            loads=result.loads,
            former=result.former,
            endless=result.endless,
        )


def _converted(text: bytes) -> _Result:
    try:
        return msgspec.convert(json.loads(text), _Result)
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None


def requests_to_json(requests: list[Request]) -> bytes:
    """The requests as the parent writes them."""
    return encoded(requests)


def requests_from_json(text: bytes) -> list[Request]:
    """The requests as the child reads them. Raises ValueError for anything else."""
    try:
        return msgspec.json.decode(text, type=list[Request])
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(text), list[Request])
