"""Well-known libraries of Java, by the packages of their classes."""

from __future__ import annotations

LIBRARIES = tuple(
    (
        "java/ javax/ jakarta/ jdk/ sun/ com/sun/ org/apache/ org/slf4j/ scala/ kotlin/ kotlinx/ com/google/ com/fasterxml/ "
        "com/esotericsoftware/ com/twitter/ io/netty/ org/rocksdb/ org/json/ org/w3c/ org/xml/ ch/qos/ com/typesafe/ akka/ "
        "io/confluent/ software/amazon/ com/amazonaws/ okhttp3/ okio/ reactor/ io/micrometer/ org/joda/ org/bouncycastle/"
    ).split()
)
"""Where classes of well-known libraries stand, which a job without a package of its own may carry with it."""

CONNECTORS = (
    *("org/apache/flink/connector/", "org/apache/flink/streaming/connectors/", "org/apache/flink/cdc/connectors/"),
    *("com/ververica/cdc/connectors/", "org/apache/bahir/connectors/"),
)
"""Where the classes of connectors stand, each in a package of its own."""


def is_of_library(name: str) -> bool:
    """True for a class of a well-known library, wherever it lies."""
    return name.startswith(LIBRARIES)
