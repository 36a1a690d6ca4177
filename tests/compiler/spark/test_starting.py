"""One command begins one job, also where it is given twice at once."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from compat.compiler.spark.driver import lease
from compat.compiler.spark.driver.store import JobStore
from compat.state.delta.errors import StoreError
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster


@pytest.fixture(autouse=True)
def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that are soon over."""
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.4)


def run(cluster: Cluster, program: Path, **options: object) -> None:
    environment = cluster.environment(1, program=str(program), **options)
    environment.from_collection([1, 2], Types.LONG()).map(str, Types.STRING()).print()
    environment.execute("numbers")


def store_of(cluster: Cluster) -> JobStore:
    return JobStore(cluster.directory / "store")


def test_who_comes_as_it_is_started_is_told_by_whom(cluster: Cluster, tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    with store_of(cluster).starting(str(program), "numbers", 0, ()):
        with pytest.raises(StoreError, match=rf"job.py is being started by .*: process {os.getpid()} on .*--fresh"):
            run(cluster, program)
        assert not store_of(cluster).jobs()
        run(cluster, program, arguments=("other",))
        run(cluster, tmp_path / "another.py")
        run(cluster, program, fresh=True)
    assert len(store_of(cluster).jobs()) == 3
    assert cluster.lines == ["1", "2"] * 3


def test_who_waits_for_a_start_goes_on_behind_it(cluster: Cluster, tmp_path: Path) -> None:
    program, begun = tmp_path / "job.py", threading.Event()

    def start_slowly() -> None:
        with store_of(cluster).starting(str(program), "numbers", 0, ()):
            begun.set()
            time.sleep(lease._between_signs(store_of(cluster).root) / 4)

    thread = threading.Thread(target=start_slowly)
    thread.start()
    begun.wait()
    run(cluster, program)
    thread.join()
    assert cluster.lines == ["1", "2"]


def test_a_start_that_slept_begins_no_second_job(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for a job to go on with and the entry of its own, another process did the same."""
    program = tmp_path / "job.py"
    unfinished = JobStore.unfinished

    def slept(store: JobStore, *arguments: object) -> object:
        found = unfinished(store, *arguments)  # type: ignore[arg-type]
        (start,) = (store.root / "starts").list()
        terms = store.root / "starts" / start.name / "driver"
        (held,) = terms.list()
        (terms / held.name).delete()
        (terms / f"{int(held.name[:20]) + 1:020d}.json").write(b"{}")
        return found

    monkeypatch.setattr(JobStore, "unfinished", slept)
    with pytest.raises(StoreError, match=r"Another process started .*job.py .*while this one stood still"):
        run(cluster, program)
    assert not store_of(cluster).jobs()
    assert not (tmp_path / "store" / "jobs").exists() or not list((tmp_path / "store" / "jobs").iterdir())
    assert cluster.lines == []


def test_what_is_left_of_old_starts_is_removed_as_another_job_starts(cluster: Cluster, tmp_path: Path) -> None:
    run(cluster, tmp_path / "job.py")
    (old,) = (tmp_path / "store" / "starts").iterdir()
    for file in (old / "driver").iterdir():
        os.utime(file, (0, 0))
    run(cluster, tmp_path / "another.py")
    (fresh,) = (tmp_path / "store" / "starts").iterdir()
    assert fresh != old
    run(cluster, tmp_path / "job.py")
    assert len(list((tmp_path / "store" / "starts").iterdir())) == 2
