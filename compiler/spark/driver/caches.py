"""Streams that a program keeps between its jobs. Flink: ``CacheTransformation``, cluster partitions.

The job that first uses a cached stream writes its records into files of the store. Later jobs of the program read them in
the place of what made the stream. Files that are damaged or gone are noticed before a job starts, which then makes the
records again, and by a job that reads them: unless something of it is committed already, ``execute()`` runs it anew.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import uuid
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.base import Sink
from compat.compiler.datastream.connectors.base import Source as SourceConnector
from compat.compiler.job import Job
from compat.compiler.spark.connectors.sinks import ProvingCommitter
from compat.compiler.spark.connectors.splits import CacheDamaged, Read, Split, SplitEnumerator
from compat.compiler.spark.plan import OperatorSpec, PhysicalPlan
from compat.compiler.transformations.model import CacheTransformation, LegacySink, Source
from compat.compiler.transformations.model import Sink as SinkTransformation
from compat.compiler.transformations.operators import CacheWrite, SinkWriter
from compat.compiler.transformations.operators import Source as SourceOperator
from compat.compiler.transformations.pipeline import Pipeline
from compat.state.serializers import dump
from compat.state.stores.places import Place

_MANIFEST = "manifest.json"


class Caches:
    """The cached streams of a program, by their transformations. ``folder`` is where their records are kept."""

    def __init__(self, folder: Place) -> None:
        self._folder = folder / uuid.uuid4().hex
        self._finished: dict[int, Callable[[], bool]] = {}

    def reading(self, job: Job) -> Job:
        """The job with sources in the place of streams that are kept."""
        kept = [each for each in job.pipeline if isinstance(each, CacheTransformation) and self._usable(each.id)]
        if not kept:
            return job
        pipeline = job.pipeline.copy()
        for cache in kept:
            pipeline.add(self._source(cache), register=False)
        ends = [id for id in pipeline.registered if isinstance(pipeline[id], (SinkTransformation, LegacySink))]
        made = _upstream(job.pipeline, [cache.id for cache in kept]) - _upstream(pipeline, ends)
        pipeline.replace_registered([id for id in pipeline.registered if id not in made])
        return replace(job, pipeline=pipeline)

    def writing(self, plan: PhysicalPlan) -> tuple[PhysicalPlan, set[int]]:
        """The plan with writers where streams are to be kept, and which streams those are once it has finished."""
        caches = {spec.node for _, spec in plan.operators() if _is_cache(spec)}
        if not caches:
            return plan, caches

        def written(spec: OperatorSpec) -> OperatorSpec:
            if not _is_cache(spec):
                return spec
            sink = CacheSink(self._path(spec.node))
            return replace(spec, operator=SinkWriter(function=sink), output_type=None)

        tasks = (replace(task, operators=tuple(map(written, task.operators))) for task in plan.tasks)
        return replace(plan, tasks=tuple(tasks)), caches

    def written(self, caches: set[int], finished: Callable[[], bool]) -> None:
        """A job writes these streams; ``finished`` tells when it has."""
        self._finished |= dict.fromkeys(caches, finished)

    def forget(self, cache: int) -> None:
        """Make a stream's records again when they are next used."""
        self._finished.pop(cache, None)
        self._path(cache).remove()

    def close(self) -> None:
        """Keep nothing any longer: no other job reads it."""
        self._folder.remove()

    def _path(self, cache: int) -> Place:
        return self._folder / str(cache)

    def _usable(self, cache: int) -> bool:
        if cache not in self._finished or not self._finished[cache]():
            return False
        path = self._path(cache)
        if all(_digest(path / name) == digest for name, digest in _manifest(path).items()):
            return True
        self.forget(cache)
        return False

    def _source(self, cache: CacheTransformation) -> Source:
        operator = SourceOperator(
            function=CachedRecords(self._path(cache.id), cache.output_type, cache.id),
            watermark_strategy=WatermarkStrategy.no_watermarks(),
        )
        return Source(
            id=cache.id,
            name="CachedSource",
            output_type=cache.output_type,
            parallelism=cache.parallelism,
            bounded=True,
            operator=operator,
            location=cache.location,
        )


def _upstream(pipeline: Pipeline, ids: list[int]) -> set[int]:
    """These transformations and all that they read."""
    seen, pending = set(ids), list(ids)
    while pending:
        for input in pipeline[pending.pop()].inputs:
            if input not in seen:
                seen.add(input)
                pending.append(input)
    return seen


def _is_cache(spec: OperatorSpec) -> bool:
    return isinstance(spec.operator, CacheWrite)


def _manifest(path: Place) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads((path / _MANIFEST).read())
    except FileNotFoundError:
        return {}
    except ValueError:
        return {_MANIFEST: "damaged"}
    return found


def _digest(path: Place) -> str | None:
    try:
        return hashlib.sha256(path.read()).hexdigest()
    except FileNotFoundError:
        return None


class CacheSink(Sink, ProvingCommitter):
    """Writes records into files of a folder, and their names and digests into its manifest."""

    def __init__(self, path: Place) -> None:
        super().__init__()
        self._path = path

    def create_writer(self, context: Any) -> CacheWriter:
        """The writer of a subtask."""
        return CacheWriter(self._path)

    def create_committer(self) -> CacheSink:
        """The committer."""
        return self

    def sweep(self, job_id: str, epoch: int, pending: Collection[str]) -> None:
        """Nothing: files that the manifest does not name are not read."""

    def files(self, committables: list[Any]) -> Iterable[tuple[str, int]]:
        return ((str(self._path / name), size) for name, _, size in committables)

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """Name the files of an epoch in the manifest; again changes nothing."""
        named = {**_manifest(self._path), **{name: digest for name, digest, _ in committables}}
        (self._path / _MANIFEST).write(json.dumps(named).encode())


class CacheWriter:
    """Writes the records of a subtask in an epoch."""

    def __init__(self, path: Place) -> None:
        self._path = path
        self._records: list[tuple[Any, int | None]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""
        self._records.append((value, timestamp))

    def prepare_commit(self) -> list[Any]:
        """Write the file; gives its name, digest and size."""
        if not self._records:
            return []
        data = dump(self._records)
        name = uuid.uuid4().hex
        (self._path / name).write(data)
        return [(name, hashlib.sha256(data).hexdigest(), len(data))]


class CachedRecords(SourceConnector):
    """Reads what a :class:`CacheSink` wrote: a split is a file. The program itself pickled what is in it."""

    def __init__(self, path: Place, produced_type: Any, cache: int) -> None:
        super().__init__(bounded=True, produced_type=produced_type)
        self._path = path
        self._cache = cache

    def create_enumerator(self, parallelism: int) -> _CachedFiles:
        """The enumerator."""
        return _CachedFiles(self._path)

    def create_reader(self) -> CachedRecords:
        """The reader."""
        return self

    def read(self, split: Split, limit: int) -> Read:
        """Records of a file. Raises CacheDamaged."""
        try:
            data = (self._path / split["id"]).read()
        except OSError:
            raise CacheDamaged(self._cache) from None
        if hashlib.sha256(data).hexdigest() != split["digest"]:
            raise CacheDamaged(self._cache)
        records = pickle.loads(data)
        end = split["next"] + limit
        part = records[split["next"] : end]
        values, times = [value for value, _ in part], [time for _, time in part]
        return Read(values, times, {**split, "next": split["next"] + len(part)}, end >= len(records))


class _CachedFiles(SplitEnumerator):
    complete = True

    def __init__(self, path: Place) -> None:
        self._path = path

    def discover(self, known: set[str]) -> list[Split]:
        found = sorted(_manifest(self._path).items())
        return [{"id": name, "next": 0, "digest": digest} for name, digest in found if name not in known]
