"""Made-up values written by OLD's program and read by NEW's operators: a test that serializer snapshots cannot replace.

They are treated like real ones: restored by Flink on each backend, converted where serializers ask for it, written and
read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from compat.loader.jvm.asking import raw_serializers
from compat.loader.jvm.backends import (
    Given,
    failure_of,
    on_hashmap,
    on_rocksdb,
    restored_entries,
    restored_lists,
)
from compat.loader.jvm.bridge import Java, byte_array, flink, java
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.harness import Bounds, OperatorFailed, bounded, harness, operator_of
from compat.loader.jvm.messages import Backend, Moment, RestoreFailure, Sampled, Scope, StateReading
from compat.loader.jvm.pictures import Unlike, fields_of, in_words, unlike
from compat.loader.jvm.states import canonical_snapshot, infos
from compat.loader.jvm.versioned import read_version, versioned
from compat.loader.jvm.writing import through
from compat.state.model.samples import Sample, SampleOf

T = TypeVar("T")
Read = Mapping[str, Mapping[str, str]]
"""The fields of values by what the key of each is."""


class Reading(Struct, frozen=True):
    """The reading of samples of one operator of OLD by that of NEW, on the backends that restore its state without values.

    ``converted`` are the states whose old values NEW's serializers convert: there, a field may have another content on purpose.
    ``new`` is the state of NEW's operator before its first record.
    """

    operator: Configured
    bounds: Bounds
    fit: Sequence[tuple[Backend, Java]]
    converted: Collection[str]
    new: Java

    def read(self, samples: Iterable[Sample]) -> Iterator[StateReading | Sampled]:
        """The result for each sample: how it fails on a backend, and on which backends it was read."""
        for sample in samples:
            good: dict[Backend, tuple[str, ...]] = {}
            for backend, made_by in self._backends(sample):
                match self._on(sample, backend, made_by):
                    case StateReading() as failed:
                        yield failed
                    case tuple() as unlike_ones:
                        good[backend] = unlike_ones
            if good:
                yield Sampled(
                    scope=_scope(sample),
                    name=sample.serializer or sample.state,
                    backends=tuple(good),
                    read=len(sample.values),
                    whole=all(one.whole for one in sample.values),
                    unlike=tuple(dict.fromkeys(path for one in good.values() for path in one)),
                )

    def _backends(self, sample: Sample) -> Sequence[tuple[Backend, Java]]:
        return self.fit if sample.of is SampleOf.KEYED else [("any", None)] if self.fit else []

    def _on(self, sample: Sample, backend: Backend, made_by: Java) -> StateReading | tuple[str, ...] | None:
        """Read a sample on a backend: how that fails, or the fields that hold something else; None if nobody reads it."""
        try:
            read = self._values(sample, backend, made_by)
        except _Failed as error:
            return self._failure(sample, backend, failure_of(error.failed), error.moment)
        if read is None:
            return None
        found = [unlike(one.fields, read.get(one.key, {})) for one in sample.values]
        if not self._is_misread(sample, found):
            return tuple(path or "the value" for one in found for path in (*one.moved, *one.changed, *one.gone))
        said = RestoreFailure(type="MovedValues", message=_sentence(sample, read, found))
        return self._failure(sample, backend, said, "moved")

    def _is_misread(self, sample: Sample, found: Iterable[Unlike]) -> bool:
        """Whether values are not what they were, where nobody says that they are made into others."""
        converted = sample.of is SampleOf.VERSIONED or (
            sample.of is not SampleOf.RAW and sample.state in self.converted
        )
        return any(one.moved or (one.changed and not converted) for one in found)

    def _failure(self, sample: Sample, backend: Backend, failure: RestoreFailure, at: Moment) -> StateReading:
        name = sample.state if sample.of in (SampleOf.KEYED, SampleOf.OPERATOR) else ""
        return StateReading(backend=backend, scope=_scope(sample), name=name, failure=failure, at=at, made_up=True)

    def _values(self, sample: Sample, backend: Backend, made_by: Java) -> Read | None:
        """What NEW makes of a sample; None if it has nothing that reads it. Raises _Failed."""
        if sample.of in (SampleOf.RAW, SampleOf.VERSIONED):
            return self._timed("restore", lambda: self._of_one(sample))
        given = _given(sample, self.bounds.loader)
        if sample.of is SampleOf.OPERATOR:
            read = self._timed("restore", lambda: restored_lists(given, sample.state, self.bounds.loader))
            return self._timed("checkpoint", lambda: self._written_again(sample.state, read))
        if backend == "hashmap":
            made = self._timed("restore", lambda: on_hashmap(self.operator, given, self.bounds.loader))
            again = self._timed(
                "checkpoint", lambda: Given(canonical_snapshot(self.operator, made), given.max_parallelism)
            )
        else:
            written = self._timed("restore", lambda: on_rocksdb(self.operator, given, self.bounds.loader, made_by))
            if written is None:
                return None
            again = written
        entries = self._timed(
            "first-read", lambda: restored_entries(self.operator, again, sample.state, self.bounds.loader)
        )
        return {in_words(key): fields_of(value) for key, value in entries}

    def _written_again(self, name: str, values: Iterable[Java]) -> Read:
        """Values of operator state as the next checkpoint writes them."""
        info = infos(self.new, self.bounds.loader).states["operator", name]
        serializer = info.getSerializerSnapshotsImmutable().get("VALUE_SERIALIZER").restoreSerializer()
        return {str(place): fields_of(through(serializer, value)[1]) for place, value in enumerate(values)}

    def _of_one(self, sample: Sample) -> Read | None:
        """What is read of a single value by what has the same name in NEW: nobody asks that whether it can."""
        made = harness(self.operator, self.bounds.loader, 1)
        if sample.of is SampleOf.RAW:
            found = dict(raw_serializers(operator_of(made), self.operator.execution))
            data = flink("core.memory.DataInputDeserializer")(byte_array(sample.written))
            read = None if sample.state not in found else found[sample.state].deserialize(data)
        else:
            made.initializeEmptyState()
            found = dict(versioned(made.getOperatorFactory(), operator_of(made)))
            read = None if sample.state not in found else read_version(found[sample.state], sample.written)
        return None if read is None else {one.key: fields_of(read) for one in sample.values}

    def _timed(self, moment: Moment, work: Callable[[], T]) -> T:
        try:
            return bounded(work, self.bounds, "A sample")
        except OperatorFailed as error:
            raise _Failed(error, moment) from error


def _scope(sample: Sample) -> Scope:
    return "keyed" if sample.of is SampleOf.KEYED else "operator"


class _Failed(Exception):
    """A sample that NEW cannot read or write, and when that shows."""

    def __init__(self, failed: OperatorFailed, moment: Moment) -> None:
        super().__init__(str(failed))
        self.failed, self.moment = failed, moment


def _given(sample: Sample, loader: Java) -> Given:
    """The state in a savepoint of one operator."""
    stream = java("java.io.DataInputStream")(java("java.io.ByteArrayInputStream")(byte_array(sample.written)))
    metadata = flink("runtime.checkpoint.Checkpoints").loadCheckpointMetadata(stream, loader, "")
    state = next(iter(metadata.getOperatorStates()))
    return Given(state.getState(0), int(state.getMaxParallelism()))


def _sentence(sample: Sample, read: Read, found: Iterable[Unlike]) -> str:
    """What the first field that holds something else held, and holds now."""
    one, path = next(
        (one, (*told.moved, *told.changed)[0])
        for one, told in zip(sample.values, found, strict=True)
        if told[:2] != ((), ())
    )
    what = f"The field {path}" if path else "The value"
    return f"{what} was {one.fields[path]}, and is read as {read[one.key][path]}."
