"""Cached streams: made once, made again when their files are damaged or forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.execution_mode import RuntimeExecutionMode
from compat.state.types import Types


class Program:
    """A stream that leaves a mark each time that a record is made."""

    def __init__(self, cluster: Any, marks: Path, **options: Any) -> None:
        env = cluster.environment(2, **options)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        self.marks = marks

        def made(number: int) -> int:
            with open(marks, "a") as file:
                file.write(".")
            return number * 10

        self.cached = env.from_collection([1, 2, 3], Types.INT()).map(made, Types.INT()).cache()

    def job(self) -> tuple[list[int], int]:
        """The records of a job over the stream, and how many were made by then."""
        found = sorted(self.cached.map(lambda n: n + 1, Types.INT()).execute_and_collect())
        return found, len(self.marks.read_text())


@pytest.mark.parametrize("epoch_records", [None, 1])
def test_later_jobs_read_what_the_first_one_kept(cluster: Any, tmp_path: Path, epoch_records: int | None) -> None:
    program = Program(cluster, tmp_path / "marks", epoch_records=epoch_records)
    assert [program.job() for _ in range(3)] == [([11, 21, 31], 3)] * 3


@pytest.mark.parametrize("damage", [lambda file: file.write_bytes(b"?"), lambda file: file.unlink()])
def test_damaged_records_are_made_again(cluster: Any, tmp_path: Path, damage: Any) -> None:
    program = Program(cluster, tmp_path / "marks")
    program.job()
    files = [file for file in (tmp_path / "store" / "caches").rglob("*") if file.is_file() and file.suffix == ""]
    damage(files[0])
    assert [program.job() for _ in range(2)] == [([11, 21, 31], 6)] * 2


def test_forgotten_records_are_made_again(cluster: Any, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path / "marks")
    program.job()
    program.cached.invalidate()
    assert program.job() == ([11, 21, 31], 6)
