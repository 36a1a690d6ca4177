"""A bit flips anywhere in what a job or a savepoint keeps: the job goes on to right results, or is refused."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.datastream.program import Program, start
from compat.compiler.datastream.state import ValueStateDescriptor
from compat.compiler.spark.driver import lease
from compat.compiler.spark.driver.failures import JobFailed
from compat.state.delta.errors import StoreError
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

RECORDS, KEYS = 200, 17
EXPECTED = Counter(f"{number % KEYS}:{number // KEYS + 1}" for number in range(RECORDS))


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % KEYS}:{count}"


def run(folder: Path, published: Counter[str], fails: bool = False, **options: Any) -> None:
    """Run a program whose jobs are kept in a folder, and count what it publishes. Raises what it is refused with."""
    cluster = Cluster(folder)

    def checked(number: int) -> int:
        if fails and number == 150:
            raise ValueError("for once")
        return number

    environment = cluster.environment(2, program="/programs/job.py", epoch_records=20, **options)
    stream = environment.from_collection(list(range(RECORDS)), Types.LONG()).uid("numbers")
    keyed = stream.map(checked, Types.LONG()).uid("checked").key_by(lambda number: number % KEYS, Types.LONG())
    keyed.process(Count(), Types.STRING()).uid("count").print()
    try:
        environment.execute("counting")
    except JobFailed:
        assert fails
    finally:
        start(Program())
        published.update(line.partition("> ")[2] for line in cluster.lines)


def flipped(whole: Path, target: Path, chance: random.Random) -> Path:
    """A copy with one bit that is another one; the file that it is in, any one as likely as all bytes."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(whole, target, symlinks=True)
    files = sorted(file for file in target.rglob("*") if file.is_file() and file.stat().st_size)
    weights = [file.stat().st_size for file in files] if chance.random() < 0.5 else None
    (file,) = chance.choices(files, weights)
    status, data = file.stat(), bytearray(file.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    return file


@pytest.fixture(autouse=True)
def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that are soon over: a bit of theirs that flips makes another process of it."""
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.2)


@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_in_a_job_that_goes_on(tmp_path: Path, count: int) -> None:
    before: Counter[str] = Counter()
    run(tmp_path / "whole", before, fails=True)
    assert 0 < before.total() < RECORDS
    flip_and_run(tmp_path, tmp_path / "whole", count, before, run)


@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_in_a_savepoint(tmp_path: Path, count: int) -> None:
    before: Counter[str] = Counter()
    run(tmp_path / "whole", before, epochs=5)
    (savepoint,) = (tmp_path / "whole" / "store" / "savepoints").iterdir()

    def restore(flipped: Path, published: Counter[str]) -> None:
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        run(tmp_path / "new", published, savepoint=str(flipped))

    flip_and_run(tmp_path, savepoint, count, before, restore)


def flip_and_run(
    folder: Path, whole: Path, count: int, before: Counter[str], again: Callable[[Path, Counter[str]], None]
) -> None:
    """Many flips, one at a time: behind each all is published that is missing, and nothing else, or the job is refused.

    A copy with no flip at all goes on.
    """
    chance, refused = random.Random(count), 0
    shutil.copytree(whole, folder / "flipped", symlinks=True)
    published = before.copy()
    again(folder / "flipped", published)
    assert published == EXPECTED
    for _ in range(count):
        file, published = flipped(whole, folder / "flipped", chance), before.copy()
        try:
            again(folder / "flipped", published)
        except (StoreError, ValueError):
            refused += 1
            assert published <= EXPECTED, file
        else:
            assert published == EXPECTED, file
    assert refused > count / 3
