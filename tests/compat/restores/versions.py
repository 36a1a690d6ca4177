"""Random jobs, and versions of them with one to three differences, as people make them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from tests.compat.restores.drawing import job, windows_in_threads
from tests.compat.restores.edits import EDITS
from tests.compat.restores.jobs import Job

WINDOWS_IN_THREADS = range(1000, 2000)
"""Seeds of jobs for a closer look at windows in thread mode."""

OF_FILES = range(900_000, 1_000_000)
"""Seeds of jobs that read and write files, most of whose differences concern that."""
_OF_FILES = [
    "source of files",
    "files looked for",
    "files looked for",
    "files of a source",
    "format of files",
    "source renamed",
    "behind a source",
    "uid of any source",
    "sources in another order",
    "ending source added",
    "ending source edited",
    "sink of files",
    "compaction",
    "files written",
    "sink replaced",
    "uid of a sink of files",
    "source rescaled",
    "parallelism",
    "step inserted",
    "nothing",
]
OF_STATE = range(600_000, 700_000)
"""Seeds of pairs with one difference in what states are and hold."""
_OF_STATE = [
    *(name for name in EDITS if name.startswith(("state ", "window", "keyed state", "operator replaced"))),
    "state retyped nearly",
    "state retyped nearly",
    "timers that come",
    "elements of a window",
    "inputs of a union exchanged",
    "united again",
    "key",
]


class Versions(Struct, frozen=True):
    """Two versions of a job, the names of the differences, and the format of the savepoint (Flink: ``SavepointFormatType``)."""

    old: Job
    new: Job
    edits: tuple[str, ...]
    format: str = "CANONICAL"


def versions(seed: int, flink: str = "2.3", old_flink: str | None = None) -> Versions:
    """Those of a seed, for a minor version of Flink; one of ``WINDOWS_IN_THREADS`` gives a job in thread mode that is nothing
    but a window. With ``old_flink`` the old version runs in that one."""
    random = Random(seed)
    if old_flink is not None:
        old, wanted = job(random, old_flink, files=0.5), random.choice((0, 0, 1, 1, 1, 2))
        kinds = (replace(each, kind="monitored") if each.kind == "text" else each for each in old.sources)
        old = replace(old, sources=tuple(kinds), flink=flink)  # what is gone in the new version, both do without
        return _edited(random, old, sorted({*EDITS, *_OF_FILES}), wanted)
    edits: Sequence[str]
    if seed in OF_STATE:
        old, edits, wanted = replace(job(random, flink), settings=()), _OF_STATE, 1
    elif seed in OF_FILES:
        old, wanted = job(random, flink, files=0.8), random.choice((1, 1, 2))
        edits = _OF_FILES if random.random() < 0.8 else sorted(EDITS)
    elif seed not in WINDOWS_IN_THREADS:
        old, edits, wanted = job(random, flink), sorted(EDITS), random.choice((1, 1, 1, 2, 2, 3))
    else:
        old, edits, wanted = windows_in_threads(random), [name for name in EDITS if "window" in name], 1
    return _edited(random, old, edits, wanted)


def _edited(random: Random, old: Job, edits: Sequence[str], wanted: int) -> Versions:
    new, done = old, list[str]()
    while len(done) < wanted:
        name = random.choice(edits)
        edited = EDITS[name](random, new)
        if edited is not None and edited.program() != new.program():
            new, done = edited, [*done, name]
    format = random.choice(("CANONICAL", "CANONICAL", "CANONICAL", "NATIVE"))
    return Versions(old, new, tuple(done), "NATIVE" if ("state.backend.type", "forst") in old.settings else format)
