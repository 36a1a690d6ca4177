"""Streams that a program keeps between its jobs. Flink: ``CacheTransformation``, cluster partitions.

The job that first uses a cached stream writes its records into files of the store. Later jobs of the program read them instead
of running the stream's transformations. Damaged or missing files are noticed before a job starts; that job then makes the
records again. If a running job notices them, a separate job makes the records again. A job that has read some of them goes on
only if the records are the same. For this, the digests of its records lie beside each file, so that the file gets its old order
again, in whatever order the records come.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.base import Sink
from compat.compiler.datastream.connectors.base import Source as SourceConnector
from compat.compiler.job import Job
from compat.compiler.spark.plan import OperatorSpec, PhysicalPlan
from compat.compiler.spark.runtime_api.sinks import ProvingCommitter
from compat.compiler.spark.runtime_api.splits import CacheDamaged, Read, Split, SplitEnumerator
from compat.compiler.transformations.kinds import CacheTransformation, LegacySink, Source
from compat.compiler.transformations.kinds import Sink as SinkTransformation
from compat.compiler.transformations.operators import CacheWrite, SinkWriter
from compat.compiler.transformations.operators import Source as SourceOperator
from compat.compiler.transformations.pipeline import IdCounter, Pipeline
from compat.state.serializers import dump
from compat.state.stores.paths import Place, place_of

_MANIFEST = "manifest.json"
_RECORDS = ".records"
"""The end of the name of the file with the digests of a file's records."""
_DIGEST = 16
"""The bytes of one of them."""
_SIZE = struct.Struct("<Q")
"""The number of bytes of a record, before them."""


class NotTheSame(Exception):
    """The newly made records of a cached stream differ from those that a job has already read in part."""


@dataclass(slots=True)
class _Kept:
    """A cached stream: where its records are, whether the job that writes them has, and which jobs read them.

    ``files`` are the digests by name, once a job reads them.
    """

    place: Place
    complete: Callable[[], bool]
    files: dict[str, str] = field(default_factory=dict)
    readers: list[Callable[[], bool]] = field(default_factory=list)


class Caches:
    """The cached streams of a program, by their transformations. ``folder`` contains a folder for each job that writes some."""

    def __init__(self, folder: Place) -> None:
        self._folder = folder
        self._kept: dict[int, _Kept] = {}
        self._given_up: list[Place] = []

    def reading(self, job: Job) -> tuple[Job, set[int]]:
        """The job with sources in place of cached streams, and which streams these are."""
        kept = [each for each in _cached(job) if self._usable(each.id)]
        if not kept:
            return job, set()
        pipeline = job.pipeline.copy()
        for cache in kept:
            pipeline.add(self._source(cache), register=False)
        ends = [id for id in pipeline.registered if isinstance(pipeline[id], (SinkTransformation, LegacySink))]
        made = _upstream(job.pipeline, [cache.id for cache in kept]) - _upstream(pipeline, ends)
        pipeline.replace_registered([id for id in pipeline.registered if id not in made])
        return replace(job, pipeline=pipeline), {cache.id for cache in kept}

    def making(self, job: Job, cache: int) -> Job:
        """The job that makes only a stream's records, and nothing else of the given one."""
        pipeline = job.pipeline.copy(IdCounter(job.pipeline.next_id))
        needed = _upstream(job.pipeline, [cache]) - {cache}
        for each in _cached(job):
            if each.id in needed and each.id in self._kept and self._kept[each.id].complete():
                pipeline.add(self._source(each), register=False)
        pipeline.replace_registered([cache])
        name = f"Records of {job.pipeline[cache].name} again"
        return replace(job, pipeline=pipeline, name=name, collect=None, attached=True)

    def begun(self, job_id: str) -> Place:
        """The folder for what a job writes."""
        return self._folder / job_id

    def written(self, job_id: str, caches: Iterable[int], complete: Callable[[], bool]) -> None:
        """Record that a job writes these streams; ``complete`` says when all of their records exist."""
        for cache in caches:
            self.forget(cache)
            self._kept[cache] = _Kept(self.begun(job_id) / str(cache), complete)

    def read(self, caches: Iterable[int], over: Callable[[], bool]) -> None:
        """Record that a job reads these streams; ``over`` says when it no longer does."""
        for cache in caches:
            self._kept[cache].readers.append(over)

    def forget(self, cache: int) -> None:
        """Have a stream's records made again when they are next used; files that a job reads stay until the program ends."""
        kept = self._kept.pop(cache, None)
        if kept is None:
            return
        if kept.complete() and all(over() for over in kept.readers):
            kept.place.remove()
        self._given_up.append(kept.place)

    def close(self, read: Iterable[Place] = ()) -> None:
        """Remove all cached streams, and those that jobs ``read`` which began in another run of the program: they have no
        other user."""
        ours = [*self._given_up, *(kept.place for kept in self._kept.values())]
        for folder in {place.parent for place in (*ours, *read)}:
            folder.remove()

    def is_whole(self, cache: int, read: Sequence[Split]) -> bool:
        """True if the files are unchanged: those that a job began to read, or would begin with."""
        if read:
            return all(_digest(_place(split)) == split["digest"] for split in read)
        return self._is_whole(self._kept[cache])

    def restore(self, cache: int, made: Place, read: Sequence[Split]) -> None:
        """Put newly ``made`` records where a job finds them that began to ``read`` these files.

        A job that began with none takes any records. Raises NotTheSame.
        """
        if read:
            _rebuild([split for split in read if _digest(_place(split)) != split["digest"]], made)
            return
        kept = self._kept[cache]
        files = _manifest(made)
        for name in files:
            for end in ("", _RECORDS):
                (kept.place / f"{name}{end}").write((made / f"{name}{end}").read())
        (kept.place / _MANIFEST).write(json.dumps(files).encode())
        kept.files.clear()
        kept.files.update(files)

    def _usable(self, cache: int) -> bool:
        if cache not in self._kept or not self._kept[cache].complete():
            return False
        kept = self._kept[cache]
        kept.files.clear()
        kept.files.update(_manifest(kept.place))
        if self._is_whole(kept):
            return True
        self.forget(cache)
        return False

    @staticmethod
    def _is_whole(kept: _Kept) -> bool:
        return all(_digest(kept.place / name) == digest for name, digest in kept.files.items())

    def _source(self, cache: CacheTransformation) -> Source:
        kept = self._kept[cache.id]
        operator = SourceOperator(
            function=CachedRecords(kept.place, kept.files, cache.output_type, cache.id),
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


def writing(plan: PhysicalPlan, folder: Place, *, anew: bool) -> tuple[PhysicalPlan, set[int]]:
    """The plan with writers for the streams to be cached, below ``folder``, and which streams those are.

    ``anew`` is True for a job that has not written any of them yet.
    """
    caches = {spec.node for _, spec in plan.operators() if isinstance(spec.operator, CacheWrite)}
    if not caches:
        return plan, caches
    for cache in caches if anew else ():
        (folder / str(cache) / _MANIFEST).write(json.dumps({}).encode())

    def written(spec: OperatorSpec) -> OperatorSpec:
        if spec.node not in caches:
            return spec
        sink = CacheSink(folder / str(spec.node))
        return replace(spec, operator=SinkWriter(function=sink), output_type=None)

    tasks = (replace(task, operators=tuple(map(written, task.operators))) for task in plan.tasks)
    return replace(plan, tasks=tuple(tasks)), caches


def reads_cache(function: Any, cache: int) -> bool:
    """True for an operator that reads the records of a cached stream."""
    return isinstance(function, CachedRecords) and function.cache == cache


def places_read(function: Any, splits: Iterable[Split]) -> set[Place]:
    """The folders of the files in a source's splits, if it reads a cached stream."""
    return {_place(split).parent for split in splits} if isinstance(function, CachedRecords) else set()


def _cached(job: Job) -> list[CacheTransformation]:
    return [each for each in job.pipeline if isinstance(each, CacheTransformation)]


def _rebuild(splits: Sequence[Split], made: Place) -> None:
    """Make files again as they were, of records that were made again. Raises NotTheSame, and then no file was touched."""
    wanted: dict[str, list[bytes]] = {}
    for split in splits:
        try:
            told = (place_of(f"{_place(split)}{_RECORDS}")).read()
        except OSError:
            raise NotTheSame("what they were is not known any more") from None
        wanted[split["path"]] = [told[at : at + _DIGEST] for at in range(0, len(told), _DIGEST)]
    needed = {digest for digests in wanted.values() for digest in digests}
    found: dict[bytes, bytes] = {}
    for name in _manifest(made):
        for record in _records_of((made / name).read()):
            digest = _of_record(record)
            if digest in needed:
                found[digest] = record
    files: list[tuple[Place, bytes]] = []
    for split in splits:
        data = _as_file([found.get(digest, b"") for digest in wanted[split["path"]]])
        if _of_file(data) != split["digest"]:
            raise NotTheSame("the program makes others now")
        files.append((_place(split), data))
    for place, data in files:
        place.write(data)


def _upstream(pipeline: Pipeline, ids: list[int]) -> set[int]:
    """These transformations and all that they read."""
    seen, pending = set(ids), list(ids)
    while pending:
        for input in pipeline[pending.pop()].inputs:
            if input not in seen:
                seen.add(input)
                pending.append(input)
    return seen


def _manifest(path: Place) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads((path / _MANIFEST).read())
    except (FileNotFoundError, ValueError):
        return {_MANIFEST: "damaged"}
    return found


def _digest(path: Place) -> str | None:
    try:
        return _of_file(path.read())
    except FileNotFoundError:
        return None


def _as_file(records: Iterable[bytes]) -> bytes:
    """The contents of a file: the same for the same records, which lists that are pickled are not."""
    return b"".join(part for record in records for part in (_SIZE.pack(len(record)), record))


def _records_of(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        start = at + _SIZE.size
        at = start + _SIZE.unpack_from(data, at)[0]
        yield data[start:at]


def _of_file(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _of_record(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def _place(split: Split) -> Place:
    return place_of(split["path"])


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
        """Add the files of an epoch to the manifest; a second call changes nothing."""
        named = {**_manifest(self._path), **{name: digest for name, digest, _ in committables}}
        (self._path / _MANIFEST).write(json.dumps(named).encode())


class CacheWriter:
    """Writes the records of a subtask in an epoch: a list of (value, timestamp), each pickled by itself."""

    def __init__(self, path: Place) -> None:
        self._path = path
        self._records: list[bytes] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""
        self._records.append(dump((value, timestamp)))

    def prepare_commit(self) -> list[Any]:
        """Write the file; gives its name, digest and size."""
        if not self._records:
            return []
        data = _as_file(self._records)
        name = uuid.uuid4().hex
        (self._path / f"{name}{_RECORDS}").write(b"".join(map(_of_record, self._records)))
        (self._path / name).write(data)
        return [(name, _of_file(data), len(data))]


class CachedRecords(SourceConnector):
    """Reads the files of a :class:`CacheSink`: a split is a file. Its contents were pickled by the program itself."""

    def __init__(self, path: Place, files: dict[str, str], produced_type: Any, cache: int) -> None:
        super().__init__(bounded=True, produced_type=produced_type)
        self._path = path
        self._files = files
        self.cache = cache

    def create_enumerator(self, parallelism: int) -> _CachedFiles:
        """The enumerator."""
        return _CachedFiles(self._path, self._files)

    def create_reader(self) -> CachedRecords:
        """The reader."""
        return self

    def read(self, split: Split, limit: int) -> Read:
        """Records of a file. Raises CacheDamaged."""
        try:
            data = _place(split).read()
        except OSError:
            raise CacheDamaged(self.cache) from None
        if _of_file(data) != split["digest"]:
            raise CacheDamaged(self.cache)
        records = list(_records_of(data))
        end = split["next"] + limit
        part = [pickle.loads(record) for record in records[split["next"] : end]]
        values, times = [value for value, _ in part], [time for _, time in part]

        def after(count: int) -> Split:
            return {**split, "next": split["next"] + count}

        return Read(values, times, after(len(part)), end >= len(records), after)


class _CachedFiles(SplitEnumerator):
    """Finds the files, once: a job that goes on in another run of the program reads those that it began to read."""

    complete = True

    def __init__(self, path: Place, files: dict[str, str]) -> None:
        self._path = path
        self._files = files

    def discover(self, known: set[str]) -> list[Split]:
        if known:
            return []
        found = sorted(self._files.items())
        return [{"id": name, "path": str(self._path / name), "next": 0, "digest": digest} for name, digest in found]
