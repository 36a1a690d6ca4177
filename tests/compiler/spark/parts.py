"""The parts of a driver, of a job that is prepared and runs nothing: no Spark is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compat.compiler.datastream import program
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.driver import compile_job
from compat.compiler.executiongraph.states import ExecutionState, JobStatus
from compat.compiler.spark.driver.driven import DrivenJob
from compat.compiler.spark.driver.epoch_loop import EpochLoop
from compat.compiler.spark.driver.epoch_sizing import Pace
from compat.compiler.spark.driver.life_cycle import LifeCycle
from compat.compiler.spark.driver.mailbox import send
from compat.compiler.spark.driver.options import RunOptions
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.driver.recovery import Recovery
from compat.compiler.spark.driver.requests import Requests
from compat.compiler.spark.driver.restarts import RestartStrategy
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.driver.upkeep import Upkeep
from compat.compiler.spark.plan import plan
from compat.compiler.spark.task.epochs import EpochSpec, TaskFailure
from compat.compiler.spark.task.stream_task import TaskReport
from compat.state.delta.work import HERE

JOB_ID = "0123456789abcdef0123456789abcdef"
TARGET = 1.0


@dataclass
class Epochs:
    """Gives what a test says in the place of epochs that run."""

    results: Callable[[EpochSpec], list[TaskReport | TaskFailure]] = lambda spec: []
    cancelled: int = 0
    ran: list[EpochSpec] = field(default_factory=list)

    def prepare(self) -> None:
        """Nothing is started."""

    def run(self, spec: EpochSpec) -> list[TaskReport | TaskFailure]:
        self.ran.append(spec)
        return self.results(spec)

    def listen(self, changed: Callable[[int, int, ExecutionState], None]) -> None:
        """Nothing changes by itself."""

    def cancel(self) -> None:
        self.cancelled += 1

    def close(self, folder: str | None) -> None:
        """Nothing is open."""


class Parts:
    """A job, all parts of its driver, and what it told."""

    def __init__(self, folder: Path, strategy: RestartStrategy | None = None, **options: Any) -> None:
        program.start(program.Program())
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        env.from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers").print()
        compilation = compile_job(env._job("job", attached=True, collect=None))
        self.told: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self.store = JobStore(str(folder / "store"))
        run = RunOptions(replicas=str(folder / "replicas"), **options)
        self.job = job = DrivenJob.of(
            JOB_ID, plan(compilation), self.store, run, checkpointing=True, listener=self.told.append
        )
        job.lease = self.store.lock(JOB_ID)
        self.upkeep = Upkeep(lambda: HERE, 1, job.pulse.move, job.lease.prove)
        self.output = Output(job, self.lines.append, lambda records: None)
        self.life = LifeCycle(job, self.output, None)
        self.requests = Requests(job, self.life, self.upkeep)
        self.recovery = Recovery(
            job,
            self.life,
            self.output,
            self.requests,
            self.upkeep,
            strategy or RestartStrategy("none"),
            before=None,
            made_again=None,
        )
        self.loop = EpochLoop(
            job,
            self.life,
            self.output,
            self.requests,
            self.recovery,
            self.upkeep,
            target=TARGET,
            replicas=run.replicas or "",
        )
        self.recovery.begin(None, lambda: HERE, lambda: Pace(TARGET))
        self.life.to(JobStatus.CREATED)
        job.executions.schedule()
        self.life.to(JobStatus.RUNNING)

    @property
    def events(self) -> list[str]:
        """The names of what was told."""
        return [each["event"] for each in self.told]

    def ask(self, action: str, **arguments: Any) -> Path:
        """What another process asks for, heard by the driver; gives where the answer will be."""
        box = self.store.directory(JOB_ID) / "mailbox"
        send(box / "1.request", {"action": action, **arguments})
        self.requests.hear()
        return Path(str(box / "1.answer"))

    def report(self, **more: Any) -> TaskReport:
        """The report of the one subtask, which read nothing and said nothing."""
        fields: dict[str, Any] = {
            "vertex": 0,
            "subtask": 0,
            "records": 0,
            "ended": False,
            "watermark": 0,
            "runtime": b"",
            "splits": [],
            "published": [],
            "states": {},
            "watermarks": {},
            "next_timer": None,
        }
        return TaskReport(**(fields | more))
