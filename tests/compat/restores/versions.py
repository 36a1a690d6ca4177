"""Random jobs, and versions of them with one to three differences, as people make them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.compat.restores.drawing import job, windows_in_threads
from tests.compat.restores.edits import EDITS
from tests.compat.restores.jobs import Job

WINDOWS_IN_THREADS = range(1000, 2000)
"""Seeds of jobs for a closer look at windows in thread mode."""


@dataclass(frozen=True)
class Versions:
    """Two versions of a job, the names of the differences, and the format of the savepoint (Flink: ``SavepointFormatType``)."""

    old: Job
    new: Job
    edits: tuple[str, ...]
    format: str = "CANONICAL"


def versions(seed: int) -> Versions:
    """Those of a seed; one of ``WINDOWS_IN_THREADS`` gives a job in thread mode that is nothing but a window."""
    random = Random(seed)
    if seed not in WINDOWS_IN_THREADS:
        old, edits, wanted = job(random), sorted(EDITS), random.choice((1, 1, 1, 2, 2, 3))
    else:
        old, edits, wanted = windows_in_threads(random), [name for name in EDITS if "window" in name], 1
    new, done = old, list[str]()
    while len(done) < wanted:
        name = random.choice(edits)
        edited = EDITS[name](random, new)
        if edited is not None and edited.program() != new.program():
            new, done = edited, [*done, name]
    return Versions(old, new, tuple(done), random.choice(("CANONICAL", "CANONICAL", "CANONICAL", "NATIVE")))
