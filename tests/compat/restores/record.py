"""Record what PyFlink does with random versions of jobs: ``python -m tests.compat.restores.record PYTHON FIRST COUNT``.

PYTHON is an interpreter that has PyFlink. What came of each seed is added to the records of that version of Flink; those
that are there are not run again. Where OLD gave no savepoint, or NEW no answer, nothing is written down.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tests.compat.restores.judging import GOLDEN, Record, records
from tests.compat.restores.versions import versions

SCRIPT = Path(__file__).with_name("restore.py")
ANSWERS = ("restored", "failed")


def main(python: str, first: int, count: int) -> None:
    """Record the seeds that are not recorded."""
    flink = version_of(python)
    path = GOLDEN / f"{flink}.jsonl.gz"
    known = {record.seed: record for record in records(flink)} if path.exists() else {}
    for record in restored(python, flink, (seed for seed in range(first, first + count) if seed not in known)):
        print(record.name, record.outcome, record.when, *record.lost, *record.errors[-1:], file=sys.stderr, flush=True)
        if record.outcome in ANSWERS and (record.seen or record.outcome == "failed"):
            known[record.seed] = record
            lines = [msgspec.json.encode(known[seed]) for seed in sorted(known)]
            path.write_bytes(gzip.compress(b"\n".join(lines) + b"\n", mtime=0))


def version_of(python: str) -> str:
    """The version of an interpreter's PyFlink. Raises CalledProcessError where it has none."""
    code = "import importlib.metadata as m; print(m.version('apache-flink'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def restored(python: str, flink: str, seeds: Iterable[int]) -> Iterator[Record]:
    """What PyFlink does with the versions of each seed."""
    with subprocess.Popen([python, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for seed in seeds:
            made = versions(seed)
            told = [label for label in made.old.labels if label in made.new.labels]
            pair = {"old": made.old.program(), "new": made.new.program(), "told": told, "format": made.format}
            process.stdin.write(json.dumps(pair) + "\n")
            process.stdin.flush()
            did = json.loads(process.stdout.readline())
            given = {"seed": seed, "flink": flink, "edits": made.edits, **pair, **did}
            yield msgspec.convert(given, Record)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
