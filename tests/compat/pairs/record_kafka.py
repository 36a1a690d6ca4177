"""Ask the classes of flink-connector-kafka what they make of restored partitions, and write it down: ``kafka.json``.

No broker is needed: the enumerator gets its topics from this script, and a consumer that nobody polls tells what it was
assigned. ``python -m tests.compat.pairs.record_kafka`` from the repository's root fetches each version from Maven Central.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).with_name("kafka.json")
VERSIONS = {"3.0.2-1.18": "1.20.0", "3.4.0-1.20": "1.20.0", "4.0.1-2.0": "2.3.0", "5.0.0-2.2": "2.3.0"}
"""The version of Flink that each version of the connector is run with."""

_KAFKA = "org.apache.flink.connector.kafka.source"
_ALIVE: list[Any] = []
"""What Java calls back, which has to outlive the call."""


def main() -> None:
    """Record every version, each in a process and a JVM of its own."""
    records = {}
    for version in VERSIONS:
        done = subprocess.run([sys.executable, "-m", __spec__.name, version], stdout=subprocess.PIPE, check=True)
        records[version] = json.loads(done.stdout.splitlines()[-1])
    RECORDS.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def record(version: str) -> dict[str, Any]:
    """What one version of the connector does."""
    import jpype

    from compat.loader.jvm.maven import Artifact, fetch
    from tests.compat.loader.jvm.support import flink_of

    name = "flink-connector-kafka"
    jars = fetch(f"{name}-{version}", [Artifact(group="org.apache.flink", name=name, version=version)])
    base = VERSIONS[version]
    base_jars = fetch(
        f"flink-connector-base-{base}",
        [Artifact(group="org.apache.flink", name="flink-connector-base", version=base)],
    )
    flink = flink_of(base)
    jpype.startJVM(
        classpath=[*map(str, jars), *map(str, base_jars), *flink.classpath],
        convertStrings=True,
        ignoreUnrecognized=True,
    )
    return {
        "topic dropped": _enumerated(["orders", "returns"], ["orders"], "committedOffsets"),
        "topic added": _enumerated(["orders"], ["orders", "returns"], "committedOffsets"),
        "start changed": _enumerated(["orders"], ["orders"], "earliest"),
        "first start": _enumerated(None, ["orders"], "committedOffsets"),
        "reader of a dropped topic": _read(["orders", "returns"]),
        "end of a restored split": _end(),
        "written": _written(),
    }


def _topic(name: str) -> Any:
    import jpype

    return jpype.JClass("org.apache.kafka.common.TopicPartition")(name, 0)


def _enumerated(known: list[str] | None, subscribed: list[str], start: str) -> dict[str, Any]:
    """The partitions that an enumerator hands out, with their starting offsets, and those that it then has in its state."""
    import jpype

    kafka, java = jpype.JPackage("org.apache.flink.connector.kafka.source"), jpype.java
    offsets = kafka.enumerator.initializer.OffsetsInitializer
    properties = java.util.Properties()
    properties.setProperty("bootstrap.servers", "localhost:1")
    properties.setProperty("client.id.prefix", "recorded")
    properties.setProperty("group.id", "recorded")
    properties.setProperty("partition.discovery.interval.ms", "1000")
    calls: list[tuple[Any, Any]] = []
    assignments: list[Any] = []

    info = jpype.JClass("org.apache.flink.api.connector.source.ReaderInfo")(0, "localhost")
    context = jpype.JProxy(
        "org.apache.flink.api.connector.source.SplitEnumeratorContext",
        dict={
            "currentParallelism": lambda: 1,
            "registeredReaders": lambda: java.util.Map.of(java.lang.Integer(0), info),
            "assignSplits": assignments.append,
            "callAsync": lambda callable, handler, *_period: calls.append((callable, handler)),
            "metricGroup": lambda: None,
            "signalNoMoreSplits": lambda _reader: None,
        },
    )
    subscriber = jpype.JProxy(
        "org.apache.flink.connector.kafka.source.enumerator.subscriber.KafkaSubscriber",
        dict={"getSubscribedTopicPartitions": lambda _client: java.util.HashSet(list(map(_topic, subscribed)))},
    )
    _ALIVE.extend((context, subscriber))
    ends = jpype.JClass(f"{_KAFKA}.enumerator.initializer.NoStoppingOffsetsInitializer").class_.getDeclaredConstructor()
    ends.setAccessible(True)
    given = [subscriber, getattr(offsets, start)(), ends.newInstance(), properties, context, _unbounded()]
    if known is not None:
        given.append(_state(known))
    enumerator = kafka.enumerator.KafkaSourceEnumerator(*given)
    enumerator.start()
    for callable, handler in calls:  # which grows meanwhile
        handler.accept(callable.call(), None)
    enumerator.addReader(0)
    handed = {
        str(split.getTopicPartition()): int(split.getStartingOffset())
        for assignment in assignments
        for splits in assignment.assignment().values()
        for split in splits
    }
    serializer = kafka.enumerator.KafkaSourceEnumStateSerializer()
    state = enumerator.snapshotState(1)
    again = serializer.deserialize(serializer.getVersion(), serializer.serialize(state))
    enumerator.close()
    kept = sorted(str(partition) for partition in _assigned(again))
    return {"handed out": dict(sorted(handed.items())), "in state": kept}


def _unbounded() -> Any:
    import jpype

    return jpype.JClass("org.apache.flink.api.connector.source.Boundedness").CONTINUOUS_UNBOUNDED


def _assigned(state: Any) -> Any:
    if hasattr(state, "assignedPartitions"):
        return state.assignedPartitions()
    return [split.getTopicPartition() for split in state.assignedSplits()]


def _state(topics: list[str]) -> Any:
    """The state of an enumerator that has handed out a partition of each topic, in the form that all versions read."""
    import jpype

    serializer = jpype.JClass(f"{_KAFKA}.enumerator.KafkaSourceEnumStateSerializer")
    written = jpype.java.io.ByteArrayOutputStream()
    out = jpype.java.io.DataOutputStream(written)
    out.writeInt(len(topics))
    for topic in topics:
        out.writeUTF(topic)
        out.writeInt(0)
    state = serializer().deserialize(1, written.toByteArray())
    first = next(
        one
        for one in jpype.JClass(f"{_KAFKA}.enumerator.KafkaSourceEnumerator").class_.getConstructors()
        if len(one.getParameterTypes()) == 7
    )
    takes_set = str(first.getParameterTypes()[6].getName()) == "java.util.Set"
    return state.assignedPartitions() if takes_set else state


def _read(topics: list[str]) -> list[str]:
    """The partitions that a reader's consumer is assigned for restored splits."""
    import jpype

    kafka, java = jpype.JPackage("org.apache.flink.connector.kafka.source"), jpype.java
    properties = java.util.Properties()
    for key, value in {
        "bootstrap.servers": "localhost:1",
        "client.id.prefix": "recorded",
        "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    }.items():
        properties.setProperty(key, value)
    groups = jpype.JClass("org.apache.flink.runtime.metrics.groups.InternalSourceReaderMetricGroup")
    unregistered = jpype.JClass("org.apache.flink.metrics.groups.UnregisteredMetricsGroup")
    metrics = groups.mock(unregistered())
    context = jpype.JProxy(
        "org.apache.flink.api.connector.source.SourceReaderContext",
        dict={"getIndexOfSubtask": lambda: 0, "metricGroup": lambda: metrics},
    )
    _ALIVE.append(context)
    reader_metrics = kafka.metrics.KafkaSourceReaderMetrics(metrics)
    made = kafka.reader.KafkaPartitionSplitReader
    newest = max(len(one.getParameterTypes()) for one in made.class_.getConstructors())
    split_reader = made(properties, context, reader_metrics, *([None] * (newest - 3)))
    addition = jpype.JClass("org.apache.flink.connector.base.source.reader.splitreader.SplitsAddition")
    splits = [kafka.split.KafkaPartitionSplit(_topic(topic), 42) for topic in topics]
    split_reader.handleSplitsChanges(addition(java.util.ArrayList(splits)))
    consumer = split_reader.getClass().getDeclaredMethod("consumer", [])
    consumer.setAccessible(True)
    return sorted(str(partition) for partition in consumer.invoke(split_reader, []).assignment())


def _end() -> int:
    """The end of a split that was written with the end 77 and read again."""
    import jpype

    split = jpype.JPackage("org.apache.flink.connector.kafka.source").split
    serializer = split.KafkaPartitionSplitSerializer()
    written = serializer.serialize(split.KafkaPartitionSplit(_topic("orders"), 42, 77))
    return int(serializer.deserialize(serializer.getVersion(), written).getStoppingOffset().get())


def _written() -> dict[str, str]:
    """What the connector's serializers write, in hexadecimal digits: a split without an end, one with one, a writer's state."""
    import jpype

    split = jpype.JPackage("org.apache.flink.connector.kafka.source").split
    serializer = split.KafkaPartitionSplitSerializer()
    splits = {
        "a split": split.KafkaPartitionSplit(_topic("orders"), 42),
        "a split with an end": split.KafkaPartitionSplit(_topic("orders"), 42, 77),
    }
    written = {name: _versioned(serializer, one) for name, one in splits.items()}
    sink = "org.apache.flink.connector.kafka.sink"
    state = jpype.JClass(f"{sink}.KafkaWriterState").class_
    made = min(state.getDeclaredConstructors(), key=lambda one: len(one.getParameterTypes()))
    made.setAccessible(True)
    given: list[Any] = ["counts"]
    if len(made.getParameterTypes()) > 1:
        ownership = jpype.JClass(f"{sink}.internal.TransactionOwnership")
        given += [jpype.JInt(0), jpype.JInt(1), ownership.EXPLICIT_BY_WRITER_STATE]
        transaction = jpype.JClass(f"{sink}.internal.CheckpointTransaction")
        given.append(jpype.java.util.List.of(transaction("counts-0-1", 1)))
    boxed = jpype.JObject[len(given)]
    for place, one in enumerate(given):
        boxed[place] = one
    serializer_of_state = jpype.JClass(f"{sink}.KafkaWriterStateSerializer").class_.getDeclaredConstructor()
    serializer_of_state.setAccessible(True)
    return written | {"a writer's state": _versioned(serializer_of_state.newInstance(), made.newInstance(boxed))}


def _versioned(serializer: Any, value: Any) -> str:
    """The bytes of a value as Flink keeps them: behind the version of the serializer and their length."""
    import jpype

    simple = jpype.JClass("org.apache.flink.core.io.SimpleVersionedSerialization")
    return bytes(simple.writeVersionAndSerialize(serializer, value)).hex()


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(record(sys.argv[1])))
    else:
        main()
