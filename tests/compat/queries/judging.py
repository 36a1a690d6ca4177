"""Recorded restores of random queries, and what the check says of each."""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from compat.check.findings import Report
from compat.check.undecided import Undecided
from tests.compat.queries.drawing import versions
from tests.compat.verdicts import built, verdict

GOLDEN = Path(__file__).parents[2] / "golden" / "random_queries"
ANSWERS = {"restored", "other rows", "failed"}
"""The outcomes that say what becomes of state."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What Flink did with the versions of a seed. ``strange`` are rows behind the savepoint that a whole run does not give."""

    seed: int
    flink: str
    family: str
    old: str
    new: str
    edits: tuple[str, ...]
    outcome: str
    error: str = ""
    rows: int = 0
    strange: tuple[str, ...] = ()

    @property
    def restored(self) -> bool:
        """Whether what came behind the savepoint is what the new query gives."""
        return self.outcome == "restored"


def records(flink: str) -> list[Record]:
    """What is recorded of a version of Flink."""
    with gzip.open(GOLDEN / f"{flink}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [msgspec.json.decode(line, type=Record) for line in lines]


def restored(python: str, flink: str, seeds: Iterable[int]) -> Iterator[Record]:
    """What Flink does with the versions of each seed, in the interpreter of a PyFlink."""
    script = Path(__file__).parent / "restore.py"
    made = {seed: versions(seed) for seed in seeds}
    pairs = "".join(json.dumps({"old": one.old, "new": one.new}) + "\n" for one in made.values())
    with tempfile.TemporaryFile("w+") as asked:
        asked.write(pairs)
        asked.seek(0)
        process = subprocess.Popen([python, str(script)], stdin=asked, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        for (seed, one), line in zip(made.items(), process.stdout, strict=False):
            yield msgspec.convert(
                {"seed": seed, "flink": flink, **msgspec.to_builtins(one), **json.loads(line)}, Record
            )


def judged(given: Iterable[Record], flink: Any, java: Any) -> Iterator[tuple[Record, Report | Undecided]]:
    """The records that say what becomes of state, and what the check says of them."""
    from compat.loader.jvm.messages import SqlScript

    told = [one for one in given if one.outcome in ANSWERS]
    asked = [(SqlScript(path="old.sql", text=one.old), SqlScript(path="new.sql", text=one.new)) for one in told]
    for number, pair in built(asked, flink, java):
        yield told[number], verdict(pair, "programs", Path(), "hashmap")
