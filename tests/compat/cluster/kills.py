"""Lives of jobs on a cluster whose processes are killed, at moments that a seed decides. What comes out must be exact.

In a life a job is submitted, runs, is savepointed, is deployed in its next version, is stopped with a savepoint, and goes on
from that to its end, as another job. At each of these moments a process is killed, and while it is deployed one at each step
of that. A life that fails is lived again with

    python -m tests.compat.cluster.kills SEED --first LIFE --lives 1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import Popen
from typing import Any, NamedTuple, TypeVar

import msgspec

from compat.cluster.deployments.records import Deployment, Deployments, Step
from compat.cluster.registry import Jobs
from compat.cluster.submission import Submission
from compat.compiler.spark.driver.inspection import state_rows
from compat.service.database import Database
from tests.compat.cluster.running import RunningCluster
from tests.compiler.spark.crashes import JOB, KEYS, verify_job, write_program, written

T = TypeVar("T")

PROCESSES = ("dispatcher", "template", "master", "keeper", "spark", "daemon", "worker", "host")
CLIENT = "client"
"""The command that deploys; who has typed it does so again."""
MOMENTS = {"submitted": 1.5, "running": 0.5, "savepointed": 0.3, "stopped": 0.4, "restored": 1.5}
"""The moments of a life, and within how many seconds a process is killed then."""
STEPS = {Step.STOPPING: 0.5, Step.STARTING: 2.0, Step.WATCHING: 3.0}
"""The same of the steps of its deployment."""
END, A_FEW, MANY = 20_000, 10, 2_000
"""How far a job counts, and how many records an epoch has before and after the restore."""
_WATCH = "20s"
_NEXT = JOB.replace('"%d:%d"', '"%d: %d"')
"""The next version of the program, whose lines are known by a space."""
_PATIENCE = 300.0


class Kill(NamedTuple):
    """A process that is killed so many seconds after something was begun."""

    moment: str
    process: str
    delay: float


def kills_of(seed: int, life: int) -> list[Kill]:
    """The kills of a life. In as many lives one after another as there are processes, each is killed at each moment.

    Of a deployment three lives are enough for each process to be killed at one of its steps.
    """
    order = random.Random(seed).sample(PROCESSES, len(PROCESSES))
    chance = random.Random(f"{seed} {life}")
    kills = [
        Kill(moment, order[(life + number) % len(order)], chance.uniform(0, longest))
        for number, (moment, longest) in enumerate(MOMENTS.items())
    ]
    order.append(CLIENT)
    return kills + [
        Kill(step, order[(life + 3 * number) % len(order)], chance.uniform(0, longest))
        for number, (step, longest) in enumerate(STEPS.items())
    ]


class Lives:
    """Jobs that live such lives on a cluster. ``killed`` are the kills that there were."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.killed: list[Kill] = []
        self._cluster = cluster
        folder = cluster.folder / "pattern"
        folder.mkdir()
        program = write_program(folder, END, interval=5_000, place=".", parallelism=1)
        done = cluster.run("run", str(program), "-d", "--epoch-records", str(A_FEW), cwd=folder)
        assert done.returncode == 0, done.stderr
        job = done.stdout.strip()
        self._submission: Submission = cluster.place.submission(job)
        cluster.at(job, 1)  # all is warm
        cluster.client.cancel(job)

    def live(self, name: str, kills: Sequence[Kill]) -> None:
        """Live a life, in a folder of that name."""
        folder = self._cluster.folder / name
        folder.mkdir()
        planned = {kill.moment: kill for kill in kills}
        submission = msgspec.structs.replace(self._submission, folder=str(folder))
        client = self._cluster.client

        def during(moment: str, job: str, action: Callable[[], T]) -> T:
            return self._during(planned[moment], job, action)

        job = during("submitted", "", lambda: client.submit(submission))
        self._cluster.at(job, 2)
        during("running", job, lambda: self._go_on(job))
        saved = during("savepointed", job, lambda: client.savepoint(job))
        verify_savepoint(saved)
        job, upgraded = self._deploy(folder, planned)
        stopped = during("stopped", job, lambda: client.stop(job))
        assert self._cluster.wait(job, lambda found: found.over).state == "FINISHED"
        so_far = verify_savepoint(stopped)
        assert written(str(folder)) == {"table": outputs(so_far), "files": outputs(so_far)}
        assert lines_of_next(folder) == so_far - verify_savepoint(upgraded)
        deployed = self._cluster.place.submission(job)
        rest = msgspec.structs.replace(deployed, savepoint=stopped, epoch_records=MANY)
        other = during("restored", "", lambda: client.submit(rest))
        self._cluster.wait(other, lambda found: found.over)
        verify_job(str(folder), END, self._cluster.place.store, other)
        assert lines_of_next(folder) == END - verify_savepoint(upgraded)

    def _deploy(self, folder: Path, planned: Mapping[str, Kill]) -> tuple[str, str]:
        """Deploy the next version of what runs while a process is killed at each step of that.

        Gives the job that runs then, and the savepoint that the next version began with.
        """
        program = write_program(folder, END, interval=5_000, place=".", parallelism=1, text=_NEXT)
        options = ("--watch", _WATCH, "--epoch-records", str(A_FEW), "--format", "json")
        arguments = ("deploy", "--job", folder.name, str(program), *options)
        command = self._cluster.begin(*arguments, cwd=folder)
        try:
            first = self._come(folder.name, Step.STOPPING, command)
            for step in STEPS:
                kill = planned[step]
                self._come(folder.name, step, command)
                time.sleep(kill.delay)
                if kill.process == CLIENT:
                    command.kill()
                    command.communicate()
                    command = self._cluster.begin(*arguments, cwd=folder)
                    self.killed.append(kill)
                else:
                    self._strike(kill, lambda: self._current(folder.name))
            out, errors = command.communicate(timeout=2 * _PATIENCE)
        finally:
            command.kill()
        assert command.returncode == 0, errors
        runs: str = json.loads(out)["deployment"]["runs"]
        done = self._cluster.client.deployment(first.id)
        assert [each.step for each in done.steps] == ["stopping", "starting", "watching", "promoting", "deployed"]
        assert done.savepoint is not None
        assert [each.jid for each in self._cluster.client.jobs() if not each.over] == [runs]
        assert self._cluster.wait(runs, lambda found: found.checkpoint > 0).state == "RUNNING"
        return runs, done.savepoint

    def _come(self, name: str, step: Step, command: Popen[str]) -> Deployment:
        """The deployment of a job, once it has come to a step. It may not have passed all that are of interest."""
        end = time.monotonic() + _PATIENCE
        while (found := self._deployment(name)) is None or list(Step).index(found.step) < list(Step).index(step):
            assert command.poll() is None, command.communicate()
            assert time.monotonic() < end, self._cluster.said()
            time.sleep(0.01)
        assert found.step in STEPS, found
        return found

    def _deployment(self, name: str) -> Deployment | None:
        database = Database(self._cluster.place.database)
        try:
            return Deployments(Jobs(database)).last(name)
        finally:
            database.close()

    def _current(self, name: str) -> str:
        """The job that a deployment stops, starts or watches."""
        found = self._deployment(name)
        assert found is not None
        assert not found.step.over, found
        assert found.old is not None
        return found.old if found.step is Step.STOPPING else found.new

    def _go_on(self, job: str) -> None:
        """Wait until a job has done some more."""
        self._cluster.at(job, self._cluster.client.find(job).checkpoint + 4)

    def _during(self, kill: Kill, job: str, action: Callable[[], T]) -> T:
        """Do something while a process is killed."""
        failures: list[BaseException] = []

        def strike() -> None:
            time.sleep(kill.delay)
            try:
                self._strike(kill, lambda: job or self._newest())
            except BaseException as error:
                failures.append(error)

        striking = threading.Thread(target=strike)
        striking.start()
        try:
            return action()
        finally:
            striking.join()
            if failures:
                raise failures[0]

    def _strike(self, kill: Kill, job: Callable[[], str]) -> None:
        end = time.monotonic() + _PATIENCE
        while not self._cluster.kill(kill.process, job()):
            assert time.monotonic() < end, f"There is no {kill.process}: {self._cluster.said()}"
            time.sleep(0.01)
        self.killed.append(kill)

    def _newest(self) -> str:
        """The job that was submitted last, be it that nobody was told its id yet."""
        jobs = sorted((self._cluster.place.path / "jobs").iterdir(), key=lambda path: path.stat().st_ctime)
        return jobs[-1].name


def outputs(end: int) -> Counter[tuple[int, int]]:
    """What a job has written that counted to ``end``."""
    seen: Counter[int] = Counter()
    found: Counter[tuple[int, int]] = Counter()
    for number in range(1, end + 1):
        seen[number % KEYS] += 1
        found[number % KEYS, seen[number % KEYS]] += 1
    return found


def lines_of_next(folder: Path) -> int:
    """How many records the next version has written."""
    files = [file for file in (folder / "files").rglob("*") if file.is_file() and not file.name.startswith(".")]
    return sum(file.read_text().count(": ") for file in files)


def verify_savepoint(path: str) -> int:
    """That its state is what a job has that counted to some number, in order; gives the number."""
    found = {row["key"]: row["value"] for row in state_rows(path, "count") if row["state"] == "count"}
    end: int = sum(found.values())
    assert found == dict(Counter(number % KEYS for number in range(1, end + 1)))
    assert 0 < end < END
    return end


def main() -> None:
    """Live."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lives", type=int, default=13)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        live(Path(folder), given.seed, range(given.first, given.first + given.lives), print)


def live(folder: Path, seed: int, lives: Sequence[int], say: Callable[..., Any] = lambda *_, **__: None) -> list[Kill]:
    """Live some lives on a cluster of their own, in a folder; gives the kills that there were."""
    cluster = RunningCluster(folder, slots=1)
    cluster.start("--heartbeat-timeout", "60")
    try:
        jobs = Lives(cluster)
        for life in lives:
            kills, began = kills_of(seed, life), time.monotonic()
            say(
                life,
                *(f"{kill.moment}: {kill.process} after {kill.delay:.2f} s," for kill in kills),
                end=" ",
                flush=True,
            )
            jobs.live(f"life-{life}", kills)
            say(f"{time.monotonic() - began:.1f} s", flush=True)
        return jobs.killed
    finally:
        cluster.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    main()
