"""Lives of jobs on local Spark that are killed inside savepoints and restores, at steps that a seed decides on.

In a life a job runs, a savepoint is taken of it, it is stopped with a savepoint, and another version of it, of another
parallelism, goes on from that to its end. At a step of each of these a process is killed; then the same command is given
again, as its user would do it. What comes out must be exact, and no half savepoint may count as one. A life that fails is lived
again with

    python -m tests.compiler.spark.savepoint_kills SEED --first LIFE --lives 1
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from compat.compiler.spark.driver.fsck import fsck
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.mailbox import Mailbox
from compat.compiler.spark.driver.restore import find_snapshot
from compat.compiler.spark.driver.store import JobStore
from compat.state.delta.errors import StoreError
from compat.state.delta.savepoint import METADATA
from tests.compiler.spark import moments
from tests.compiler.spark.crashes import JOB, KEYS, CrashingJob, verify_job, victims, written

ROOT = Path(__file__).parents[3]
END, A_FEW, MANY = 60_000, 100, 10_000
"""How far a job counts, and how many records an epoch has before and after the restore."""
WINDOW = 500
LONGEST = {"savepoint": 24, "stop": 40, "restore": 40, "first epoch": 24}
"""The work in which something is killed, and among how many of its steps the seed chooses."""
PROCESSES = ("driver", "jvm", "worker", "host")
_TIMES = """
from pyflink.common import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.window import TumblingEventTimeWindows

class Itself(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value

times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
env = """
_WINDOWS = f"""
pairs = numbers.map(lambda n: (n % {{keys}}, n), pair).uid("pairs").key_by(lambda p: p[0], Types.LONG())
windows = pairs.window(TumblingEventTimeWindows.of(Time.milliseconds({WINDOW})))
summed = windows.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows")
sums = FileSink.for_row_format("{{folder}}/sums", Encoder.simple_string_encoder())
sums = sums.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
summed.map(lambda p: "%d:%d" % p, Types.STRING()).uid("sum texts").sink_to(sums).uid("sums")
env.execute("""
TEXT = JOB.replace("\nenv = ", _TIMES).replace("WatermarkStrategy.no_watermarks()", "times")
TEXT = TEXT.replace("\nenv.execute(", _WINDOWS)
_FIRST = "import sys; sys.path.append({root!r}); from tests.compiler.spark import moments; "
_FIRST += "moments.stand_still_in({folder!r}, large={large})"
_PATIENCE = 300.0


class Kill(Struct, frozen=True):
    """A process that is killed at a step of some work."""

    work: str
    step: int
    process: str


def kills_of(seed: int, life: int) -> list[Kill]:
    """The kills of a life. In as many lives one after another as there are processes, each is killed in each work."""
    order = random.Random(seed).sample(PROCESSES, len(PROCESSES))
    chance = random.Random(f"{seed} {life}")
    return [
        Kill(work, chance.randint(1, longest), order[(life + number) % len(order)])
        for number, (work, longest) in enumerate(LONGEST.items())
    ]


class Life:
    """One life, in a folder. ``killed`` are the steps at which a process was killed, and which."""

    def __init__(self, folder: Path, kills: list[Kill], *, large: bool) -> None:
        self.killed: list[tuple[str, str, str]] = []
        self._folder, self._kills = folder, {kill.work: kill for kill in kills}
        self._store = JobStore(f"{folder}/.compat")
        self._large = large

    def live(self) -> None:
        """All of it."""
        first = self._job("first", A_FEW)
        try:
            first.start()
            first.wait_for(3)
            self._asked(first, "savepoint")
            self._go_on(first)
            path = self._stopped(first)
        finally:
            first.close()
        self._verify_savepoints(path)
        self._verify_so_far(path)
        other = self._job("other", MANY, "-s", path, parallelism=3)
        try:
            self._restored(other)
        finally:
            other.close()
        self._verify_savepoints(path)
        self._verify_all(path)

    def _job(self, name: str, records: int, *arguments: str, parallelism: int = 2) -> CrashingJob:
        (self._folder / name).mkdir()
        given = ["--epoch-records", str(records), *arguments]
        first = _FIRST.format(root=str(ROOT), folder=str(self._folder), large=self._large)
        folder, place = self._folder / name, str(self._folder)
        return CrashingJob(folder, END, given, place, first, TEXT, parallelism)

    def _asked(self, job: CrashingJob, action: str) -> dict[str, Any]:
        """Ask a job for a savepoint, or to stop with one, while a process is killed; gives the answer."""
        kill = self._kills[action]
        moments.choose(self._folder, kill.work, kill.step)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self._request, action)
            self._strike(job, kill, asked)
            answer = asked.result()
        assert "path" in answer or "error" in answer
        return answer

    def _request(self, action: str) -> dict[str, Any]:
        (entry,) = self._store.jobs()
        return Mailbox(self._store.directory(entry.job_id)).ask(action)

    def _strike(self, job: CrashingJob, kill: Kill, until: Future[Any] | None = None) -> None:
        """Kill a process once the driver stands still; the driver itself where there is none of that kind."""
        end = time.monotonic() + _PATIENCE
        while (step := moments.reached(self._folder)) is None:
            assert job.running, job.said()
            assert time.monotonic() < end, job.said()
            time.sleep(0.005)
        found = victims(job, kill.process)
        process = kill.process if job.kill(found) else "driver"
        if process == "driver":
            job.kill([job.pid])
            assert job.process is not None
            job.process.wait()
        moments.let_go(self._folder)
        self.killed.append((kill.work, step.replace(str(self._folder), ""), process))

    def _go_on(self, job: CrashingJob) -> None:
        """Have a job do some more; the same command is given again where its driver was killed."""
        if not job.running:
            assert job.process is not None
            assert job.process.returncode < 0, job.said()
            job.start()
        job.wait_for(3)
        assert job.running, job.said()

    def _stopped(self, job: CrashingJob) -> str:
        """Stop a job, as somebody does who asks until it has stopped; gives the savepoint."""
        answer = self._asked(job, "stop")
        end = time.monotonic() + _PATIENCE
        while True:
            assert time.monotonic() < end, job.said()
            assert job.process is not None
            if "path" in answer or not job.running:
                job.process.wait(_PATIENCE)
                if job.process.returncode == 0:
                    return self._told(job)
                assert job.process.returncode < 0, job.said()
                job.start()
            job.wait_for(1)
            answer = self._request("stop") if job.running else {}

    def _told(self, job: CrashingJob) -> str:
        """The savepoint that a job said it had stopped with."""
        events = [json.loads(line) for line in (job.folder / "events").read_text().splitlines()]
        path: str = [event["path"] for event in events if event["event"] == "stopped"][-1]
        return path

    def _restored(self, job: CrashingJob) -> None:
        """Go on from a savepoint while a process is killed in the restore, and then in an epoch; to the end."""
        for work in ("restore", "first epoch"):
            kill = self._kills[work]
            moments.choose(self._folder, kill.work, kill.step)
            if not job.running:
                job.start()
            self._strike(job, kill)
            if kill.work == "restore" and self.killed[-1][2] != "driver":
                self._see_refusal(job)
        job.finish(_PATIENCE)

    def _see_refusal(self, job: CrashingJob) -> None:
        """A restore whose tasks were lost is refused, so that it is begun anew; one whose process was not needed goes on."""
        running = job.checkpoints
        while job.running and job.checkpoints == running:
            time.sleep(0.02)
        assert job.process is not None
        if not job.running and job.process.returncode == 2:
            job.start()

    def _verify_savepoints(self, path: str) -> None:
        """Each folder is whole, or refused; the one that a job has stopped with is whole."""
        root = Path(self._store.root.path, "savepoints")
        folders = sorted(root.iterdir())
        assert Path(path) in folders
        for folder in folders:
            if folder == Path(path) or (folder / METADATA).exists():
                assert [each.problems for each in fsck(str(folder))] == [()]
                continue
            with pytest.raises(StoreError, match=r"was not finished|holds no savepoint|There is no such"):
                find_snapshot(str(folder))

    def _verify_so_far(self, path: str) -> None:
        """What the job has published that was stopped is what its savepoint has counted, each number once."""
        counts = {row["key"]: row["value"] for row in state_rows(path, "count") if row["state"] == "count"}
        expected = Counter((key, count) for key, last in counts.items() for count in range(1, last + 1))
        assert written(str(self._folder)) == {"table": expected, "files": expected}
        assert 0 < sum(counts.values()) < END

    def _verify_all(self, path: str) -> None:
        """Nothing lost, nothing doubled, nothing left over."""
        (last,) = [entry for entry in self._store.jobs() if entry.savepoint == path]
        verify_job(str(self._folder), END, self._store, last.job_id)
        sums: Counter[tuple[int, int]] = Counter()
        for number in range(1, END + 1):
            sums[number % KEYS, number // WINDOW] += number
        expected = Counter((key, total) for (key, _), total in sums.items())
        files = [file for file in (self._folder / "sums").iterdir() if not file.name.startswith(".")]
        lines = [line for file in files for line in file.read_text().splitlines()]
        found = Counter((int(key), int(total)) for key, total in (line.split(":") for line in lines))
        assert found == expected
        assert not [file for name in ("files", "sums") for file in (self._folder / name).glob(".*")]


def live(folder: Path, seed: int, lives: range, say: Callable[..., Any] = lambda *_, **__: None) -> list[Any]:
    """Live some lives, each in a folder of its own; gives the kills that there were."""
    killed = []
    for number in lives:
        place, began = folder / f"life-{number}", time.monotonic()
        place.mkdir()
        life = Life(place, kills_of(seed, number), large=number % 2 == 0)
        try:
            life.live()
        finally:
            say(number, *life.killed, f"{time.monotonic() - began:.1f} s", flush=True)
        killed += life.killed
    return killed


def main() -> None:
    """Live."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lives", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="savepoint-kills-") as folder:
        live(Path(folder), given.seed, range(given.first, given.first + given.lives), print)


if __name__ == "__main__":
    main()
