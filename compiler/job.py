"""The job that a program hands over when it calls ``execute``, before any graph is made."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from compat.compiler.configuration import JobSettings
from compat.compiler.errors import Location
from compat.compiler.transformations.pipeline import Pipeline


class Job(Struct, frozen=True):
    """A submitted job: its transformations (a copy, so that the program may go on building) and its settings.

    ``name`` is None if the program gave none. ``attached`` is False for ``execute_async``. ``collect`` is the id of the
    sink whose records the program wants back (``execute_and_collect``). ``location`` is the line that submitted the job.
    For a planned job, ``built`` are the transformations as the program built them, before PyFlink's passes over them.
    ``on_spark`` says that the program is written for Spark; otherwise ``beyond`` are the names that it has used so far and
    PyFlink lacks, each with the line of its first use.
    """

    name: str | None
    pipeline: Pipeline
    settings: JobSettings
    attached: bool = True
    collect: int | None = None
    location: Location | None = None
    on_spark: bool = False
    beyond: tuple[tuple[str, Location | None], ...] = ()
    built: Pipeline | None = None


class Executor(Protocol):
    """Takes the jobs that a program submits. Planning records them; Spark runs them."""

    def submit(self, job: Job) -> object:
        """Take a job; gives a client of it."""
        ...
