"""From transformations to the StreamGraph. Flink: ``StreamGraphGenerator``.

The walk goes depth first through the inputs, as Flink's does, but on a list instead of the call stack, so that a chain may have
a hundred thousand operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from compat.compiler.configuration import JobSettings, RuntimeMode
from compat.compiler.errors import illegal_argument, illegal_state, unsupported
from compat.compiler.job import Job
from compat.compiler.streamgraph.builder import GraphBuilder
from compat.compiler.streamgraph.graph import GlobalExchangeMode, StreamGraph
from compat.compiler.streamgraph.translators import TRANSLATORS
from compat.compiler.streamgraph.translators.context import Context
from compat.compiler.transformations.kinds import LegacySource, Source, Transformation
from compat.compiler.transformations.pipeline import Pipeline

DEFAULT_JOB_NAME = "Flink Streaming Job"
DEFAULT_BATCH_JOB_NAME = "Flink Batch Job"


def generate(job: Job) -> StreamGraph:
    """The StreamGraph of a job. Raises a ProgramError of stage ``streamGraph`` if Flink refuses the job here."""
    return _Generation(job).run()


class _Generation:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._settings = job.settings
        self._pipeline = job.pipeline.copy()
        batch = _runs_as_batch(self._pipeline, self._settings)
        self._builder = GraphBuilder(batch=batch, dynamic=batch and self._settings.adaptive_batch)
        self._done: dict[int, tuple[int, ...]] = {}
        self._stack: list[int | Callable[[], None]] = []
        self._iterations = 0
        self._slot_resources = dict(self._pipeline.slot_sharing_groups)
        self._context = Context(
            builder=self._builder,
            pipeline=self._pipeline,
            settings=self._settings,
            node_ids=self._done.__getitem__,
            schedule=self._schedule,
            finished=self._done.__setitem__,
            iteration_ids=self._iteration_ids,
        )

    def run(self) -> StreamGraph:
        if not self._pipeline.registered:
            raise illegal_state("No operators defined in streaming topology. Cannot execute.", stage="streamGraph")
        for id in self._pipeline.registered:
            self._translate(id)
        batch = self._builder.batch
        return self._builder.graph(
            job_name=self._job.name
            or self._settings.job_name
            or (DEFAULT_BATCH_JOB_NAME if batch else DEFAULT_JOB_NAME),
            settings=self._settings,
            exchange_mode=_exchange_mode(batch, self._settings),
            slot_resources=self._slot_resources,
        )

    def _translate(self, id: int) -> None:
        """Translate a transformation after all it reads, and whatever its translator schedules, right after it."""
        stack = self._stack
        stack.append(id)
        while stack:
            step = stack.pop()
            if not isinstance(step, int):
                step()
                continue
            if step in self._done:
                continue
            transformation = self._pipeline[step]
            pending = [input for input in transformation.inputs if input not in self._done]
            if pending:
                stack.append(step)
                stack.extend(reversed(pending))
                continue
            self._check(transformation)
            self._note_slot_resources(transformation)
            ids = TRANSLATORS[type(transformation)](transformation, self._context)
            self._done.setdefault(step, ids)

    def _schedule(self, steps: Iterable[int | Callable[[], None]]) -> None:
        self._stack.extend(reversed(list(steps)))

    def _iteration_ids(self) -> tuple[int, int]:
        self._iterations += 2
        return 1 - self._iterations, -self._iterations

    def _check(self, transformation: Transformation) -> None:
        unnamed = transformation.uid is None and transformation.user_hash is None
        if transformation.physical and unnamed and not self._settings.auto_generated_uids:
            raise illegal_state(
                "Auto generated UIDs have been disabled but no UID or hash has been assigned to operator "
                f"{transformation.name}",
                stage="streamGraph",
                operator=transformation.name,
                location=transformation.location,
            )

    def _note_slot_resources(self, transformation: Transformation) -> None:
        """Keep what an operator says that the slots of its group need: all that say it have to say the same."""
        name, needs = transformation.slot_sharing_group, transformation.slot_resources
        if name is not None and needs is not None and self._slot_resources.setdefault(name, needs) != needs:
            raise illegal_argument(
                f"The slot sharing group {name} has been configured with two different resource spec.",
                stage="streamGraph",
                operator=transformation.name,
                location=needs.location,
            )


def _runs_as_batch(pipeline: Pipeline, settings: JobSettings) -> bool:
    """Whether the job runs in batch mode: as asked, or, if that is automatic, when every source is bounded."""
    if settings.mode is RuntimeMode.STREAMING:
        return False
    unbounded = _first_unbounded_source(pipeline)
    if settings.mode is RuntimeMode.BATCH and unbounded is not None:
        raise illegal_state(
            "Detected an UNBOUNDED source with the 'execution.runtime-mode' set to 'BATCH'. This combination is not "
            "allowed, please set the 'execution.runtime-mode' to STREAMING or AUTOMATIC",
            stage="streamGraph",
            operator=unbounded.name,
            location=unbounded.location,
        )
    return unbounded is None


def _first_unbounded_source(pipeline: Pipeline) -> Transformation | None:
    seen: set[int] = set()
    pending = list(pipeline.registered)
    while pending:
        id = pending.pop()
        if id in seen:
            continue
        seen.add(id)
        transformation = pipeline[id]
        if isinstance(transformation, Source | LegacySource) and not transformation.bounded:
            return transformation
        pending.extend(transformation.inputs)
    return None


def _exchange_mode(batch: bool, settings: JobSettings) -> GlobalExchangeMode:
    if not batch:
        if not settings.approximate_recovery:
            return GlobalExchangeMode.ALL_EDGES_PIPELINED
        if settings.unaligned:
            raise unsupported(
                "Approximate Local Recovery and Unaligned Checkpoint can not be used together yet",
                stage="streamGraph",
            )
        return GlobalExchangeMode.ALL_EDGES_PIPELINED_APPROXIMATE
    name = settings.batch_shuffle_mode.replace("ALL_EXCHANGES_", "ALL_EDGES_")
    try:
        return GlobalExchangeMode(name)
    except ValueError:
        raise illegal_argument(
            f"Unsupported shuffle mode '{settings.batch_shuffle_mode}' in BATCH runtime mode.",
            stage="streamGraph",
        ) from None
