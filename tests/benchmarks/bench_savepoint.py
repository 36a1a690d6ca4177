"""Time to inspect a savepoint of 1,000 operators with 10 subtasks each, and of one of half the size.

    python tests/benchmarks/bench_savepoint.py

Prints microseconds for each subtask state, for reading the metadata alone, for all of `inspect`, and for a check of a
program that lost every id. Equal numbers for both sizes mean time linear in the size.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.plan.facts import Program
from compat.savepoint import facts
from compat.savepoint.recorded import recorded
from compat.state.flink import Savepoint, inspect_savepoint, parse_metadata
from tests.compat import builders
from tests.state.flink import writer as w

SUBTASKS = 10
ROUNDS = 5


def build(operators: int) -> bytes:
    """Metadata of operators that each have keyed state with timers, and a list state."""
    states = [
        w.state_meta(name, kind, VALUE_SERIALIZER=w.simple("Long")) for name, kind in (("count", 0), ("timers", 3))
    ]
    header = w.keyed_header(*states)
    lists = w.operator_header([w.state_meta("offsets", 1, VALUE_SERIALIZER=w.simple("Long"))])

    def subtask(index: int) -> bytes:
        first, count = index * 13, 13 if index < 9 else 11
        keyed = w.full(w.inline(header), first, [0] * count)
        return w.subtask(
            index,
            managed_operator=w.operator_stream(w.inline(lists + bytes(40)), w.partition("offsets", 0, [len(lists)])),
            managed_keyed=keyed,
        )

    subtasks = [subtask(index) for index in range(SUBTASKS)]
    return w.metadata(
        *(w.operator(*subtasks, identity=n.to_bytes(16, "big"), uid=f"uid-{n}") for n in range(operators))
    )


def lost(operators: int) -> Program:
    """A program of as many operators that all have another uid."""
    return builders.program(
        "new.py",
        *(
            builders.operator(
                f"operator {n}", id=f"{n:032x}"[::-1], uid=f"other-{n}", detail={"python": "keyed_process"}
            )
            for n in range(operators)
        ),
    )


def judge(savepoint: Savepoint, new: Program) -> None:
    """The check without loading a program."""
    check(facts.program(recorded(savepoint), "savepoint", new), new, CheckOptions(), {})


def microseconds(work: Callable[[], object], subtasks: int) -> float:
    """The median of some rounds, for each subtask state."""
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times) / subtasks * 1e6


def main() -> None:
    """Measure both sizes and print them with their ratio."""
    rows = []
    for operators in (500, 1000):
        data = build(operators)
        savepoint = parse_metadata(data, "/nowhere/_metadata")
        subtasks = operators * SUBTASKS
        read = microseconds(partial(parse_metadata, data, "/nowhere/_metadata"), subtasks)
        told = microseconds(partial(inspect_savepoint, savepoint), subtasks)
        judged = microseconds(partial(judge, savepoint, lost(operators)), subtasks)
        rows.append((read, told, judged))
        print(
            f"{subtasks:6} subtask states in {len(data) / 1e6:.1f} MB, µs each: metadata {read:.1f}, inspect {told:.1f}, "
            f"check {judged:.1f}"
        )
    ratios = [larger / smaller for smaller, larger in zip(*rows, strict=True)]
    print("ratio of the larger to the smaller: metadata {:.2f}, inspect {:.2f}, check {:.2f}".format(*ratios))


if __name__ == "__main__":
    main()
