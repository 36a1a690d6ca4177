"""Time and memory of `compat migrate`: state of some size, and of ten times as much, through each kind of step.

    python tests/benchmarks/bench_migrate.py                      # 30 MB and 300 MB
    python tests/benchmarks/bench_migrate.py --megabytes 1000 --padding 10000 rename
    python tests/benchmarks/bench_migrate.py --limit 2000 --megabytes 1000 --padding 10000 rename   # 10 GB through 2 GB

The state is that of a recorded savepoint, with more keys; padding makes each value longer where nobody looks at it. Prints
MB and entries a second, and the peak of the memory of all that ran, in MB; ratios of the larger to the smaller: of memory 1, of
time for the same amount 1, where it is streamed. `--limit` is the address space that a process may have, in MB.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[2]))

from compat.state.flink import Changes, HeaderReader, read_draft, read_metadata, with_references
from compat.state.flink.contents import Entry
from compat.state.flink.header_parts import TypeNames
from compat.state.flink.keyed_transfer import Taken, keyed_source, write_keyed_state
from compat.state.flink.remapping import unfinished
from compat.state.flink.rewriting import Handles
from compat.state.flink.tally import Tally

PAIRS = Path(__file__).parents[1] / "golden" / "migrations" / "pyflink"
STEPS = {"rename": "state_renamed", "fields": "row_fields", "keys": "key_to_text"}
RECIPES = {
    "rename": "{step: rename-state, operator: keep, state: s, to: total}",
    "fields": "{step: convert-state, operator: keep, state: s, fields: {count: n}, constants: {note: old}}",
    "keys": "{step: convert-key, operator: keep}",
}


class Repeated(Struct, frozen=True):
    """Key groups that hold one entry again and again, each time under another key."""

    numbers: range
    like: Entry
    each: int
    padding: bytes

    def entries(self, group: int) -> Iterator[Entry]:
        begin = group * self.each
        for number in range(begin, begin + self.each):
            key = bytes([group, 0]) + number.to_bytes(8, "big") + self.like.key[10:]
            yield Entry(self.like.state, key, self.like.value + self.padding)


def build(pair: str, folder: Path, size: int, padding: int) -> int:
    """Write the savepoint of a pair with so many bytes of keyed state; gives the number of entries."""
    savepoint = read_metadata(PAIRS / pair / "savepoint")
    ((operator, subtask),) = ((one, sub) for one in savepoint.operators for sub in one.subtasks if sub.managed_keyed)
    source = keyed_source(HeaderReader(savepoint), operator, subtask, TypeNames(), {})
    assert source is not None
    groups = range(operator.max_parallelism)
    like = next(entry for group in source.groups.numbers for entry in source.groups.entries(group))
    each = size // len(groups) // (len(like.key) + len(like.value) + padding + 8)
    more = replace(source, groups=Repeated(groups, like, each, bytes(padding)))
    with unfinished(str(folder)) as making:
        names = {name: name for name in source.names}
        written = write_keyed_state([Taken(more, names)], groups, os.path.join(making.folder, "state"), Tally())
        changes = Changes(handles={operator.id: Handles({subtask.index: written}, {})})
        making.take(with_references(read_draft(savepoint), changes))
        making.finish()
    return each * len(groups)


def migrated(step: str, saved: Path, limit: int | None) -> tuple[float, float]:
    """The seconds that a migration takes, and the peak of its memory in MB."""
    pair, out = PAIRS / STEPS[step], saved.with_name("out")
    recipe = saved.with_name("recipe.yaml")
    recipe.write_text(f"steps: [{RECIPES[step]}]")
    command = [sys.executable, "-m", "compat", "migrate", saved, pair / "new.py", out, "--recipe", recipe]

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20))

    begun = time.perf_counter()
    process = subprocess.Popen(
        [*map(str, command), "--names", str(pair / "old.py")], preexec_fn=limited, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{step}: the migration failed")
    return seconds, used.ru_maxrss / 1024


def main() -> None:
    """Measure, and print a line for each size and the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", nargs="*", metavar="|".join(STEPS), default=[*STEPS])
    parser.add_argument("--megabytes", type=int, default=30)
    parser.add_argument("--padding", type=int, default=0)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    for step in given.steps:
        rows = []
        for times in (1, 10):
            with tempfile.TemporaryDirectory() as folder:
                saved = Path(folder, "saved")
                size = times * given.megabytes * 1_000_000
                number = build(STEPS[step], saved, size, given.padding)
                seconds, peak = migrated(step, saved, given.limit)
            rows.append((seconds / size, peak))
            print(
                f"{step:7} {size / 1e6:7.0f} MB, {number:9,} entries: {size / seconds / 1e6:6.1f} MB/s, "
                f"{number / seconds:9,.0f} entries/s, {peak:5.0f} MB of memory",
                flush=True,
            )
        (time_of_one, memory_of_one), (time_of_ten, memory_of_ten) = rows
        print(f"{step:7} ratio: time {time_of_ten / time_of_one:.2f}, memory {memory_of_ten / memory_of_one:.2f}")


if __name__ == "__main__":
    main()
