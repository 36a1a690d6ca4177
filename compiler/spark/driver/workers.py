"""Work on much state as jobs of Spark's: parts that have nothing to do with one another, done on the machines of the job.

Jobs are small, one after the other: what an epoch needs comes between two of them, where they all want the same cores.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Struct

from compat.compiler.datastream.served import served
from compat.compiler.spark.driver.session import Spark, reason_of
from compat.state.delta.errors import StoreError
from compat.state.delta.work import Workers

P = TypeVar("P")
R = TypeVar("R")


def tag_of(job_id: str) -> str:
    """The tag of all work on the state of a job: the process that takes the job over ends work that the last driver left."""
    return f"state-of-{job_id}"


class SparkWorkers(Workers):
    """Tasks of Spark, which ``spark`` gives; of the job with that id.

    Workers ``beside`` epochs leave half of the cores to the epochs, and do not start Spark themselves. ``setup`` is called in
    each worker before it loads the work, which may name types of programs.
    """

    def __init__(
        self, spark: Callable[[], Spark], job_id: str, *, beside: bool = False, setup: Callable[[], None] = served
    ) -> None:
        self._spark, self._job_id, self._beside, self._setup = spark, job_id, beside, setup
        self._group = uuid.uuid4().hex
        self._given_up = False

    def beside(self) -> SparkWorkers:
        """The workers that work beside epochs."""
        return SparkWorkers(self._spark, self._job_id, beside=True, setup=self._setup)

    def each(self, work: Callable[[P], R], parts: Sequence[P]) -> list[R]:
        made: list[R] = []
        left = list(parts)
        while left:
            cores = int(self._context().defaultParallelism)
            now = left[: max(1, cores // 2) if self._beside else cores]
            made += self._job(work, now)
            left = left[len(now) :]
        return made

    def give_up(self) -> None:
        """Stop working: :meth:`each` raises StoreError. May be called in any thread."""
        self._given_up = True
        spark = self._spark()
        with suppress(Exception):  # it may be lost, or not yet there
            if spark.alive:
                spark.context.cancelJobGroup(self._group)

    def _context(self) -> Any:
        spark = self._spark()
        if self._given_up or (self._beside and not spark.alive):
            raise StoreError("The work was given up.")
        try:
            return spark.context
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(f"Spark does not start: {reason_of(error)} (Spark's log: {spark.log})") from error

    def _job(self, work: Callable[[P], R], parts: Sequence[P]) -> list[R]:
        context, spark = self._context(), self._spark()
        try:
            context.setJobGroup(self._group, "work on much state", interruptOnCancel=True)
            context.addJobTag(tag_of(self._job_id))
            if spark.pool is not None:
                context.setLocalProperty("spark.scheduler.pool", spark.pool)
            given = context.parallelize(list(enumerate(parts)), len(parts))
            from pyspark import cloudpickle

            dumps: Any = cloudpickle.dumps
            packed = _Work(self._job_id, dumps(self._setup), dumps(work))
            found = given.mapPartitionsWithIndex(packed).values().collect()
        except Exception as error:
            raise StoreError(f"Spark lost work on the state: {reason_of(error)} (Spark's log: {spark.log})") from error
        made: list[R] = []
        for each in found:
            if isinstance(each, _Failed):
                raise StoreError(each.message)
            made.append(each)
        if len(made) != len(parts):
            raise StoreError(f"Spark lost work on the state: {len(parts)} parts were to be done, and {len(made)} were.")
        return made


class _Failed(Struct, frozen=True):
    """A part that could not be done."""

    message: str


class _Work(Struct, frozen=True):
    """The code of the tasks: the pairs that they are given are of a part's number and the part."""

    job_id: str
    setup: bytes
    work: bytes

    def __call__(self, partition: int, pairs: Iterable[tuple[int, P]]) -> Iterator[tuple[int, Any]]:
        pickle.loads(self.setup)()
        work = pickle.loads(self.work)
        for number, part in pairs:
            try:
                yield number, work(part)
            except StoreError as error:  # it says all there is to say
                yield number, _Failed(str(error))
