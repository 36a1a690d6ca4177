"""Made-up values of an operator's states, written by the program's own serializers for another version to read.

They are made of states that hold values of the program's own classes in a way that no snapshot of a serializer tells, or
that code of the program makes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import jpype
import msgspec

from compat.loader.jvm.asking import raw_serializers
from compat.loader.jvm.bridge import Java, byte_array, bytes_of, class_name, flink, is_a, member
from compat.loader.jvm.classes import makes_records
from compat.loader.jvm.harness import keyed_backend
from compat.loader.jvm.keys import NoSample
from compat.loader.jvm.made_up import MadeUp
from compat.loader.jvm.messages import DeclaredState
from compat.loader.jvm.pictures import fields_of, in_words
from compat.state.model.samples import Sample, SampleOf, SampleValue

_SEEDS = range(2)
_VOID = "runtime.state.VoidNamespaceSerializer"
_FAILURES = (jpype.JException, NoSample, AttributeError, TypeError)

Take = Callable[[SampleOf], bytes]
"""Gives the ``_metadata`` of a savepoint of an open operator's keyed or operator state."""


def samples_of(operator: str, made: Java, states: Iterable[DeclaredState], take: Take) -> Iterator[Sample]:
    """Made-up values of the states of an open operator, whose id is ``operator``, as far as they can be made."""
    for state in states:
        if state.scope not in _PUT:
            continue
        serializer, put, of = _PUT[state.scope]
        if not state.classes and not makes_records(serializer(made, state.name)):
            continue
        try:
            values = tuple(put(made, state.name))
            written = take(of)
            _emptied(made, state)
        except _FAILURES:
            break  # a former value may still be there
        yield Sample(
            operator=operator, of=of, state=state.name, classes=digest_of_classes(state), values=values, written=written
        )


def digest_of_classes(state: DeclaredState) -> str:
    """A digest of how a state is written: its serializers, and the program's classes behind them."""
    told = msgspec.json.encode((state.serializers, state.classes))
    return hashlib.sha256(told).hexdigest()[:32]


def raw_samples(operator: str, made: Java, config: Java) -> Iterator[Sample]:
    """Made-up values of what an operator writes into raw state with a serializer that one of its fields holds."""
    for field, serializer in raw_serializers(made, config):
        for seed in _SEEDS:
            makes = MadeUp(seed)
            try:
                written, value = through(serializer, makes.by(serializer))
            except _FAILURES:
                break
            told = SampleValue(fields=fields_of(value), whole=makes.whole)
            yield Sample(operator=operator, of=SampleOf.RAW, state=field, values=(told,), written=written)


def versioned_samples(operator: str, serializers: Iterable[tuple[str, Java]]) -> Iterator[Sample]:
    """Made-up values of what the ``SimpleVersionedSerializers`` of a source or sink write, by what they are kept as."""
    versions = flink("core.io.SimpleVersionedSerialization")
    for name, serializer in serializers:
        for seed in _SEEDS:
            makes = MadeUp(seed)
            try:
                value = makes.of(_type_of(serializer), {})
                written = bytes_of(versions.writeVersionAndSerialize(serializer, value))
                read = versions.readVersionAndDeSerialize(serializer, byte_array(written))
            except _FAILURES:
                break
            told = SampleValue(fields=fields_of(read), whole=makes.whole)
            yield Sample(
                operator=operator,
                of=SampleOf.VERSIONED,
                state=name,
                serializer=class_name(serializer) or "",
                values=(told,),
                written=written,
            )


def _type_of(serializer: Java) -> Java:
    """The type that a ``SimpleVersionedSerializer`` writes, by its own method, not by the one that calls it."""
    for method in serializer.getClass().getMethods():
        if str(method.getName()) == "deserialize" and not method.isBridge() and method.getParameterCount() == 2:
            return method.getGenericReturnType()
    raise NoSample


def through(serializer: Java, value: Java) -> tuple[bytes, Java]:
    """The bytes of a value, and what its own serializer reads from them."""
    out = flink("core.memory.DataOutputSerializer")(256)
    serializer.serialize(value, out)
    written = bytes_of(out.getCopyOfBuffer())
    return written, serializer.deserialize(flink("core.memory.DataInputDeserializer")(byte_array(written)))


def _table(made: Java, name: str) -> Java:
    return member(keyed_backend(made), "registeredKVStates").get(name)


def _list(made: Java, name: str) -> Java:
    return member(made.getOperatorStateBackend(), "registeredOperatorStates").get(name)


def _of_table(made: Java, name: str) -> Java:
    return _table(made, name).getMetaInfo().getStateSerializer()


def _of_list(made: Java, name: str) -> Java:
    return _list(made, name).getStateMetaInfo().getPartitionStateSerializer()


def _keyed(made: Java, name: str) -> Iterator[SampleValue]:
    """Put values into a keyed state on the heap, each for a key of its own."""
    backend, table = keyed_backend(made), _table(made, name)
    for seed in _SEEDS:
        makes = MadeUp(seed)
        key = makes.by(backend.getKeySerializer())
        keyed, makes.whole = makes.whole, True
        info = table.getMetaInfo()
        namespace = _namespace(info.getNamespaceSerializer(), makes)
        value = makes.by(info.getStateSerializer())
        _, read = through(info.getStateSerializer(), value)
        backend.setCurrentKey(key)
        table.put(namespace, value)
        yield SampleValue(fields=fields_of(read), key=in_words(key), whole=makes.whole and keyed)


def _namespace(serializer: Java, makes: MadeUp) -> Java:
    return flink("runtime.state.VoidNamespace").INSTANCE if is_a(serializer, _VOID) else makes.by(serializer)


def _listed(made: Java, name: str) -> Iterator[SampleValue]:
    """Put values into a list of operator state, in place of those that the function put there itself."""
    state, serializer = _list(made, name), _of_list(made, name)
    state.clear()
    for seed in _SEEDS:
        makes = MadeUp(seed)
        value = makes.by(serializer)
        _, read = through(serializer, value)
        state.add(value)
        yield SampleValue(fields=fields_of(read), key=str(seed), whole=makes.whole)


def _emptied(made: Java, state: DeclaredState) -> None:
    """Take the values out again."""
    if state.scope != "keyed":
        _list(made, state.name).clear()
        return
    backend, table = keyed_backend(made), _table(made, state.name)
    for entry in list(table):
        backend.setCurrentKey(entry.getKey())
        table.remove(entry.getNamespace())


_PUT = {"keyed": (_of_table, _keyed, SampleOf.KEYED), "operator": (_of_list, _listed, SampleOf.OPERATOR)}
