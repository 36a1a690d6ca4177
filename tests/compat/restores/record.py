"""Record what PyFlink does with random versions of jobs: ``python -m tests.compat.restores.record PYTHON FIRST COUNT [OLD]``.

PYTHON is an interpreter that has PyFlink, and OLD one that has another version of it, which writes the savepoints. What came
of each seed is added to the records of that version of Flink; those that are there are not run again. Where OLD gave no
savepoint, or NEW no answer, nothing is written down.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from tests import needs
from tests.compat.restores.judging import GOLDEN, Record, minor, records
from tests.compat.restores.texts import OUTPUTS
from tests.compat.restores.versions import versions
from tests.needs import Need

SCRIPT = Path(__file__).with_name("restore.py")
ANSWERS = ("restored", "failed")
_OF_THE_MACHINE = (
    "File name too long",
    "No space left",
    "OutOfMemoryError",
    "MiniCluster is not yet running",
    "Can't pickle <class '__main__.",
)
"""Failures that say nothing of the versions: RocksDB's log, for one, is named by the whole path that its files are under,
and threads do not find the classes of a program that another one runs."""


def main(python: str, first: int, count: int, old: str | None = None) -> None:
    """Record the seeds that are not recorded."""
    flink = version_of(python)
    written = flink if old is None else f"{version_of(old)}-to-{flink}"
    path = GOLDEN / f"{written}.jsonl.gz"
    known = {record.seed: record for record in records(written)} if path.exists() else {}
    for record in restored(python, flink, (seed for seed in range(first, first + count) if seed not in known), old):
        print(record.name, record.outcome, record.when, *record.lost, *record.errors[-1:], file=sys.stderr, flush=True)
        of_the_machine = any(each in error for error in record.errors for each in _OF_THE_MACHINE)
        if record.outcome in ANSWERS and (record.seen or record.outcome == "failed") and not of_the_machine:
            known[record.seed] = record
            keep(path, known)


def keep(path: Path, known: Mapping[int, msgspec.Struct]) -> None:
    """Write down records, in the order of their seeds."""
    lines = [msgspec.json.encode(known[seed]) for seed in sorted(known)]
    written = path.with_suffix(".part")
    written.write_bytes(gzip.compress(b"\n".join(lines) + b"\n", mtime=0))
    written.replace(path)  # who reads meanwhile has the records before


def version_of(python: str) -> str:
    """The version of an interpreter's PyFlink. Raises CalledProcessError where it has none."""
    code = "import importlib.metadata as m; print(m.version('apache-flink'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def tonight() -> tuple[str, str, range]:
    """What a nightly test restores in: an interpreter with PyFlink, its version, and the seeds. Skips without it."""
    python = os.environ.get("COMPAT_PYFLINK", "python")
    try:
        flink = version_of(python)
    except (OSError, subprocess.CalledProcessError):
        needs.without(Need.PYFLINK, python)
    first = int(os.environ.get("COMPAT_SEED", time.time() // 86400 * 1000 % 900_000 + 2000))
    return python, flink, range(first, first + int(os.environ.get("COMPAT_PROGRAMS", "12")))


def restored(python: str, flink: str, seeds: Iterable[int], old: str | None = None) -> Iterator[Record]:
    """What PyFlink does with the versions of each seed, the first of which runs in the PyFlink of ``old``, if there is one."""
    with Served(python) as new, Served(old or python) as former, tempfile.TemporaryDirectory() as folder:
        old_flink = version_of(old) if old else None
        for seed in seeds:
            made = versions(seed, minor(flink), minor(old_flink) if old_flink else None)
            pair: dict[str, Any] = {"old": made.old.program(), "new": made.new.program(), "format": made.format}
            pair["told"] = [label for label in made.old.labels if label in made.new.labels]
            pair["inputs"] = made.old.inputs | made.new.inputs
            asked = pair | {"outputs": OUTPUTS, "folder": folder}
            if old_flink:
                left = former.asked(asked | {"new": None})
                did = (
                    new.asked(asked | {"left": left}) if left.pop("outcome") == "left" else {"outcome": "no savepoint"}
                )
            else:
                did = new.asked(asked)
            given = {"seed": seed, "flink": flink, "old_flink": old_flink, "edits": made.edits, **pair, **did}
            yield msgspec.convert(given, Record)


class Served:
    """The script in an interpreter that has PyFlink, which is started when it is asked."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._process: subprocess.Popen[str] | None = None

    def asked(self, pair: Mapping[str, Any]) -> dict[str, Any]:
        """What became of a pair."""
        if self._process is None:
            command = [self._python, str(SCRIPT)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(pair)}\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            with self._process:  # it ends with its input
                pass


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
