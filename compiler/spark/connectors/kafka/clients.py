"""Kafka's properties as programs write them, for the client library librdkafka, which tasks and driver use.

Programs are written for Kafka's Java client. Most properties have the same names in librdkafka. Some have other names, some
mean nothing outside of a Java client, and a few are not supported: these are refused before a job starts.
"""

from __future__ import annotations

import atexit
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from compat.state.delta.errors import StoreError

MISSING = "Kafka needs the package confluent-kafka: pip install 'stream-compat[kafka]'"

_RENAMED = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_WITHOUT_MEANING = frozenset(
    {
        *("key.deserializer", "value.deserializer", "key.serializer", "value.serializer"),
        *("enable.auto.commit", "auto.commit.interval.ms", "auto.offset.reset", "commit.offsets.on.checkpoint"),
        *("partition.discovery.interval.ms", "flink.partition-discovery.interval-millis", "register.consumer.metrics"),
        *("client.id.prefix", "max.poll.records", "max.poll.interval.ms", "partition.assignment.strategy"),
        *("session.timeout.ms", "heartbeat.interval.ms", "group.instance.id", "exclude.internal.topics"),
        *("default.api.timeout.ms", "fetch.max.wait.ms", "max.block.ms", "buffer.memory", "partitioner.class"),
        *("metric.reporters", "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms"),
        *("auto.include.jmx.reporter", "ssl.truststore.type", "ssl.keystore.type", "ssl.protocol", "ssl.provider"),
    }
)
_OF_PEM_STORES = {
    "ssl.truststore.location": ("ssl.truststore.type", ("ssl.ca.location",)),
    "ssl.keystore.location": ("ssl.keystore.type", ("ssl.certificate.location", "ssl.key.location")),
}
_LOGIN = re.compile(r"""(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""")
_COMMON = {
    # Calls raise their errors; nobody reads the library's further logs.
    "log_level": "0",
    "client.id": "compat",
}


class KafkaUnavailable(StoreError):
    """Brokers that do not answer, or do not have what they had; the job's restart strategy decides what follows."""

    @staticmethod
    def of(properties: Mapping[str, str], error: Any) -> KafkaUnavailable:
        """The error for one of the client library."""
        reason = error.args[0].str() if error.args and hasattr(error.args[0], "str") else str(error)
        return KafkaUnavailable(f"The Kafka brokers {properties['bootstrap.servers']} cannot be asked: {reason}.")


def client_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """The settings of a librdkafka client that mean the same as these properties of a Java client.

    Raises ValueError for properties without a counterpart; librdkafka itself refuses names that neither knows.
    """
    settings = dict(_COMMON)
    if "client.id.prefix" in properties:
        settings["client.id"] = properties["client.id.prefix"]
    for name, value in properties.items():
        if name == "sasl.jaas.config":
            settings |= _login(value)
        elif name in _OF_PEM_STORES:
            kind, names = _OF_PEM_STORES[name]
            if properties.get(kind, "JKS").upper() != "PEM":
                raise ValueError(
                    f"{name} names a key store of Java, which is not read here: convert it to PEM and set "
                    f"{' and '.join(names)} instead"
                )
            settings |= dict.fromkeys(names, value)
        elif name == "security.protocol":
            settings[name] = str(value).lower()  # as librdkafka spells it: a Turkish machine knows no other I for i
        elif name == "ssl.endpoint.identification.algorithm":
            settings[name] = value or "none"
        elif name not in _WITHOUT_MEANING:
            settings[_RENAMED.get(name, name)] = str(value)
    return settings


def _login(text: str) -> dict[str, str]:
    """User and password of a JAAS entry."""
    found = {name: re.sub(r"\\(.)", r"\1", quoted) or plain for name, quoted, plain in _LOGIN.findall(text)}
    if not re.search(r"\.(Plain|Scram)LoginModule\b", text) or set(found) != {"username", "password"}:
        raise ValueError(
            "sasl.jaas.config is read for PlainLoginModule and ScramLoginModule with username and password: set "
            "librdkafka's own sasl.* properties for other mechanisms"
        )
    return {"sasl.username": found["username"], "sasl.password": found["password"]}


def consumer_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a client that reads given partitions from given offsets, without joining a group."""
    return {
        "group.id": "compat",
        "isolation.level": "read_uncommitted",
        # The end of the range is known, so nobody waits for more.
        "fetch.wait.max.ms": "10",
        "fetch.queue.backoff.ms": "5",
        **client_settings(properties),
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "enable.partition.eof": "true",
        "auto.offset.reset": "error",
    }


def producer_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a client that writes like a Java client: keys go to the same partitions, retries keep the order."""
    settings = client_settings(properties)
    if settings.get("acks", "all") in ("all", "-1"):
        settings.setdefault("enable.idempotence", "true")
    return {"partitioner": "murmur2_random", **settings, "delivery.report.only.error": True}


def problem_of(properties: Mapping[str, str], *, reads: bool) -> str | None:
    """The reason why no client can be made of these properties; None if one can. Connects to nothing."""
    try:
        from confluent_kafka import Consumer, KafkaException, Producer
    except ModuleNotFoundError:
        return MISSING
    try:
        if reads:
            Consumer(consumer_settings(properties))
        else:
            Producer(producer_settings(properties))
    except ValueError as error:
        return str(error)
    except KafkaException as error:
        return f"the client library does not take its properties: {error.args[0].str()}"
    return None


class Pool:
    """Idle clients of one kind.

    Workers come back epoch after epoch and use the same connection again. A client that met an error is not given back.
    """

    _free: ClassVar[dict[tuple[Any, ...], list[Any]]] = {}

    def __init__(self, make: Callable[[dict[str, Any]], Any], settings: Mapping[str, Any]) -> None:
        self._make, self._settings = make, dict(settings)
        self._key = (make.__name__, *sorted((name, str(value)) for name, value in settings.items()))

    def take(self) -> Any:
        """A client for one user."""
        # Not one that was made before this process was forked: its threads are not here.
        free = self._free.get((os.getpid(), *self._key))
        return free.pop() if free else self._make(dict(self._settings))

    def give_back(self, client: Any) -> None:
        """Give a client back, to be used again."""
        self._free.setdefault((os.getpid(), *self._key), []).append(client)

    @classmethod
    def close_all(cls) -> None:
        """End the clients that this process made: they must not outlive the interpreter."""
        for key in [key for key in cls._free if key[0] == os.getpid()]:
            for client in cls._free.pop(key):
                _close(client)

    @contextmanager
    def borrowed(self) -> Iterator[Any]:
        """A client for a block, which comes back if the block has no error."""
        client = self.take()
        yield client
        self.give_back(client)


def _close(client: Any) -> None:
    if hasattr(client, "commit_transaction"):
        client.flush(1)
    elif hasattr(client, "close"):
        client.close()


atexit.register(Pool.close_all)
