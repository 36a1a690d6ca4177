"""Kafka: what tasks read from the brokers themselves, beside Spark's own reader; what sinks cost; an epoch of ten records.

    python tests/benchmarks/bench_kafka.py [--records 1000000] [--spark-reader --packages … --excludes … --jars …]

A broker is started on this machine and shares its cores. Printed are medians over runs, and the fastest and slowest; the
contenders take turns in every run. Spark's reader gets the same offsets as a batch, and hands its values to Python packed by
Arrow; its package comes from Spark's resolver. Where a part of it cannot be had, ``--excludes`` and ``--jars`` are Spark's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from compat.compiler.datastream.common.serialization import SimpleStringSchema  # noqa: E402
from compat.compiler.datastream.connectors.base import DeliveryGuarantee  # noqa: E402
from compat.compiler.datastream.connectors.kafka import (  # noqa: E402
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from compat.compiler.spark.connectors.kafka.source import KafkaReader  # noqa: E402
from compat.compiler.spark.connectors.sinks import committer_of, writer_of  # noqa: E402
from compat.compiler.spark.runtime_api.sinks import WriterContext  # noqa: E402
from tests.compiler.spark.kafka_broker import KafkaBroker  # noqa: E402

PARTITIONS = 2
TEXT = SimpleStringSchema()
JOB = """
from pyflink.common import Types
from pyflink.common.serialization import SimpleStringSchema
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
source = KafkaSource.builder().set_bootstrap_servers("{servers}").set_topics("{topic}")
source = source.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest()).build()
stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
pair = Types.TUPLE([Types.STRING(), Types.LONG()])
stream.map(lambda v: (v[-3:], 1), pair).key_by(lambda p: p[0], Types.STRING()).sum(1).filter(lambda p: False).print()
env.execute("reading")
"""


def show(name: str, records: int, seconds: list[float]) -> None:
    """A line of the result."""
    median = statistics.median(seconds)
    print(f"{name:<56}{median:8.3f} s  ({min(seconds):.3f} to {max(seconds):.3f}){records / median:12,.0f} records/s")


def timed(work: Callable[[], object]) -> float:
    """Seconds of a call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def of_reader(broker: KafkaBroker, topic: str) -> Callable[[int, int], None]:
    """Reads offsets of all partitions, one after the other, in this process."""
    source = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic)
    reader = KafkaReader(source.set_value_only_deserializer(TEXT).build())

    def read(start: int, end: int) -> None:
        for number in range(PARTITIONS):
            split = {"id": "", "topic": topic, "partition": number, "next": start, "to": end}
            assert len(reader.read(split, end - start).values) == end - start

    return read


def of_spark(broker: KafkaBroker, topic: str, options: argparse.Namespace) -> Callable[[int, int], None]:
    """Reads offsets of all partitions at once, by Spark's reader, into Python lists on two cores."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.jars.packages": options.packages,
        "spark.jars.excludes": options.excludes,
        "spark.jars": options.jars,
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.adaptive.enabled": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        if value:
            builder = builder.config(name, value)
    spark = builder.getOrCreate()

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            values = [value.decode() for value in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"n": [len(values)]})

    def offsets(at: int) -> str:
        return json.dumps({topic: {str(number): at for number in range(PARTITIONS)}})

    def read(start: int, end: int) -> None:
        frame = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.servers)
        frame = frame.option("assign", json.dumps({topic: list(range(PARTITIONS))}))
        frame = frame.option("startingOffsets", offsets(start)).option("endingOffsets", offsets(end))
        found = frame.load().select("value").mapInArrow(counted, "n long").collect()
        assert sum(row.n for row in found) == PARTITIONS * (end - start)

    return read


def of_sink(broker: KafkaBroker, folder: str, guarantee: DeliveryGuarantee, count: int) -> Callable[[], None]:
    """Writes so many records in an epoch and publishes them."""
    record = KafkaRecordSerializationSchema.builder().set_topic(broker.topic(PARTITIONS))
    record = record.set_key_serialization_schema(TEXT).set_value_serialization_schema(TEXT)
    sink = KafkaSink.builder().set_bootstrap_servers(broker.servers).set_record_serializer(record.build())
    made = sink.set_delivery_guarantee(guarantee).set_transactional_id_prefix("bench").build()
    values = [f"value-{number:08d}" for number in range(count)]
    epoch = 0

    def write() -> None:
        nonlocal epoch
        epoch += 1
        writer = writer_of(made, WriterContext("operator", 0, epoch, "a", folder))
        for value in values:
            writer.write(value, None)
        committables = writer.prepare_commit()
        committer = committer_of(made)
        if committer is not None:
            committer.commit(committables, ("job", epoch))

    return write


def of_job(broker: KafkaBroker, topic: str, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """The checkpoints of a job on Spark that reads the topic."""
    folder.mkdir()
    program = folder / "job.py"
    program.write_text(JOB.replace("{servers}", broker.servers).replace("{topic}", topic))
    command = [sys.executable, "-m", "compat", "run", str(program), "--output", "json", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] in ("finished", "stopped"), done.stdout[-2000:]
    return [event for event in events if event["event"] == "checkpoint"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--spark-reader", action="store_true")
    parser.add_argument("--packages", default="org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0")
    parser.add_argument("--excludes", default="")
    parser.add_argument("--jars", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = KafkaBroker(Path(folder))
        try:
            measure(broker, folder, options)
        finally:
            broker.close()


def measure(broker: KafkaBroker, folder: str, options: argparse.Namespace) -> None:
    """Everything, line by line."""
    topic, each = broker.topic(PARTITIONS), options.records // PARTITIONS
    for number in range(PARTITIONS):
        broker.put(
            topic,
            number,
            (f"value-{n:08d}" for n in range(each)),
            **{"linger.ms": 5, "queue.buffering.max.messages": 10_000_000},
        )
    readers = {"read by a task, one process": of_reader(broker, topic)}
    if options.spark_reader:
        readers["read by Spark's reader, two cores"] = of_spark(broker, topic, options)
    ranges = {f"{PARTITIONS * each:,} records": (0, each), "10 records": (100, 100 + 10 // PARTITIONS)}
    for what, (start, end) in ranges.items():
        seconds: dict[str, list[float]] = {name: [] for name in readers}
        for run in range(options.runs + 1):
            for name, read in readers.items():
                took = timed(partial(read, start, end))
                if run:
                    seconds[name].append(took)
        for name, found in seconds.items():
            show(f"{name}: {what}", PARTITIONS * (end - start), found)
    for count in (options.records // 5, 10):
        for guarantee in (DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE):
            write = of_sink(broker, folder, guarantee, count)
            write()
            show(f"written {guarantee.name.lower()}: {count:,}", count, [timed(write) for _ in range(options.runs)])
    small = of_job(broker, topic, Path(folder, "small"), "--epoch-records", "10", "--epochs", "30")
    show("an epoch of a job on Spark: 10 records", 10, [event["seconds"] for event in small[5:]])
    large = of_job(broker, topic, Path(folder, "large"))
    records = sum(event["records"] for event in large[1:])
    show(f"a keyed sum on Spark, {len(large) - 1} epochs", records, [sum(event["seconds"] for event in large[1:])])


if __name__ == "__main__":
    main()
