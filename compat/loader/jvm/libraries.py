"""Well-known libraries of Java, by the packages of their classes."""

from __future__ import annotations

from collections.abc import Sequence

from compat.loader.jvm.messages import JavaFrame

LIBRARIES = tuple(
    (
        "java/ javax/ jakarta/ jdk/ sun/ com/sun/ org/apache/ org/slf4j/ scala/ kotlin/ kotlinx/ com/google/ com/fasterxml/ "
        "com/esotericsoftware/ com/twitter/ io/netty/ org/rocksdb/ org/json/ org/w3c/ org/xml/ ch/qos/ com/typesafe/ akka/ "
        "io/confluent/ software/amazon/ com/amazonaws/ okhttp3/ okio/ reactor/ io/micrometer/ org/joda/ org/bouncycastle/"
    ).split()
)
"""The packages of well-known libraries, which a job without its own package may contain."""

CONNECTORS = (
    *("org/apache/flink/connector/", "org/apache/flink/streaming/connectors/", "org/apache/flink/cdc/connectors/"),
    *("com/ververica/cdc/connectors/", "org/apache/bahir/connectors/"),
)
"""The packages of connectors."""


def is_of_library(name: str) -> bool:
    """True for a class of a well-known library, wherever it is."""
    return name.startswith(LIBRARIES)


def own_frames(frames: Sequence[JavaFrame]) -> list[JavaFrame]:
    """The frames of a stack, innermost first, that are the program's own and not a library's.

    Programs may be in the package of a library, as examples of AWS and Apache are: ``main`` identifies theirs.
    """
    outermost = frames[-1] if frames and frames[-1].method == "main" else None
    home = "" if outermost is None else outermost.class_name.rpartition(".")[0] + "."
    return [
        one
        for one in frames
        if (home and one.class_name.startswith(home)) or not is_of_library(one.class_name.replace(".", "/"))
    ]
