"""A Kafka broker on this machine: one JVM that is broker and controller (KRaft), its jars fetched by Spark's resolver."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyspark

from compat.compiler.spark.driver.session import MissingJava, find_java

VERSION = "4.1.1"
_JARS = Path(pyspark.__file__).parent / "jars"
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.login.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_me="secret";'
    ),
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "log.cleaner.enable": "false",
    "log.retention.ms": "-1",
}


class NoBroker(Exception):
    """Why there is none here."""


def fetch_jars() -> str:
    """The class path of a broker. Raises NoBroker when the jars cannot be fetched."""
    ivy = sorted(_JARS.glob("ivy-*.jar"))
    if not ivy:
        raise NoBroker("the Ivy that comes with pyspark is missing")
    home = Path(os.environ.get("KAFKA_JARS", Path.home() / ".ivy2-kafka"))
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Ivy's cache is for one process at a time
        folder = _fetched(home, ivy[-1])
    return os.pathsep.join(map(str, sorted(folder.glob("*.jar"))))


def _fetched(home: Path, ivy: Path) -> Path:
    folder = home / VERSION
    if not folder.exists():
        fresh = home / f"{VERSION}-fresh"
        command = [_java(), "-jar", str(ivy), "-dependency", "org.apache.kafka", "kafka_2.13", VERSION]
        command += ["-confs", "default", "-cache", str(home / "cache")]
        command += ["-retrieve", f"{fresh}/[artifact]-[revision].[ext]"]
        shutil.rmtree(fresh, ignore_errors=True)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode or not list(fresh.glob("kafka_*.jar")):
            raise NoBroker(f"the jars of a broker cannot be fetched: {done.stdout[-400:]}")
        fresh.rename(folder)
    return folder


def _java() -> str:
    try:
        find_java()
    except MissingJava as error:
        raise NoBroker(str(error)) from None
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else "java"


def _free_ports(count: int) -> list[int]:
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports


class KafkaBroker:
    """Starts the process; ``servers`` is its address, ``guarded`` one for those who know the password of ``me``.

    It listens on the loopback address only. ``before`` puts something before an address, and gives the
    address that clients are told.
    """

    def __init__(self, folder: Path, before: Callable[[str], str] = str) -> None:
        self._class_path = fetch_jars()
        self._folder = folder
        port, guarded, controller = _free_ports(3)
        self.servers, self.guarded = f"127.0.0.1:{port}", f"127.0.0.1:{guarded}"
        addresses = f"LOGIN://{self.guarded},PLAINTEXT://"
        settings = {
            **_SETTINGS,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"{addresses}{self.servers},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": addresses + before(self.servers),
            "log.dirs": str(folder / "data"),
        }
        self._config = folder / "server.properties"
        self._config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        arguments = ["format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(self._config)]
        subprocess.run(self._command("kafka.tools.StorageTool", *arguments), check=True, capture_output=True)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def _command(self, main: str, *arguments: str) -> list[str]:
        # Kafka itself does not start where the language is Turkish.
        options = [
            "-Duser.language=en",
            "-Xmx384m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            self._class_path,
        ]
        return [_java(), *options, main, *arguments]

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with open(self._folder / "broker.log", "ab") as log:
            self._process = subprocess.Popen(self._command("kafka.Kafka", str(self._config)), stdout=log, stderr=log)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                self.admin.list_topics(timeout=1)
                return
            except Exception:
                if self._process.poll() is not None:
                    break
        self.close()
        raise AssertionError(f"the broker did not start:\n{(self._folder / 'broker.log').read_text()[-2000:]}")

    def close(self) -> None:
        """End the process that was started here."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        vars(self).pop("admin", None)

    @cached_property
    def admin(self) -> Any:
        """A client for administrators."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def topic(self, partitions: int, name: str | None = None) -> str:
        """A new topic; gives its name."""
        from confluent_kafka.admin import NewTopic

        name = name or f"t-{uuid.uuid4().hex[:8]}"
        for future in self.admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result()
        return name

    def add_partitions(self, topic: str, count: int) -> None:
        """Have the topic ``count`` partitions."""
        from confluent_kafka.admin import NewPartitions

        for future in self.admin.create_partitions([NewPartitions(topic, count)]).values():
            future.result()

    def delete(self, topic: str) -> None:
        """Delete the topic; gives back when clients no longer find it."""
        for future in self.admin.delete_topics([topic], operation_timeout=30).values():
            future.result()
        end = time.monotonic() + 30
        while topic in self.admin.list_topics(timeout=10).topics:
            assert time.monotonic() < end, f"{topic} is still there"
            time.sleep(0.1)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the first records of a partition, as retention does."""
        from confluent_kafka import TopicPartition

        for future in self.admin.delete_records([TopicPartition(topic, partition, offset)]).values():
            future.result()

    def put(self, topic: str, partition: int, values: Iterable[Any], **more: Any) -> None:
        """Append records: values, or (value, timestamp)."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0, **more})
        for each in values:
            value, timestamp = each if isinstance(each, tuple) else (each, 0)
            producer.produce(topic, value, partition=partition, timestamp=timestamp)
        assert producer.flush(30) == 0

    def committed(self, group: str, topic: str) -> int:
        """Where a group stands in a topic's first partition."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group})
        try:
            return int(consumer.committed([TopicPartition(topic, 0)], timeout=10)[0].offset)
        finally:
            consumer.close()

    def end(self, topic: str, isolation: str = "read_uncommitted") -> int:
        """The end of a topic's first partition; for readers of committed data that is where a transaction is open."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "ends", "isolation.level": isolation})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1])
        finally:
            consumer.close()

    def records(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """Everything in a topic: by partition, in order."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        settings = {"bootstrap.servers": self.servers, "group.id": "reader", "enable.partition.eof": True}
        consumer = Consumer({**settings, "isolation.level": isolation, "enable.auto.commit": False})
        partitions: Sequence[int] = sorted(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        found, ended = [], 0
        while ended < len(partitions):
            message = consumer.poll(10)
            assert message is not None, "the broker gave nothing"
            if message.error():
                ended += 1
            else:
                found.append(message)
        consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))
