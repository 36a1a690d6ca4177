"""Two drivers of one job, both alive: the one that was paused commits nothing behind the other's back."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.serialization import Encoder
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.file_system import FileSink
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.executor import InProcessExecutor, RunningJob
from compat.compiler.spark.driver.options import Assigned
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.task.epochs import InProcessRunner
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


def _start(folder: Path, kind: type[InProcessExecutor], assigned: Assigned) -> RunningJob:
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
    assert new.master.status is JobStatus.FINISHED
    entry = JobStore(tmp_path / "store").read(job_id)
    assert entry is not None
    assert (entry.status, entry.fence) == ("FINISHED", FENCED + 1)
    assert _written(tmp_path) == Counter(f"{key}:{count}" for key in range(KEYS) for count in range(1, END // KEYS + 1))
