"""Two drivers of one job, both alive: the one that was paused commits nothing behind the other's back."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

from compat.compiler.datastream.common.serialization import Encoder
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.file_system import FileSink
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.executor import InProcessExecutor, RunningJob, SparkExecutor
from compat.compiler.spark.driver.options import Assigned
from compat.compiler.spark.driver.runner import SparkRunner
from compat.compiler.spark.driver.session import Spark
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.driver.workers import SparkWorkers
from compat.compiler.spark.task.epochs import InProcessRunner
from compat.state.delta.errors import StoreError
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

END, KEYS = 300, 3
PAUSED_AT = 3
FENCED = 1


class _Pausing(InProcessRunner):
    """Stands still at the end of an epoch, as a process does that is stopped: what the tasks made is not committed yet."""

    reached, go_on = threading.Event(), threading.Event()

    def run(self, spec: Any) -> Any:
        results = super().run(spec)
        if spec.epoch == PAUSED_AT:
            self.reached.set()
            assert self.go_on.wait(60)
        return results


class _PausingExecutor(InProcessExecutor):
    def runner(self, made: Any) -> Any:
        return _Pausing(made)


def _start(folder: Path, kind: type[SparkExecutor], assigned: Assigned) -> RunningJob:
    """A driver of the job."""
    made = Cluster(folder, kind)
    env = made.environment(2, assigned=assigned, epoch_records=20)
    numbers = env.from_source(NumberSequenceSource(1, END), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    pairs = numbers.map(lambda n: (n % KEYS, 1), Types.TUPLE([Types.LONG(), Types.LONG()])).uid("pairs")
    counted = pairs.key_by(lambda p: p[0], Types.LONG()).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("count")
    sink = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
    counted.map(lambda p: f"{p[0]}:{p[1]}", Types.STRING()).uid("text").sink_to(sink).uid("files")
    env.execute_async("counts")
    return made.last


def _written(folder: Path) -> Counter[str]:
    files = [file for file in (folder / "out").rglob("*") if file.is_file() and not file.name.startswith((".", "_"))]
    return Counter(line for file in files for line in file.read_text().split())


@pytest.mark.parametrize("what", ["commits", "stops"])
def test_a_driver_that_was_paused_gives_way_to_the_one_that_took_over(tmp_path: Path, what: str) -> None:
    job_id = uuid.uuid4().hex
    _Pausing.reached.clear()
    _Pausing.go_on.clear()
    former = _start(tmp_path, _PausingExecutor, Assigned(job_id, FENCED))
    assert _Pausing.reached.wait(60)
    if what == "stops":
        former.master.stop()
    new = _start(tmp_path, InProcessExecutor, Assigned(job_id, FENCED + 1))
    new.wait()
    _Pausing.go_on.set()
    former.wait()
    assert former.master.superseded
    assert new.master.job.status is JobStatus.FINISHED
    entry = JobStore(tmp_path / "store").read(job_id)
    assert entry is not None
    assert (entry.status, entry.fence) == ("FINISHED", FENCED + 1)
    assert _written(tmp_path) == Counter(f"{key}:{count}" for key in range(KEYS) for count in range(1, END // KEYS + 1))


class _OnSharedSpark(SparkExecutor):
    """Runs a job on a Spark that others use, too, as the jobs of a cluster do."""

    shared: ClassVar[Spark]

    def spark(self, made: Any) -> Spark:
        return self.shared

    def runner(self, made: Any) -> SparkRunner:
        return SparkRunner(made, self.shared, self._worker_setup(), self.options.assigned)


class _LongWork:
    """Work on the state of a job that a driver had begun. ``failed`` is what became of it, as long as it has not ended."""

    def __init__(self, spark: Spark, job_id: str, began: Path) -> None:
        self.failed: StoreError | None = None
        self._workers, self._began = SparkWorkers(lambda: spark, job_id), began
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        while not began.exists():
            assert self._thread.is_alive()
            time.sleep(0.02)

    def _run(self) -> None:
        began = str(self._began)

        def work(part: int) -> int:
            Path(began).touch()
            time.sleep(600)
            return part

        try:
            self._workers.each(work, [0])
        except StoreError as error:
            self.failed = error

    def over(self, within: float) -> bool:
        """True if it has ended by then, in seconds."""
        self._thread.join(within)
        return not self._thread.is_alive()

    def end(self) -> None:
        self._workers.give_up()
        assert self.over(60)


@pytest.mark.spark
@pytest.mark.slow
def test_what_a_former_driver_has_running_on_spark_is_cancelled(tmp_path: Path) -> None:
    """Work on its state, too, which is of no epoch; that of other jobs goes on."""
    job_id = uuid.uuid4().hex
    spark = _OnSharedSpark.shared = Spark("local[3]", None, [], str(tmp_path / "spark.log"))
    try:
        former, other = (_LongWork(spark, id, tmp_path / id) for id in (job_id, uuid.uuid4().hex))
        try:
            new = _start(tmp_path, _OnSharedSpark, Assigned(job_id, FENCED + 1))
            new.wait()
            assert former.over(60)
            assert former.failed is not None
            assert "cancel" in str(former.failed).lower()
            assert not other.over(0)
        finally:
            former.end()
            other.end()
    finally:
        spark.stop()
    assert new.master.job.status is JobStatus.FINISHED
    assert _written(tmp_path) == Counter(f"{key}:{count}" for key in range(KEYS) for count in range(1, END // KEYS + 1))
