"""Requests to child processes, and their results; both travel as JSON."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

from compat.compiler.frozen import frozen
from compat.compiler.versions import LATEST_FLINK


@frozen
class Request:
    """One program to load.

    ``path`` is the file to run and ``shown`` what reports call it; ``root`` is a folder whose files are shown as
    ``root_shown`` plus their path in it. ``options`` are those of ``-D``.
    """

    path: str
    shown: str
    root: str = ""
    root_shown: str = ""
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    flink: str = LATEST_FLINK
    call_open: bool = True
    topology: bool = False
    dump_after: float = 0.0

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Request:
        """The request with these fields, as decoded from JSON."""
        return cls(**{**fields, "arguments": tuple(fields["arguments"])})


@frozen
class Frame:
    """A line of the program on the way to where it failed."""

    file: str
    line: int
    function: str
    text: str


@frozen
class Crash:
    """A program that ended in an exception: its type and message, and the program's own frames, outermost first."""

    type: str
    message: str
    frames: tuple[Frame, ...]
    hint: str | None = None


@frozen
class Loaded:
    """A loaded program: the plans of the jobs it submitted, in order, and how it failed, if it did.

    ``steady`` tells that the program holds nothing that could give another job at the next start.
    """

    plans: tuple[dict[str, Any], ...]
    crash: Crash | None = None
    steady: bool = False

    @classmethod
    def from_json(cls, text: str | bytes) -> Loaded:
        """The result that a child process wrote. Raises ValueError for anything else."""
        data = json.loads(text)
        crash = data["crash"]
        if crash is not None:
            frames = tuple(Frame(**frame) for frame in crash.pop("frames"))
            crash = Crash(frames=frames, **crash)
        return cls(plans=tuple(data["plans"]), crash=crash, steady=bool(data["steady"]))
