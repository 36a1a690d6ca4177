"""A bucket whose server fails again and again: jobs run to their end through it, with exact results."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from compat.compiler.datastream import program
from compat.compiler.spark.driver.failures import JobFailed
from compat.state.delta.errors import StoreError
from compat.state.stores.paths import Place, place_of
from tests import object_store
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.crashes import CrashingJob
from tests.compiler.spark.test_stores import NUMBERS, counting, give, verify
from tests.conftest import forget_buckets
from tests.faulty_store import faults_of

SHARE = 0.08
"""The share of requests that fail."""
TRIES = 20
"""So often at most the user of a job gives its command again."""


@contextmanager
def failing_bucket(seed: int, share: float = SHARE) -> Iterator[tuple[Place, str]]:
    """A bucket on a server that fails, and the server's address."""
    with object_store.serving("faulty", str(seed), str(share)) as address:
        object_store.make_bucket(address, "bucket")
        with patch.dict(os.environ, object_store.variables(address)):
            forget_buckets()
            yield place_of("s3://bucket/jobs"), address
    forget_buckets()


def persistently(command: Callable[[], object]) -> int:
    """Give a command until it is done, where the store is away; how often it was given."""
    for tried in range(1, TRIES + 1):
        try:
            command()
            return tried
        except (StoreError, JobFailed, OSError) as error:
            last = error
    raise last


def run_through(folder: Path, seed: int) -> Counter[str]:
    """A job that stops with a savepoint, and one of another parallelism that goes on; gives the faults that there were."""
    with failing_bucket(seed) as (bucket, address):
        cluster = Cluster(folder, store=str(bucket / "store"))
        try:
            persistently(lambda: give(bucket, NUMBERS))
            persistently(lambda: counting(cluster, bucket, epochs=2))
            path = cluster.last.master.job.savepoint
            assert path is not None
            persistently(lambda: counting(cluster, bucket, 3, savepoint=path))
            persistently(lambda: verify(cluster, bucket))
            return faults_of(address)
        finally:
            program.start(program.Program())


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))])
def test_a_job_a_savepoint_and_a_restore_where_the_store_fails(tmp_path: Path, seed: int) -> None:
    faults = run_through(tmp_path, seed)
    assert sum(faults.values()) > 20, faults


def test_a_conditional_put_whose_answer_is_lost_is_known_as_ones_own() -> None:
    """Whoever is told that it failed may try again, and is not told that somebody else has the name."""
    with failing_bucket(1, 0.3) as (bucket, address):
        taken = []
        for number in range(60):
            with suppress(OSError):
                taken.append((bucket / str(number)).create(b"%d" % number))
        assert taken == [True] * len(taken)
        faults = faults_of(address)
    assert (
        sum(count for kind, count in faults.items() if kind.startswith("conditional") and kind.endswith("behind")) > 5
    )


@pytest.mark.slow
@pytest.mark.spark
def test_a_job_on_spark_where_the_store_fails(tmp_path: Path) -> None:
    with failing_bucket(11) as (bucket, _):
        job = CrashingJob(tmp_path, 4_000, ("--epoch-records", "400"), place=str(bucket))
        try:
            persistently(lambda: finish(job))
            persistently(job.verify)
        finally:
            job.close()


def finish(job: CrashingJob) -> None:
    """Give the command of a job; raises StoreError where it fails."""
    job.start()
    assert job.process is not None
    if job.process.wait(300) != 0:
        raise StoreError(job.said())
